"""A run in the browser: pages over its Parquet files, read in parts, and a survey where people answer its probes.

`inventory`, `examples`, `example`, `comparing`, `scores` and `pictures` read the run, `furniture` adds what audits
provide, and `pages` answers requests with the results. `questionnaire` chooses what to ask people, `survey` asks them,
and `responses` records their answers as those of the model `human`. `guard` controls access, and `server` puts it all
together. Needs the extra `view`; the command line imports this package only on demand.
"""
