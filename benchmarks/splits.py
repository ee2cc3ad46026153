"""Time the study of `splits` from Parquet to its tables, against plain pandas and Python loops.

    python benchmarks/splits.py [--quick] [--sizes 50000 200000]

Every measurement is a process of its own: seconds from the files on disk to the study in memory, and the peak memory of
the whole process. The peer finds the same concepts, groups, heads and tails with a loop over examples and Counters, and
makes no further tables; that both find the same tails is checked.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import polars as pl

from eyechart.audits.splits import SplitsAudit
from eyechart.audits.splits.settings import NINE
from eyechart.data.dataset import Dataset
from eyechart.engines import Local
from mining import peak_mb
from splits_data import make_dataset

SIZES = (50_000, 200_000, 658_111)
QUICK = 50_000
MARKS = str.maketrans("", "", "?,.")


def study_ours(folder: str) -> dict[str, int]:
    """Study with eyechart."""
    study = SplitsAudit().study(Dataset.load(folder), Local())
    return dict(study.tables["concepts"].select("concept", "tail").iter_rows())


def study_peer(folder: str) -> dict[str, int]:
    """Study with pandas and loops."""
    import pandas as pd

    examples = pd.DataFrame(pl.read_parquet(f"{folder}/examples.parquet").to_dicts())
    images = pl.read_parquet(f"{folder}/images.parquet").to_dicts()
    labels = {row["image"]: {one["label"] for one in row["objects"]} for row in images}
    answers = examples["answer"].tolist()
    words = [
        set(question.translate(MARKS).split()[kind.count(" ") + 1 :])
        for question, kind in zip(examples["question"], examples["question_type"], strict=True)
    ]
    objects = [labels.get(image, set()) for image in examples["image"]]
    named, seen = (two_best(candidates, answers) for candidates in (words, objects))
    concepts = [name_concepts(*row) for row in zip(examples["question_type"], named, seen, strict=True)]
    judged = (examples["split"] == "test").tolist()
    return {name: count_tail(concepts, answers, judged, name) for name in NINE}


def two_best(candidates: list[set[str]], answers: list[str]) -> list[list[str]]:
    """Rank the candidates of each example by mutual information, ties by frequency and text."""
    single = Counter(word for words in candidates for word in words)
    joint = Counter((word, answer) for words, answer in zip(candidates, answers, strict=True) for word in words)
    found = []
    for words, answer in zip(candidates, answers, strict=True):
        ranked = sorted((-joint[word, answer] / single[word], -single[word], word) for word in words)
        found.append([word for _, _, word in ranked[:2]])
    return found


def name_concepts(kind: str, words: list[str], objects: list[str]) -> dict[str, str | None]:
    """Put the nine concepts of an example together."""
    first = {"QT": kind, "KW": words[0] if words else None, "KO": objects[0] if objects else None}
    found: dict[str, str | None] = {}
    for name in NINE:
        if name in ("KWP", "KOP"):
            pair = words if name == "KWP" else objects
            found[name] = " + ".join(pair) if len(pair) == 2 else None
        else:
            parts = [first[part] for part in name.split("+")]
            found[name] = None if None in parts else " + ".join(map(str, parts))
    return found


def count_tail(concepts: Iterable[dict[str, str | None]], answers: list[str], judged: list[bool], name: str) -> int:
    """Count the judged examples with rare answers in imbalanced groups."""
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for one, answer, inside in zip(concepts, answers, judged, strict=True):
        group = one[name]
        if inside and group is not None:
            groups[group][answer] += 1
    tail = 0
    for counts in groups.values():
        n, m = sum(counts.values()), len(counts)
        if m > 1 and -sum(c / n * math.log(c / n) for c in counts.values()) / math.log(m) < 0.9:
            tail += sum(c for c in counts.values() if c < 1.2 * n / m)
    return tail


TASKS: dict[str, Callable[[str], dict[str, int]]] = {"ours": study_ours, "peer": study_peer}


def measure(task: str, folder: Path) -> dict[str, Any]:
    """Run a task in a process of its own."""
    command = [sys.executable, __file__, "--task", task, str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def run_task(task: str, folder: str) -> None:
    """Print what a task found, its seconds and its memory."""
    wall, cpu = time.perf_counter(), time.process_time()
    tails = TASKS[task](folder)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(json.dumps({"tails": tails, "wall": wall, "cpu": cpu, "mb": peak_mb()}))


def compare(sizes: tuple[int, ...], folder: Path) -> None:
    """Print a row for each size; growth is the exponent from the size above."""
    print("| questions | CPU s | wall s | peak MB | growth | loops CPU s | loops wall s | loops peak MB | ratio |")
    print("|---|---|---|---|---|---|---|---|---|")
    last: tuple[int, float] | None = None
    for n in sizes:
        make_dataset(n).save(folder / str(n))
        ours, theirs = (measure(task, folder / str(n)) for task in TASKS)
        if ours["tails"] != theirs["tails"]:
            raise SystemExit(f"the tails differ at {n}: {ours['tails']} and {theirs['tails']}")
        growth = f"{math.log(ours['cpu'] / last[1]) / math.log(n / last[0]):.2f}" if last else ""
        cells = [f"{ours['cpu']:.1f}", f"{ours['wall']:.1f}", f"{ours['mb']:,.0f}", growth]
        cells += [f"{theirs['cpu']:.1f}", f"{theirs['wall']:.1f}", f"{theirs['mb']:,.0f}"]
        print(f"| {n:,} | {' | '.join(cells)} | {theirs['cpu'] / ours['cpu']:.1f} |", flush=True)
        last = n, ours["cpu"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"at most {QUICK:,} questions")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of questions")
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    parser.add_argument("folder", nargs="?", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        run_task(options.task, options.folder)
        return
    with tempfile.TemporaryDirectory() as name:
        compare((QUICK,) if options.quick else tuple(options.sizes), Path(name))


if __name__ == "__main__":
    main()
