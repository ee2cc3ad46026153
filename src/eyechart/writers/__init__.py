"""Turn what eyechart holds into files of other tools."""

from collections.abc import Callable
from pathlib import Path

from eyechart.store import Store
from eyechart.registry import Registry

Exporter = Callable[[Store, Path], dict[str, int]]  # from a run into a folder; counts what each file holds

EXPORTS: Registry[Exporter] = Registry(
    "export",
    {
        "eee": "eyechart.writers.eee:export_eee",
        "inspect": "eyechart.writers.asked.inspect_ai:export_inspect",
        "lmms-eval": "eyechart.writers.asked.lmms_eval:export_lmms_eval",
        "vlmeval": "eyechart.writers.asked.vlmeval:export_vlmeval",
        "rules": "eyechart.writers.rules:export_rules",
        "splits": "eyechart.writers.splits:export_splits",
        "splits-gqa": "eyechart.writers.splits:export_gqa_ood",
        "splits-models": "eyechart.writers.splits:export_models",
        "splits-selection": "eyechart.writers.splits:export_selection",
        "decoys-qavg": "eyechart.writers.decoys.qavg:export_qavg",
        "decoys-vqa": "eyechart.writers.decoys.vqa:export_vqa",
        "decoys-vlmeval": "eyechart.writers.decoys.vlmeval:export_vlmeval",
        "decoys-lmms-eval": "eyechart.writers.decoys.lmms_eval:export_lmms_eval",
        "decoys-inspect": "eyechart.writers.decoys.inspect_ai:export_inspect",
    },
)
