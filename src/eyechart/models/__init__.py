"""Anything that answers probes, named by a model string: a kind, a colon, and what that kind needs to know."""

from collections.abc import Callable
from pathlib import Path

from eyechart.errors import ModelError
from eyechart.protocols import Model
from eyechart.registry import Registry, unknown_name

MODELS: Registry[Callable[[str], Model]] = Registry(
    "model",
    {
        "predictions": "eyechart.models.file:open_predictions",
        "python": "eyechart.models.function:open_function",
        "world": "eyechart.world:load_answerer",
    },
)


def load(spec: str) -> Model:
    """Open the model a string names: `predictions:answers.json`, `python:package.module:function`, `world:seer`.

    The path of an existing file is taken for a predictions file.
    """
    kind, colon, rest = spec.partition(":")
    if not colon and Path(spec).is_file():
        kind, rest = "predictions", spec
    if kind not in MODELS.names():
        raise unknown_name("model", kind, MODELS.names())
    if not rest:
        raise ModelError(f"something after '{kind}:'", "nothing", "`eyechart ls models` shows what each kind takes")
    return MODELS.get(kind)(rest)
