"""Reference models and bias-reduction methods to train: two small interfaces, and everything written against them.

`Network(Batch) -> Out` answers; `Debias(network, Batch) -> loss` says what training lowers. Networks, methods and the
training loop import with torch and numpy alone, so that they run on a bare machine with a GPU.
"""
