"""People answer a sample of the probes, each with some of it hidden, as the model `human`.

`plan` chooses what is asked; `log` keeps what was said; `answers` turns it into the answers of a model; `agreement`
says how far people agree; `pages` asks.
"""
