"""Lay the measured rows of the study out as a page: `zoo.json` is what was measured, `docs/zoo_table.md` the page."""

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev

from zoo_rows import ALONE, METHODS, NETWORKS, SEEDS, all_rows

RESULTS = Path(__file__).with_name("zoo.json")
PAGE = Path(__file__).parents[1] / "docs" / "zoo_table.md"
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
HEAD = """# Every row of the zoo's study

Means of three seeds ± their standard deviation, in points; [the zoo](zoo.md) says what was trained and what the columns
are, and reads them. The last two columns are of the epoch that was best on validation, all others of the last one.
`plain@15,ssl` is SSL after 15 plain epochs. Methods stand under the loss they build on, with that loss alone in the
first line. Written by `python benchmarks/zoo.py table`.
"""

Measured = dict[str, dict[str, float]]


def load() -> Measured:
    """Read what was measured so far."""
    found: Measured = json.loads(RESULTS.read_text()) if RESULTS.is_file() else {}
    return found


def keep(folder: Path) -> None:
    """Add what was judged in a folder to the results, in the order of the rows, and write the page."""
    measured = load() | json.loads((folder / "rows.json").read_text())
    lines = [f"{json.dumps(row.name)}: {_rounded(measured[row.name])}" for row in all_rows() if row.name in measured]
    RESULTS.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    PAGE.write_text(page(load()), encoding="utf-8")


def page(measured: Measured) -> str:
    """Write the tables, one of anchors and one for each network; pairs without all seeds are counted, not shown."""
    parts = [HEAD, _told(measured), *_table("Anchors and networks, trained plainly", _plainly(measured))]
    for network in ("updn", *NETWORKS):
        title = NAMES.get(network, network)
        parts += _table(f"{title} by methods over binary cross-entropy", _methods(measured, network, over=False))
        parts += _table(f"{title} by methods over cross-entropy", _methods(measured, network, over=True))
    return "\n".join(parts)


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


def _rounded(values: dict[str, float]) -> str:
    return json.dumps({key: round(values[key], 4) for key in COLUMNS if key in values})
