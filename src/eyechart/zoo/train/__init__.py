"""Training a network by a method: settings, one step, the loop over epochs, the folder it writes, the trained model."""

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from eyechart.base.registry import import_object
from eyechart.zoo import require_torch

if TYPE_CHECKING:
    from eyechart.data.protocols import Model

OPENER = "eyechart.zoo.train.model:open_trained"  # imports torch


def open_zoo(spec: str) -> "Model":
    """Open a model made by `eyechart train`: `zoo:FOLDER`, `zoo:FOLDER,weights=last,device=cpu`."""
    require_torch()
    return cast("Callable[[str], Model]", import_object(OPENER))(spec)
