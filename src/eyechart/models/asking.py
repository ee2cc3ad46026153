"""Ask a model every probe once, batch by batch, and lose at most one batch when anything breaks."""

import io
import os
from collections.abc import Iterator
from pathlib import Path

import polars as pl

from eyechart.dataset import Dataset
from eyechart.predictions import tidy
from eyechart.probes import fill
from eyechart.protocols import Engine, Model
from eyechart.tables import ANSWERS, empty

_SCHEMA = {name: column.dtype for name, column in ANSWERS.columns.items()}


def unanswered(probes: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """Select the probes that have no answer yet; an answer to other content does not count."""
    return probes.join(answers, on=["id", "probe"], how="anti")


def ask(model: Model, probes: pl.DataFrame, data: Dataset, engine: Engine, batch: int) -> Iterator[pl.DataFrame]:
    """Yield the tidy answers to each batch of probes."""

    def step(shown: pl.DataFrame) -> pl.DataFrame:
        return tidy(model.answer(shown, data.images), shown, model.name)

    return iter(engine.map(step, _batches(probes, data, batch)))


def _batches(probes: pl.DataFrame, data: Dataset, batch: int) -> Iterator[pl.DataFrame]:
    # Content is looked up for many batches at once: the look-up costs as much for one probe as for thousands.
    block = batch * max(1, 16_384 // batch)
    for at in range(0, probes.height, block):
        filled = fill(probes[at : at + block], data)
        yield from filled.iter_slices(batch)


class AnswerLog:
    """An append-only file of answers, a JSON object a line, that survives a crash at any moment."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> pl.DataFrame:
        """Read what was logged, cutting off a last line that was only half written."""
        if not self.path.is_file():
            return empty(ANSWERS)
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            self.path.write_bytes(whole)
        if not whole:
            return empty(ANSWERS)
        return pl.read_ndjson(io.BytesIO(whole), schema=_SCHEMA)

    def append(self, answers: pl.DataFrame) -> None:
        """Write a batch and wait until it is on disk."""
        buffer = io.BytesIO()
        answers.write_ndjson(buffer)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as log:
            log.write(buffer.getvalue())
            log.flush()
            os.fsync(log.fileno())

    def remove(self) -> None:
        """Delete the log once its content stands elsewhere."""
        self.path.unlink(missing_ok=True)
