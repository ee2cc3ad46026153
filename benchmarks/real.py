"""Real questions of VQA v2 with COCO objects, and what three models of 2019 answered: for the scripts on real data.

Learned is `nlp1_train`, which is balanced by answer type; judged are the questions of VQA-VS val whose image is not in
it. FOLDER holds `vqa2/`; it is not part of the project.
"""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl

import eyechart
from eyechart import Dataset
from eyechart.data.predictions import Predictions, tidy
from eyechart.data.protocols import Audit
from eyechart.data.result import Measure, Result
from eyechart.engines import Local
from eyechart.formats.predictions import read_predictions

MODELS = {"gpt2": "GPT-2, text only", "vqa_baseline": "CNN + LSTM", "vggpt2": "VGG + GPT-2"}


def read_whole(folder: Path) -> Dataset:
    """Read all 89,710 questions."""
    return eyechart.read(str(folder / "vqa2" / "vqa2_89710_with_objects.parquet"))


def read_vqa2(folder: Path) -> Dataset:
    """Take train and the held-out validation questions that share no image with it."""
    whole = read_whole(folder)
    source = pl.col("source")
    train = whole.examples.filter(source.str.contains("nlp1_train"))
    held_out = whole.examples.filter(source.str.contains("vqa_vs_val")).join(train, on="image", how="anti")
    parts = (part.with_columns(pl.lit(name).alias("split")) for name, part in (("train", train), ("val", held_out)))
    return replace(whole, examples=pl.concat(parts))


def judge_models(audit: Audit, data: Dataset, study: Result, folder: Path) -> Iterator[tuple[str, Result]]:
    """Judge each model on the questions that it answered."""
    [(_, probes)] = audit.probe(data, study)
    for file, name in MODELS.items():
        said = read_predictions(folder / "vqa2" / "predictions" / f"pred_{file}.json.gz").answers
        answers = tidy(said.join(probes, on="id", how="semi"), probes.join(said, on="id", how="semi"), file)
        yield name, audit.judge(data, study, Predictions(file, answers), Local())


def as_list(one: Measure) -> list[float]:
    """Return the value and its interval."""
    return [one.value, one.low, one.high]


def find(result: Result, name: str, *group: str) -> list[float] | None:
    """Return a measure as a list, if it could be measured."""
    by = dict(zip(("by", "group"), group, strict=False))
    wanted = [pl.col("name") == name, *(pl.col(key).eq_missing(by.get(key)) for key in ("by", "group"))]
    return as_list(result.measure(name, "plain", *group)) if result.measures.filter(*wanted).height else None
