"""An eye test for multimodal data and models."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eyechart.audits import make_audit as make_audit
    from eyechart.comparison import compare as compare
    from eyechart.dataset import Dataset as Dataset
    from eyechart.dataset import Images as Images
    from eyechart.errors import EyechartError as EyechartError
    from eyechart.interview import Asking as Asking
    from eyechart.models import load as load
    from eyechart.predictions import Predictions as Predictions
    from eyechart.readers import read as read
    from eyechart.reporting import report as report
    from eyechart.result import Key as Key
    from eyechart.result import Measure as Measure
    from eyechart.result import Result as Result
    from eyechart.result import Verdict as Verdict
    from eyechart.result import View as View
    from eyechart.verbs import audit as audit
    from eyechart.verbs import study as study

# Nothing is loaded before it is used, so that `import eyechart` costs next to nothing.
_PLACES = {
    "Asking": "interview",
    "Dataset": "dataset",
    "EyechartError": "errors",
    "Images": "dataset",
    "Key": "result",
    "Measure": "result",
    "Predictions": "predictions",
    "Result": "result",
    "Verdict": "result",
    "View": "result",
    "audit": "verbs",
    "compare": "comparison",
    "load": "models",
    "make_audit": "audits",
    "read": "readers",
    "report": "reporting",
    "study": "verbs",
}

__all__ = [*_PLACES]  # noqa: PLE0604 - names of the front door


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'eyechart' has no attribute {name!r}")
    return getattr(import_module(f"eyechart.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
