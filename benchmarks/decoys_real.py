"""Repair real questions and print what still gives the answer away: the tables of docs/audits/decoys.md.

    python benchmarks/decoys_real.py FOLDER

FOLDER holds the real data (`vqa2/` and `aokvqa/`), which are not part of the project. VQA v2 is learned on its balanced
train part and judged on validation questions whose images are not in it.
"""

import argparse
import time
from dataclasses import replace
from pathlib import Path
from typing import Final

import polars as pl

import eyechart
from eyechart import Dataset
from eyechart.audits.decoys import DecoysAudit
from eyechart.data.result import Result
from eyechart.engines.local import Local

SETS: Final = ("iou", "qou", "iou+qou")
SOLVERS = ("prior rule", "question overlap", "A", "I+A", "Q+A", "I+Q+A", "control")


def read_vqa2(folder: Path) -> Dataset:
    """Take train and the held-out validation questions that share no image with it."""
    whole = eyechart.read(str(folder / "vqa2" / "vqa2_89710_with_objects.parquet"))
    source = pl.col("source")
    train = whole.examples.filter(source.str.contains("nlp1_train"))
    held_out = whole.examples.filter(source.str.contains("vqa_vs_val")).join(train, on="image", how="anti")
    parts = (part.with_columns(pl.lit(name).alias("split")) for name, part in (("train", train), ("val", held_out)))
    return replace(whole, examples=pl.concat(parts))


def show(title: str, study: Result, seconds: float) -> None:
    """Print points above chance with intervals, the imbalance, and what became of the examples."""
    found = {(row["solver"], row["options"]): row for row in study.tables["solvers"].iter_rows(named=True)}
    sets = [name for name in SETS if any(key[1] == name for key in found)]
    print(f"\n{title}, {seconds:.0f} s\n\n| points above chance | {' | '.join(sets)} |\n|---|{'---|' * len(sets)}")
    for solver in SOLVERS:
        if (solver, sets[0]) in found:
            print(f"| {solver} | {' | '.join(_say(found[solver, name]) for name in sets)} |")
    with pl.Config(tbl_rows=30, fmt_str_lengths=60, tbl_width_chars=160):
        print(study.tables["neutrality"].select("options", "n", "imbalance", "chance_low", "chance_high", "p"))
        print(study.tables["counts"].filter(pl.col("status") == "left out"))
        print(study.tables["filters"].filter(pl.col("filter").is_in(["drawn", "filler", "missing", "left out"])))


def _say(row: dict[str, float]) -> str:
    value, low, high = (100 * row[name] for name in ("over_chance", "over_low", "over_high"))
    return f"{value:.1f} [{low:.1f}, {high:.1f}]"


def main() -> None:
    """Study both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    vqa2 = read_vqa2(folder)
    objects = folder / "vqa2" / "coco2014_objects.json.gz"
    aokvqa = eyechart.read("aokvqa", folder / "aokvqa" / "aokvqa_v1p0_val.json.gz", detections=objects)
    for title, data, audit in (
        ("VQA v2", vqa2, DecoysAudit(sets=SETS, drawing="neutral", most=6_000)),
        ("VQA v2, leave_out", vqa2, DecoysAudit(sets=SETS, drawing="neutral", most=6_000, leave_out=True)),
        ("A-OKVQA", aokvqa, DecoysAudit(sets=("qou",), drawing="neutral")),
    ):
        began = time.perf_counter()
        show(title, audit.study(data, Local()), time.perf_counter() - began)


if __name__ == "__main__":
    main()
