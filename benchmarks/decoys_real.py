"""Study the options of real questions, and repair real questions: the tables of docs/audits/decoys-real.md.

    python benchmarks/decoys_real.py FOLDER [--record]

FOLDER holds the real data (`vqa2/`, `aokvqa/`, `socialiq2/`, `videomme/`, `mmmu_pro/`), which are not part of the
project. VQA v2 is learned on its balanced train part and judged on validation questions whose images are not in it.
"""

import argparse
import ast
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import polars as pl
from scipy.special import stdtrit

import eyechart
from eyechart import Dataset
from eyechart.audits.decoys import DecoysAudit
from eyechart.audits.decoys.adversaries import ALONE, UNSEEN
from eyechart.audits.decoys.diagnosis import CONTROLS
from eyechart.data.images import Images
from eyechart.engines import Local
from real import read_vqa2
from record import Row, add_flag
from tables import Layout, lay_out, pivot, report, table

SETS: Final = ("iou", "qou", "iou+qou")
SOLVERS = ("prior rule", "length", "question overlap", "A", "I+A", "Q+A", "I+Q+A", "control", ALONE, UNSEEN)
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
    yield "Video-MME", read_video_mme(folder), DecoysAudit(sets=("orig", *SETS))
    yield "MMMU-Pro", read_mmmu_pro(folder), DecoysAudit(sets=("orig", *SETS, "all"))
    vqa2 = read_vqa2(folder)
    yield "VQA v2", vqa2, DecoysAudit(sets=SETS, drawing=NEUTRAL, most=6_000)
    yield "VQA v2, leave_out", vqa2, DecoysAudit(sets=SETS, drawing=NEUTRAL, most=6_000, leave_out=True)


def read_video_mme(folder: Path) -> Dataset:
    """Read the questions of Video-MME, whose options begin with their letter."""
    table = pl.read_parquet(folder / "videomme" / "test-00000-of-00001.parquet").with_columns(
        choices=pl.col("options").list.eval(pl.element().str.replace(r"^[A-D]\. ", ""))
    )
    right = pl.col("choices").list.get(pl.col("answer").replace_strict(dict(zip("ABCD", range(4), strict=True))))
    examples = table.select("question", "choices", id="question_id", image="videoID", answer=right)
    return Dataset("Video-MME", examples, Images.named(examples["image"]))


def read_mmmu_pro(folder: Path) -> Dataset:
    """Read the questions of MMMU-Pro with up to ten options, whose answer is among them, one a picture."""
    table = pl.read_ndjson(folder / "mmmu_pro" / "gpt-4o_standard10_options_direct.jsonl.gz")
    options = pl.Series([[str(one) for one in ast.literal_eval(text)] for text in table["options"]])
    place = pl.col("answer").map_elements(ord, pl.Int64) - ord("A")
    examples = table.select("id", "question", image="id", choices=options, place=place)
    examples = examples.filter(pl.col("place") < pl.col("choices").list.len())
    examples = examples.with_columns(answer=pl.col("choices").list.get(pl.col("place"))).drop("place")
    return Dataset("MMMU-Pro", examples, Images.named(examples["image"]))


def describe_control(title: str, row: Row) -> Row:
    """Compare how far the draws of a control lie apart with examples that are right independently of each other."""
    se = (row["over_high"] - row["over_low"]) / 2 / float(stdtrit(CONTROLS - 1.0, 0.975))
    independent = math.sqrt(row["chance"] * (1 - row["chance"]) / row["n"])
    spread = {"spread": se * math.sqrt(CONTROLS), "independent": independent}
    return {"table": "controls", "data": title, "over": row["over_chance"], "p": row["p"], "n": row["n"]} | spread


def measure(title: str, data: Dataset, audit: DecoysAudit) -> Iterator[Row]:
    """List what each solver finds, the imbalance of each set, and what became of decoys and examples."""
    study = audit.study(data, Local())
    for verdict, headline in zip(study.verdicts, study.headlines, strict=True):
        over = {"over": [headline.value, headline.low, headline.high], "n": headline.n} if headline else {}
        found = {"question": verdict.question, "state": verdict.state, "label": verdict.label} | over
        yield {"table": "verdicts", "data": title} | found
    for row in study.tables["repairs"].iter_rows(named=True):
        yield {"table": "repairs", "data": title} | row | {"sound": "yes" if row["sound"] else "no"}
    own_control = (pl.col("options") == "orig") & (pl.col("solver") == "control")
    for row in study.tables["solvers"].filter(own_control).iter_rows(named=True):
        yield describe_control(title, row)
    for row in study.tables["solvers"].iter_rows(named=True):
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
    published = {"A-OKVQA": "orig", "A-OKVQA, network": "orig", "A-OKVQA, repaired": "qou", "Social-IQ": "orig"}
    own = [
        row
        for row in rows
        if row["table"] == "solvers" and published.get(row["data"]) == row["options"] and row["solver"] in SOLVERS
    ]
    names = list(dict.fromkeys(row["data"] for row in own))
    line = "| {solver} | " + " | ".join(f"{{{name}:points}}" for name in names) + " |"
    return lay_out(f"| points above chance | {' | '.join(names)} |", line, pivot(own, "solver", "data", "over"))


def lay_out_repaired(rows: list[Row]) -> Iterator[str]:
    """Write what each solver finds in drawn options, with and without examples that are left out."""
    found = []
    for title in ("VQA v2", "VQA v2, leave_out"):
        own = [row for row in rows if row["table"] == "solvers" and row["data"] == title and row["solver"] in SOLVERS]
        own = [row for row in own if row["options"] in SETS]
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
VERDICTS = table(
    "| data | question | verdict | points above chance |",
    "| {data} | {question} | {state}: `{label}` | {over:points} |",
    "verdicts",
)
CONTROLS_OF = table(
    "| data | n | mean of 20 draws | p | their spread | of independent examples |",
    "| {data} | {n:,} | {over:points} | {p:.2f} | {spread:points} | {independent:points} |",
    "controls",
)
LEAKING = ("prior rule", "length", "A", "Q+A", ALONE, UNSEEN)


def lay_out_repairs(rows: list[Row]) -> Iterator[str]:
    """Write which made sets are sound; leaving out examples changes nothing there."""
    own = [row for row in rows if row["table"] == "repairs" and not row["data"].endswith("leave_out")]
    return lay_out("| data | options | sound | why not |", "| {data} | {options} | {sound} | {reason} |", own)


def lay_out_leaks(rows: list[Row]) -> Iterator[str]:
    """Write what solves the made options of data with one question a picture."""
    own = [row for row in rows if row["table"] == "solvers" and row["data"] == "MMMU-Pro" and row["solver"] in LEAKING]
    sets = list(dict.fromkeys(row["options"] for row in own))
    line = "| {solver} | " + " | ".join(f"{{{name}:points}}" for name in sets) + " |"
    return lay_out(f"| points above chance | {' | '.join(sets)} |", line, pivot(own, "solver", "options", "over"))


LAYOUTS: dict[str, Layout] = {
    "verdicts": VERDICTS,
    "controls": CONTROLS_OF,
    "repairs": lay_out_repairs,
    "leaks": lay_out_leaks,
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
