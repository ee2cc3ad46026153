"""Find what makes a model's answers, or asking it, doubtful: checked before anything is asked or judged."""

import warnings
from collections.abc import Iterable

import polars as pl

from eyechart.base.errors import ReadingWarning
from eyechart.data.dataset import Dataset
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.protocols import Model
from eyechart.formats.doubts import lost_rows, no_pictures
from eyechart.formats.predictions import PredictionFile
from eyechart.formats.sources import stem
from eyechart.models.file import PredictionFiles
from eyechart.models.prompted import Prompted

FEWEST, FEWEST_TEXTS = 50, 20  # open answers, and different texts among them
COPIED = 0.99  # share of the answers that are the reference itself


def warn_of_doubts(models: Iterable[Model], data: Dataset) -> None:
    """Warn of each doubt about models on these data; planted models give none."""
    for model in models:
        for doubt in _find_doubts(model, data):
            warnings.warn(doubt, stacklevel=3)


def _find_doubts(model: Model, data: Dataset) -> list[ReadingWarning]:
    if isinstance(model, PredictionFiles):
        lost = [lost_rows(file.counts, f"{model.name}'s answers", _advise(file)) for file in model.files.values()]
        return [doubt for doubt in (*lost, _copied(model, data)) if doubt is not None]
    if isinstance(model, Prompted) and not model.blind and no_pictures(data.images):
        found = f"none of {data.images.kept.height:,}"
        advice = "give their folder when reading (--set images=FOLDER)"
        return [ReadingWarning(f"pictures of {data.name} for {model.name} to see", found, advice)]
    return []


def _advise(file: PredictionFile) -> str:
    """Say what may keep the answers of a file that were lost."""
    unique = file.layout.get("unique id")
    if unique:
        return f"join columns to an id that tells all rows apart, as in FILE,id={unique}, and in the data with --id"
    return "check the file, or name its columns: FILE,id=...,answer=..."


def _copied(model: PredictionFiles, data: Dataset) -> ReadingWarning | None:
    """Doubt answers that repeat the references letter by letter: the column may be the one of the references.

    Options leave few other words for an answer that is right, so they count only where both come from one file.
    """
    if PLAIN_CONDITION not in model.files:
        return None
    names = [name for name in ("answer", "choices") if name in data.columns]
    gold = data.scan(*names).filter(pl.col("answer").is_not_null())
    if "choices" in names and data.name not in map(stem, model.paths.values()):
        gold = gold.filter(pl.col("choices").is_null())
    given = model.files[PLAIN_CONDITION].answers.lazy().select("id", given="answer")
    pairs = gold.select("id", "answer").join(given, on="id").filter(pl.col("given").is_not_null()).collect()
    if pairs.height < FEWEST or pairs["given"].n_unique() < FEWEST_TEXTS:
        return None
    same = int((pairs["given"] == pairs["answer"]).sum())
    if same < COPIED * pairs.height:
        return None
    found = f"{same:,} of {pairs.height:,} that are the reference letter by letter"
    advice = f"name the column of its answers, as in predictions:{next(iter(model.paths.values()))},answer=COLUMN"
    return ReadingWarning(f"answers of {model.name} in its own words", found, advice)
