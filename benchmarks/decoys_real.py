"""Study the options of real questions, and repair real questions: the tables of docs/audits/decoys-real.md.

    python benchmarks/decoys_real.py FOLDER [--record]

FOLDER holds the real data (`vqa2/`, `aokvqa/`, `socialiq2/`), which are not part of the project. VQA v2 is learned on
its balanced train part and judged on validation questions whose images are not in it.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl

import eyechart
from eyechart import Dataset
from eyechart.audits.decoys import DecoysAudit
from eyechart.engines.local import Local
from real import read_vqa2
from record import Row, add_flag
from tables import Layout, lay_out, pivot, report, table

SETS: Final = ("iou", "qou", "iou+qou")
SOLVERS = ("prior rule", "length", "question overlap", "A", "I+A", "Q+A", "I+Q+A", "control")
NEUTRAL: Final = "neutral"
COUNTED = ("drawn", "filler", "missing", "left out")


def studies(folder: Path) -> Iterator[tuple[str, Dataset, DecoysAudit]]:
    """Name what is studied."""
    objects = folder / "vqa2" / "coco2014_objects.json.gz"
    aokvqa = eyechart.read("aokvqa", folder / "aokvqa" / "aokvqa_v1p0_val.json.gz", detections=objects)
    yield "A-OKVQA", aokvqa, DecoysAudit(sets=("orig",))
    yield "A-OKVQA, network", aokvqa, DecoysAudit(sets=("orig",), scorer="mlp")
    yield "A-OKVQA, repaired", aokvqa, DecoysAudit(sets=("qou",), drawing=NEUTRAL)
    yield "Social-IQ", eyechart.read("socialiq", folder / "socialiq2"), DecoysAudit(sets=("orig",))
    vqa2 = read_vqa2(folder)
    yield "VQA v2", vqa2, DecoysAudit(sets=SETS, drawing=NEUTRAL, most=6_000)
    yield "VQA v2, leave_out", vqa2, DecoysAudit(sets=SETS, drawing=NEUTRAL, most=6_000, leave_out=True)


def measure(title: str, data: Dataset, audit: DecoysAudit) -> Iterator[Row]:
    """List what each solver finds, the imbalance of each set, and what became of decoys and examples."""
    study = audit.study(data, Local())
    for row in study.tables["solvers"].filter(pl.col("options") != "random").iter_rows(named=True):
        over = {"over": [row["over_chance"], row["over_low"], row["over_high"]], "chance": row["chance"], "n": row["n"]}
        yield {"table": "solvers", "data": title, "solver": row["solver"], "options": row["options"]} | over
    for row in study.tables["neutrality"].filter(pl.col("options") != "random").iter_rows(named=True):
        found = {key: row[key] for key in ("options", "n", "imbalance", "chance_low", "chance_high", "p")}
        yield {"table": "neutrality", "data": title} | found
    for row in study.tables["kinds"].filter(pl.col("solver").is_in(["A", "Q+A"])).iter_rows(named=True):
        above = {"value": [row["value"], row["low"], row["high"]], "n": row["n"]}
        yield {"table": "kinds", "data": title, "solver": row["solver"], "kind": row["kind"]} | above
    for row in study.tables["filters"].filter(pl.col("filter").is_in(COUNTED)).iter_rows(named=True):
        yield {"table": "filters", "data": title} | row


def lay_out_offered(rows: list[Row]) -> Iterator[str]:
    """Write what each solver finds in published options, in points above chance: a column for each data set."""
    wanted = ("A-OKVQA", "A-OKVQA, network", "A-OKVQA, repaired", "Social-IQ")
    own = [row for row in rows if row["table"] == "solvers" and row["data"] in wanted and row["solver"] in SOLVERS]
    names = list(dict.fromkeys(row["data"] for row in own))
    line = "| {solver} | " + " | ".join(f"{{{name}:points}}" for name in names) + " |"
    return lay_out(f"| points above chance | {' | '.join(names)} |", line, pivot(own, "solver", "data", "over"))


def lay_out_repaired(rows: list[Row]) -> Iterator[str]:
    """Write what each solver finds in drawn options, with and without examples that are left out."""
    found = []
    for title in ("VQA v2", "VQA v2, leave_out"):
        own = [row for row in rows if row["table"] == "solvers" and row["data"] == title and row["solver"] in SOLVERS]
        found += [{"data": title} | row for row in pivot(own, "solver", "options", "over")]
    line = "| {data} | {solver} | " + " | ".join(f"{{{name}:points}}" for name in SETS) + " |"
    return lay_out(f"| data | points above chance | {' | '.join(SETS)} |", line, found)


KINDS = table(
    "| data | solver | decoys | n | target above |",
    "| {data} | {solver} | `{kind}` | {n:,} | {value:points} |",
    "kinds",
)
NEUTRALITY = table(
    "| data | options | n | imbalance | redrawn targets | p |",
    "| {data} | {options} | {n:,} | {imbalance:points} | {chance_low:points} to {chance_high:points} | {p:.1g} |",
    "neutrality",
)
LAYOUTS: dict[str, Layout] = {
    "offered": lay_out_offered,
    "kinds": KINDS,
    "repaired": lay_out_repaired,
    "neutrality": NEUTRALITY,
}


def main() -> None:
    """Study all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    add_flag(parser)
    given = parser.parse_args()
    rows = [row for title, data, audit in studies(given.folder) for row in measure(title, data, audit)]
    report("decoys_real", LAYOUTS, rows, kept=given.record)


if __name__ == "__main__":
    main()
