"""Lay the rows of the study out as the tables of `docs/zoo_table.md`: `results/zoo.json` is what was measured."""

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev

import record
from record import Row
from zoo_rows import ALONE, METHODS, NETWORKS, SEEDS, all_rows

HOURS = "two hours of one GPU"
COLUMNS = {
    "iid": "IID",
    "shifted": "shifted",
    "balanced": "balanced",
    "counterexamples": "counterexamples",
    "image": "P image",
    "question": "P question",
    "fpvg": "FPVG+",
    "best iid": "IID, selected",
    "best shifted": "shifted, selected",
}
NAMES = {
    "prior": "prior of the question type",
    "answer-only": "answer-only, chooses among four options",
    "mlp-qa": "MLP-QA, likewise",
    "mlp-ia": "MLP-IA, likewise",
    "mlp-iqa": "MLP-IQA, likewise",
    "updn": "UpDn",
    "updn2": "UpDn, two attentions",
    "s-mrl": "S-MRL",
    **{name: name.upper() for name in ("san", "ban", "block", "mac", "mcan")},
}
CROSS_ENTROPY = ("plain-ce", "rubi", "lpf", "lpf-5", "cf-vqa", "lff", "visfis")  # the loss these build on

Measured = dict[str, dict[str, float]]


def load() -> Measured:
    """Read what was measured so far."""
    return by_training(record.load_rows("zoo"))


def by_training(rows: list[Row]) -> Measured:
    """Name each row's measures by its training."""
    return {row["training"]: {key: value for key, value in row.items() if key != "training"} for row in rows}


def keep(folder: Path) -> None:
    """Add what was judged in a folder to the results, in the order of the rows."""
    measured = load() | json.loads((folder / "rows.json").read_text())
    known = (row.name for row in all_rows() if row.name in measured)
    record.keep("zoo", ({"training": name} | _rounded(measured[name]) for name in known), recorded=HOURS)


def lay_out(rows: list[Row]) -> Iterator[str]:
    """Write the tables, one of anchors and one for each network; pairs without all seeds are counted, not shown."""
    measured = by_training(rows)
    parts = [_told(measured), *_table("Anchors and networks, trained plainly", _plainly(measured))]
    for network in ("updn", *NETWORKS):
        title = NAMES.get(network, network)
        parts += _table(f"{title} by methods over binary cross-entropy", _methods(measured, network, over=False))
        parts += _table(f"{title} by methods over cross-entropy", _methods(measured, network, over=True))
    yield "\n".join(parts).strip()


def _told(measured: Measured) -> str:
    missing = {row.pair for row in all_rows()} - {row.pair for row in all_rows() if _cells(measured, row.pair)}
    if not missing:
        return f"All {len(measured)} trainings are done.\n"
    done = f"{len(measured)} of {len(all_rows())} trainings are done"
    return f"{done}; {len(missing)} pairs of a network and a method lack a seed or all three, and are not shown.\n"


def _plainly(measured: Measured) -> Iterator[tuple[str, list[str]]]:
    for name in (*ALONE, "updn", *NETWORKS):
        yield NAMES.get(name, name), _cells(measured, f"{name} plain")


def _methods(measured: Measured, network: str, *, over: bool) -> Iterator[tuple[str, list[str]]]:
    for method in METHODS:
        if (method in CROSS_ENTROPY) == over:
            yield f"`{method}`", _cells(measured, f"{network} {method}")


def _table(title: str, rows: Iterator[tuple[str, list[str]]]) -> list[str]:
    """Lay out the rows that are there; nothing where there is none beside plain training."""
    lines = [f"| {name} | {' | '.join(cells)} |" for name, cells in rows if cells]
    if not any("`plain`" not in line for line in lines):
        return []
    return [f"## {title}\n", f"| | {' | '.join(COLUMNS.values())} |", "|---|" + "---|" * len(COLUMNS), *lines, ""]


def seeds_of(measured: Measured, pair: str) -> list[dict[str, float]]:
    """List what was measured of a pair, or nothing where a seed is missing."""
    found = [measured[name] for name in (f"{pair} {seed}" for seed in SEEDS) if name in measured]
    return found if len(found) == len(SEEDS) else []


def _cells(measured: Measured, pair: str) -> list[str]:
    found = seeds_of(measured, pair)
    return [_cell([100 * each[key] for each in found if key in each]) for key in COLUMNS] if found else []


def _cell(values: list[float]) -> str:
    return f"{mean(values):.1f} ± {stdev(values):.1f}" if len(values) > 1 else ""


def _rounded(values: dict[str, float]) -> dict[str, float]:
    return {key: round(values[key], 4) for key in COLUMNS if key in values}
