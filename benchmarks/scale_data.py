"""The data that `scale.py` measures on, made once for each size and kept.

`questions` are made up with the words, answers and objects of VQA v2 (`splits_data`), `world` is the planted world,
which has the options, evidence and boxes that some audits need. Both have five questions an image.
"""

import sys
from pathlib import Path

import polars as pl

from eyechart.data.dataset import Dataset
from eyechart.formats import read
from scale_arrows import QUESTIONS, WORLD
from splits_data import make_dataset


def make(data: str, n: int, folder: Path) -> None:
    """Make one of the two, unless it is there."""
    if not (folder / data / "manifest.json").is_file():
        MAKERS[data](n, folder)


def make_questions(n: int, folder: Path) -> None:
    """Save questions as a dataset, as files to read, and answers to them."""
    data = make_dataset(n)
    data.save(folder / QUESTIONS)
    data.examples.write_parquet(folder / f"{QUESTIONS}.parquet")
    data.examples.write_ndjson(folder / f"{QUESTIONS}.jsonl")
    data.examples.select("id", answer=pl.lit("a1")).write_parquet(folder / "answers.parquet")


def make_world(n: int, folder: Path) -> None:
    """Save a planted world."""
    made = read(WORLD, images=n // 5)
    Dataset(made.name, made.examples, made.images).save(folder / WORLD)


MAKERS = {QUESTIONS: make_questions, WORLD: make_world}

if __name__ == "__main__":
    make(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
