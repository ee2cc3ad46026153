"""How objects show themselves in a notebook: by functions of the room that draws pages, found by name.

Objects are below the rooms that know how things look, and nothing of those is imported before something is shown. The
functions are entries of a registry, as formats and audits are.
"""

from collections.abc import Callable
from typing import Any

from eyechart.base.registry import Registry

REPRESENTATIONS: Registry[Callable[[Any], str]] = Registry(
    "representation",
    {
        "comparison": "eyechart.reporting.notebook:show_comparison",
        "dataset": "eyechart.reporting.notebook:show_dataset",
        "result": "eyechart.reporting.notebook:show_result",
        "results": "eyechart.reporting.notebook:show_results",
    },
)


def represent(kind: str, shown: object) -> str:
    """Write an object as HTML for a notebook."""
    return REPRESENTATIONS.get(kind)(shown)
