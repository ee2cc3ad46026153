"""Turn what a run holds into files of other tools; exports of one audit come with that audit (`furniture`)."""

from collections.abc import Callable
from pathlib import Path

from eyechart.registry import Registry
from eyechart.store import Store

Exporter = Callable[[Store, Path], dict[str, int]]  # from a run into a folder; counts what each file holds

EXPORTS: Registry[Exporter] = Registry(
    "export",
    {
        "eee": "eyechart.writers.eee:export_eee",
        "inspect": "eyechart.writers.asked.inspect_ai:export_inspect",
        "lmms-eval": "eyechart.writers.asked.lmms_eval:export_lmms_eval",
        "vlmeval": "eyechart.writers.asked.vlmeval:export_vlmeval",
    },
)
