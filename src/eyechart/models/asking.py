"""Ask a model every probe once, batch by batch, and lose at most one batch when anything breaks."""

import io
import logging
import os
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from eyechart.dataset import Dataset, Images
from eyechart.errors import EyechartError, ModelError
from eyechart.predictions import tidy
from eyechart.probes import Filler
from eyechart.progress import Advance
from eyechart.protocols import Engine, Foreseeing, Model, Stocked, Where
from eyechart.tables import ANSWERS, empty

_CALLS = {"key": pl.String, "known": pl.Boolean, "pictures": pl.Int64, "tokens": pl.Int64, "condition": pl.String}
_LOST = "the batch was lost: "  # in `raw`, before the reason
_PATIENCE = 3  # batches lost from the first on, after which the model itself is to blame
_log = logging.getLogger("eyechart.models")
_SCHEMA = {name: column.dtype for name, column in ANSWERS.columns.items()}


def unanswered(probes: pl.DataFrame, answers: pl.DataFrame, draws: int = 1) -> pl.DataFrame:
    """Select the probes with answers still to come; a failure and an answer to other content do not count."""
    obtained = answers.filter(pl.col("status") != "failed").group_by("id", "probe").len()
    return probes.join(obtained.filter(pl.col("len") >= draws), on=["id", "probe"], how="anti")


@contextmanager
def asking_alone(lock: Path, model: str) -> Iterator[None]:
    """Refuse to ask a model that another process is asking in the same run; a killed process holds nothing."""
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            advice = "wait for it, or stop it; answers that it got are not asked again"
            raise ModelError(f"{model} to be asked by one process", "another that is asking it", advice) from None
        yield


@dataclass(frozen=True)
class Answering:
    """Ask a model a batch of filled probes; a batch that breaks it becomes failures, and the others are asked."""

    model: Model
    images: Images

    @property
    def place(self) -> Where:
        """Run where the model wants to; one that does not say runs anywhere, and files of answers are read here."""
        place: Where = getattr(self.model, "place", "here" if isinstance(self.model, Stocked) else "slot")
        return place

    def __call__(self, shown: pl.DataFrame) -> pl.DataFrame:
        """Answer tidily; what a user must put right, and an interruption, stop everything."""
        try:
            return tidy(self.model.answer(shown, self.images), shown, self.model.name)
        except (EyechartError, InterruptedError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever somebody's model raises
            return self.lost(shown, _say(error))

    def lost(self, batch: pl.DataFrame, reason: str) -> pl.DataFrame:
        """Call every probe of a batch failed, with the reason where the raw answer would be."""
        raw, answer = pl.lit(_LOST + reason).alias("raw"), pl.lit(None, pl.String).alias("answer")
        return tidy(batch.select("id", answer, raw), batch, self.model.name)


def _say(error: Exception) -> str:
    """Name an error and the line that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno})"


def ask(step: Answering, probes: pl.DataFrame, data: Dataset, engine: Engine, batch: int) -> Iterator[pl.DataFrame]:
    """Yield the tidy answers to each batch of probes; give up where every batch is lost from the first on."""
    n, lost, reason = 0, 0, ""
    for answers in engine.map(step, _batches(probes, data, batch)):
        yield answers
        n += 1
        if answers.height and answers["raw"].str.starts_with(_LOST).fill_null(value=False).all():
            lost, reason = lost + 1, answers["raw"][0].removeprefix(_LOST)
            _log.warning(
                "%s: %d probes failed, ids %r to %r: %s",
                step.model.name,
                answers.height,
                answers["id"][0],
                answers["id"][-1],
                reason,
            )
        if lost == n == _PATIENCE:
            break
    if n and lost == n:
        advice = "mend the model; if only some probes break it, a smaller --batch-size loses fewer of them"
        raise ModelError(f"answers of {step.model.name}", f"{n} batches that all broke it, last by {reason}", advice)


def _batches(probes: pl.DataFrame, data: Dataset, batch: int) -> Iterator[pl.DataFrame]:
    block = batch * max(1, 16_384 // batch)  # filled at once: small batches would cost more than their content
    filler = Filler(probes, data)
    for at in range(0, probes.height, block):
        yield from filler.fill(at, block).iter_slices(batch)


def foresee(
    model: Foreseeing, todo: Iterable[tuple[str, pl.DataFrame]], data: Dataset, batch: int, advance: Advance
) -> pl.DataFrame:
    """Look at everything a model would be shown, without asking, and count by condition what it would take.

    `answers` are wanted, `calls` have to be made for them (the same content once, what the cache knows not at all), and
    `images` and `tokens` (an estimate) are sent with those calls.
    """
    parts = []
    for condition, probes in todo:
        for shown in _batches(probes, data, batch):
            calls = model.foresee(shown, data.images)
            parts.append(calls.with_columns(condition=pl.lit(condition)))
            advance(calls.height)
    return _count_calls(pl.concat([pl.DataFrame(schema=_CALLS), *parts]))


def _count_calls(calls: pl.DataFrame) -> pl.DataFrame:
    new = calls.filter(~pl.col("known")).unique("key", keep="first", maintain_order=True)
    cost = new.group_by("condition").agg(calls=pl.len(), images=pl.col("pictures").sum(), tokens=pl.col("tokens").sum())
    wanted = calls.group_by("condition").agg(answers=pl.len()).sort("condition")
    found = wanted.join(cost, on="condition", how="left", validate="1:1", maintain_order="left")
    return found.select("condition", pl.col("answers", "calls", "images", "tokens").fill_null(0).cast(pl.Int64))


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
