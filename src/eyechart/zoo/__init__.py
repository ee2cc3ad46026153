"""Reference models and bias-reduction methods to train: two small interfaces, and everything that implements them.

`Network(Batch) -> Out` answers; `Debias(network, Batch) -> loss` is what training minimises. Networks, methods and the
training loop need only torch and numpy, so that they run on a bare machine with a GPU.
"""

from importlib.util import find_spec

from eyechart.base.errors import MissingExtraError


def require_torch() -> None:
    """Raise an error that says how to install torch if it is missing."""
    if find_spec("torch") is None:
        raise MissingExtraError("the package torch", "none", "pip install 'eyechart[torch]'")
