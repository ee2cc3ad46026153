"""An eye test for multimodal data and models."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eyechart.audits import make_audit as make_audit
    from eyechart.base.errors import EyechartError as EyechartError
    from eyechart.data.dataset import Dataset as Dataset
    from eyechart.data.furniture import ExplorerPage as ExplorerPage
    from eyechart.data.furniture import Furniture as Furniture
    from eyechart.data.furniture import Hiding as Hiding
    from eyechart.data.furniture import Look as Look
    from eyechart.data.furniture import Option as Option
    from eyechart.data.furniture import Sheet as Sheet
    from eyechart.data.images import Images as Images
    from eyechart.data.predictions import Predictions as Predictions
    from eyechart.data.probes import Prober as Prober
    from eyechart.data.result import Key as Key
    from eyechart.data.result import Measure as Measure
    from eyechart.data.result import Result as Result
    from eyechart.data.result import Verdict as Verdict
    from eyechart.data.result import View as View
    from eyechart.data.result import measures_table as measures_table
    from eyechart.data.tables import empty_counts as empty_counts
    from eyechart.formats import read as read
    from eyechart.models import load as load
    from eyechart.reporting import report as report
    from eyechart.runs.comparison import compare as compare
    from eyechart.runs.contract import check_audit as check_audit
    from eyechart.runs.interview import Asking as Asking
    from eyechart.runs.verbs import audit as audit
    from eyechart.runs.verbs import study as study

# Nothing is loaded before it is used, so that `import eyechart` costs next to nothing.
_PLACES = {
    "Asking": "runs.interview",
    "Dataset": "data.dataset",
    "EyechartError": "base.errors",
    "ExplorerPage": "data.furniture",
    "Furniture": "data.furniture",
    "Hiding": "data.furniture",
    "Images": "data.images",
    "Key": "data.result",
    "Look": "data.furniture",
    "Measure": "data.result",
    "Option": "data.furniture",
    "Predictions": "data.predictions",
    "Prober": "data.probes",
    "Result": "data.result",
    "Sheet": "data.furniture",
    "Verdict": "data.result",
    "View": "data.result",
    "audit": "runs.verbs",
    "check_audit": "runs.contract",
    "compare": "runs.comparison",
    "empty_counts": "data.tables",
    "load": "models",
    "make_audit": "audits",
    "measures_table": "data.result",
    "read": "formats",
    "report": "reporting",
    "study": "runs.verbs",
}

__all__ = [*_PLACES]  # noqa: PLE0604 - names of the front door


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'eyechart' has no attribute {name!r}")
    return getattr(import_module(f"eyechart.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
