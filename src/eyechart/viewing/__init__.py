"""A run in the browser: pages over its Parquet files, read in pieces, and a survey where people answer its probes.

`inventory`, `examples`, `example`, `comparing`, `scores` and `pictures` read the run, `furniture` adds what audits
bring along, and `pages` answers requests with what they return. `questionnaire` chooses what people are asked, `survey`
asks them, and `responses` records their answers as those of the model `human`. `guard` decides who may see a page, and
`server` puts all of it together. Needs the extra `view`; the command line imports this room only when it is needed.
"""
