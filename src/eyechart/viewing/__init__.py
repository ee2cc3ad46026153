"""A run in the browser: pages over its Parquet files, read piecemeal, and a place where people answer its probes.

`store` finds the files; `rules`, `examples`, `example`, `comparing` and `overview` ask them; `pages` sets what they
found; `guard` decides who may see it. Needs the extra `view`; the command line loads this room when it is asked to.
"""
