"""Turn what eyechart holds into files of other tools."""

from collections.abc import Callable
from pathlib import Path

from eyechart.layout import Layout
from eyechart.registry import Registry

Exporter = Callable[[Layout, Path], dict[str, int]]  # from a run into a folder; counts what each file holds

EXPORTS: Registry[Exporter] = Registry(
    "export", {"eee": "eyechart.writers.eee:export_eee", "rules": "eyechart.writers.rules:export_rules"}
)
