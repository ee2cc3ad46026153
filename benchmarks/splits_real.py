"""Divide real VQA v2 questions by nine shortcuts and judge three models: the tables of docs/audits/splits-results.md.

    python benchmarks/splits_real.py FOLDER [--record]

FOLDER holds the real data (`vqa2/`), which are not part of the project. The sizes of the sets are counted as in the
paper, on all questions divided by question; models are judged on validation questions whose images are not in train.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from eyechart import Dataset
from eyechart.audits.splits import SplitsAudit
from eyechart.audits.splits.resplit import ResplitSettings, make_resplit
from eyechart.audits.splits.settings import NINE
from eyechart.data.result import Result
from eyechart.engines import Local
from eyechart.language.questions import learn_prefixes, question_types
from real import find, judge_models, read_vqa2, read_whole
from record import Row, add_flag
from tables import Layout, lay_out, pivot, report, table

GROUPS = {  # Table 1 of the paper: groups in train, in test, imbalanced ones
    "QT": (65, 65, 52),
    "KW": (16_932, 11_369, 1_651),
    "KWP": (119_900, 61_737, 2_137),
    "QT+KW": (61_020, 35_836, 2_200),
    "KO": (81, 81, 79),
    "KOP": (3_995, 3_285, 962),
    "QT+KO": (4_992, 4_721, 2_003),
    "KW+KO": (101_042, 53_387, 3_257),
    "QT+KW+KO": (183_683, 86_324, 2_521),
}
SIDES = {  # head and tail as shares of the test set, %
    "QT": (75.2, 14.5),
    "KW": (56.1, 16.9),
    "KWP": (23.1, 8.7),
    "QT+KW": (30.0, 10.7),
    "KO": (76.3, 23.4),
    "KOP": (65.3, 26.1),
    "QT+KO": (56.7, 16.7),
    "KW+KO": (30.5, 10.6),
    "QT+KW+KO": (15.7, 5.6),
}
S_MRL = (62.0, 27.3, 39.8, 53.0, 52.0, 27.7, 35.6, 42.2, 50.8, 55.5, 42.7, 19.4)  # Table 2, in the order of `labels`
UPDN = (65.2, 32.4, 45.1, 56.1, 55.3, 33.4, 41.3, 46.5, 54.3, 56.9, 46.8, 18.4)
MATCHED = ("KW", "KO", "KOP")


def keys() -> dict[str, tuple[str, ...]]:
    """Name the measures that are shown."""
    found: dict[str, tuple[str, ...]] = {"all judged (IID)": ("accuracy",)}
    found |= {f"tail of {concept}": ("accuracy", concept, "tail") for concept in NINE}
    found |= {"mean of the nine": ("OOD mean",)} | {name: (name,) for name in ("OOD drop", "pooled gap", "largest gap")}
    found |= {f"gap, {concept}": (f"gap, {concept}",) for concept in ("QT", "KW", "KO")}
    return found | {f"matched gap, {concept}": (f"matched gap, {concept}",) for concept in MATCHED}


def measure(folder: Path) -> Iterator[Row]:
    """Count the sets of all questions, and judge the models."""
    whole = read_whole(folder)
    divided = make_resplit(whole, "random", ResplitSettings(unit="question"))
    yield from describe(SplitsAudit(missing="group").study(divided, Local()))
    yield {"table": "facts", "what": "learned question types", "here": compare_types(whole), "paper": "65 given"}
    data, audit = read_vqa2(folder), SplitsAudit()
    for name, result in judge_models(audit, data, audit.study(data, Local()), folder):
        for label, key in keys().items():
            yield {"table": "models", "model": name, "measure": label, "value": find(result, *key)}
        yield {"table": "models", "model": name, "measure": "verdict", "value": say_verdict(result)}
        sets = result.tables["sets"]
        for concept, q in sets.filter(pl.col("concept").is_in(MATCHED)).select("concept", "matched_q").iter_rows():
            known = None if q is None else f"{q:.1g}"
            yield {"table": "models", "model": name, "measure": f"q of matched gap, {concept}", "value": known}
        rising = sets.select(pl.corr("tail", "imbalance")).item()
        yield {"table": "models", "model": name, "measure": "correlation of tail and E", "value": f"{rising or 0:.2f}"}


def say_verdict(result: Result) -> str:
    """Write the verdict with the concept of the largest gap."""
    note = result.measures.filter(pl.col("name") == "largest gap")["note"].to_list()
    return " ".join([result.verdict.state, *(f"({str(each).partition(';')[0]})" for each in note)])


def describe(study: Result) -> Iterator[Row]:
    """Count groups, heads and tails of each concept, and how much their sets have in common."""
    for row in study.tables["concepts"].iter_rows(named=True):
        counts = {key: row[key] for key in ("train_n", "train_groups", "n", "groups", "imbalanced", "imbalance")}
        sides = {side: row[side] / row["n"] for side in ("head", "tail")}
        yield {"table": "concepts", "concept": row["concept"]} | counts | sides
    for kind, one, other, what, paper in (
        ("coincidence", "QT", "KO", "share of QT's OOD set that is in KO's", "0.79"),
        ("jaccard", "QT", "KO", "overlap of the heads of QT and KO", "most"),
        ("jaccard", "QT", "QT+KW", "overlap of the heads of QT and QT+KW", "little"),
    ):
        found = study.tables[kind].filter(pl.col("of") == one, pl.col("with") == other)["share"].item()
        yield {"table": "facts", "what": what, "here": found, "paper": paper}


def compare_types(whole: Dataset) -> str:
    """Learn question types from how questions begin, and compare them with the given ones."""
    from sklearn.metrics import adjusted_mutual_info_score

    questions, given = whole.examples["question"], whole.examples["question_type"]
    learned = question_types(questions, learn_prefixes(questions))
    shared = adjusted_mutual_info_score(learned.to_list(), given.to_list())
    return f"{learned.n_unique()} (adjusted mutual information {shared:.2f})"


def lay_out_concepts(rows: list[Row]) -> Iterator[str]:
    """Write the size of each set beside the paper's."""
    found = []
    for row in (row for row in rows if row["table"] == "concepts"):
        paper = " / ".join(f"{each:,}" for each in GROUPS[row["concept"]])
        sides = " / ".join(f"{each}" for each in SIDES[row["concept"]])
        found.append(row | {"paper": paper, "paper_sides": sides})
    head = "| | groups in train / judged / imbalanced | paper | head / tail, % of judged | paper | E |"
    line = "| {concept} | {train_groups:,} / {groups:,} / {imbalanced:,} | {paper} | {head:points} / {tail:points} "
    return lay_out(head, line + "| {paper_sides} | {imbalance:.2f} |", found)


def lay_out_models(rows: list[Row]) -> Iterator[str]:
    """Write a column for each model, and the paper's two."""
    own = [row for row in rows if row["table"] == "models"]
    names = list(dict.fromkeys(row["model"] for row in own))
    found = pivot(own, "measure", "model")
    for row, (first, second) in zip(found, zip(S_MRL, UPDN, strict=True), strict=False):
        row |= {"S-MRL": first, "UpDn": second}
    line = "| {measure} | " + " | ".join(f"{{{name}:points}}" for name in names) + " | {S-MRL} | {UpDn} |"
    return lay_out(f"| | {' | '.join(names)} | S-MRL | UpDn |", line, found)


LAYOUTS: dict[str, Layout] = {
    "concepts": lay_out_concepts,
    "facts": table("| | here | paper |", "| {what} | {here:.2f} | {paper} |", "facts"),
    "models": lay_out_models,
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    add_flag(parser)
    given = parser.parse_args()
    report("splits_real", LAYOUTS, list(measure(given.folder)), kept=given.record)


if __name__ == "__main__":
    main()
