"""Reference models and bias-reduction methods to train: two small interfaces, and everything written against them.

`Network(Batch) -> Out` answers; `Debias(network, Batch) -> loss` says what training lowers. Networks, methods and the
training loop import with torch and numpy alone, so that they run on a bare machine with a GPU.
"""

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, cast

from eyechart.base.errors import MissingExtraError
from eyechart.base.registry import import_object

if TYPE_CHECKING:
    from eyechart.data.protocols import Model

_OPENER = "eyechart.zoo.train.model:open_trained"  # imports torch


def open_zoo(spec: str) -> "Model":
    """Open a model made by `eyechart train`: `zoo:FOLDER`, `zoo:FOLDER,weights=last,device=cpu`."""
    require_torch()
    return cast("Callable[[str], Model]", import_object(_OPENER))(spec)


def require_torch() -> None:
    """Check that torch is installed."""
    if find_spec("torch") is None:
        raise MissingExtraError("the package torch", "none", "pip install 'eyechart[torch]'")
