"""Judge three real models of 2019 on VQA v2: the table of docs/audits/accuracy.md.

    python benchmarks/accuracy_real.py FOLDER [--record]

FOLDER holds the real data (`vqa2/`), which are not part of the project. The models answered 5,002 of the questions.
"""

import argparse
from pathlib import Path

from eyechart.audits.accuracy import Accuracy
from eyechart.engines import Local
from real import as_list, find, judge_models, read_vqa2
from record import Row, add_flag
from tables import Layout, report, table

SCORES = ("count3", "vqa")
TYPES = ("yes/no", "number", "other")


def measure(folder: Path) -> list[Row]:
    """Score each model in both ways, and its answers of each type in the official one."""
    data, rows = read_vqa2(folder), dict[str, Row]()
    for score in SCORES:
        audit = Accuracy(score=score, by=("answer_type",))
        for name, result in judge_models(audit, data, audit.study(data, Local()), folder):
            whole = result.measure("accuracy", "plain")
            row = rows.setdefault(name, {"model": name, "n": whole.n, "images": whole.clusters})
            row[score] = as_list(whole)
            if score == "vqa":
                row |= {kind: find(result, "accuracy", "answer_type", kind) for kind in TYPES}
    return list(rows.values())


HEAD = "| model | `count3` | official `vqa` | yes/no | number | other |"
LINE = "| {model} | {count3:points} | {vqa:points} | {yes/no:points} | {number:points} | {other:points} |"
LAYOUTS: dict[str, Layout] = {"": table(HEAD, LINE)}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    add_flag(parser)
    given = parser.parse_args()
    report("accuracy_real", LAYOUTS, measure(given.folder), kept=given.record)


if __name__ == "__main__":
    main()
