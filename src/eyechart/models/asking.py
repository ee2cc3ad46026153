"""Ask a model every probe once, batch by batch, losing at most one batch if anything breaks."""

import io
import logging
import os
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import polars as pl

from eyechart.base.errors import EyechartError, ModelError
from eyechart.base.progress import Advance
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.predictions import tidy
from eyechart.data.probes import Filler
from eyechart.data.protocols import Engine, EstimatingModel, Model, PrerecordedModel, WorkerKind
from eyechart.data.tables import ANSWERS, empty
from eyechart.models.cache import CALLS
from eyechart.models.first_responses import BATCHES, FirstResponses

_LOST = "the batch was lost: "  # in `raw`, before the reason
_MAX_LOST = 3  # lost batches at the start, after which the model itself is to blame
_log = logging.getLogger("eyechart.models")
_SCHEMA = {name: column.dtype for name, column in ANSWERS.columns.items()}


def select_unanswered(probes: pl.DataFrame, answers: pl.DataFrame, draws: int = 1) -> pl.DataFrame:
    """Select the probes without answers; failures, and answers to other content, do not count."""
    obtained = answers.filter(pl.col("status") != "failed").group_by("id", "probe").len()
    return probes.join(obtained.filter(pl.col("len") >= draws), on=["id", "probe"], how="anti")


@contextmanager
def lock_model(lock: Path, model: str) -> Iterator[None]:
    """Hold the lock on asking a model in a run, or fail if another process holds it; a kill releases it."""
    try:
        import fcntl  # here, because Windows has no such module: there nothing keeps two processes apart
    except ImportError:
        yield
        return
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            advice = "wait for it, or stop it; the answers it got are not asked for again"
            raise ModelError(f"only one process asking {model}", "another one", advice) from None
        yield


@dataclass(frozen=True)
class AnswerStep:
    """Ask a model a batch of filled probes; if a batch raises an error, record its probes as failed and go on."""

    model: Model
    images: Images

    @property
    def place(self) -> WorkerKind:
        """Return where the model asks to run; by default anywhere, but files of answers are read in this process."""
        place: WorkerKind = getattr(self.model, "place", "here" if isinstance(self.model, PrerecordedModel) else "slot")
        return place

    def __call__(self, shown: pl.DataFrame) -> pl.DataFrame:
        """Return a valid table of answers; only an error that the user must fix, or an interruption, propagates."""
        try:
            return tidy(self.model.answer(shown, self.images), shown, self.model.name)
        except (EyechartError, InterruptedError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever somebody's model raises
            return self.lost(shown, _describe_error(error))

    def lost(self, batch: pl.DataFrame, reason: str) -> pl.DataFrame:
        """Mark every probe of a batch as failed, with the reason in place of the raw answer."""
        raw, answer = pl.lit(_LOST + reason).alias("raw"), pl.lit(None, pl.String).alias("answer")
        return tidy(batch.select("id", answer, raw), batch, self.model.name)


def _describe_error(error: Exception) -> str:
    """Describe an error with the line that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno})"


def ask(
    step: AnswerStep,
    probes: pl.DataFrame,
    data: Dataset,
    engine: Engine,
    batch: int,
    *,
    first: FirstResponses | None = None,
) -> Iterator[pl.DataFrame]:
    """Yield the answers to each batch of probes; raise an error if the first few batches are all lost.

    `first` watches the first responses, and may also raise an error; it makes the first batches small.
    """
    small = () if first is None or first.is_over else BATCHES
    batches = _batches(probes, data, batch, small)
    # Nothing more is asked before a look at the answers to the small ones.
    parts = [*(islice(batches, 1) for _ in small), batches]
    n, lost, reason = 0, 0, ""
    for answers in chain.from_iterable(engine.map(step, part) for part in parts):
        yield answers
        n += 1
        is_lost = answers["raw"].str.starts_with(_LOST).fill_null(value=False).all()
        if first is not None and not is_lost:
            first.watch(answers)
        if answers.height and is_lost:
            lost, reason = lost + 1, answers["raw"][0].removeprefix(_LOST)
            _log.warning(
                "%s: %d probes failed, ids %r to %r: %s",
                step.model.name,
                answers.height,
                answers["id"][0],
                answers["id"][-1],
                reason,
            )
        if lost == n == _MAX_LOST:
            break
    if n and lost == n:
        advice = "fix the model; if only some probes break it, a smaller --batch-size loses fewer of them"
        raise ModelError(
            f"answers of {step.model.name}", f"{n} batches that all broke the model, the last with {reason}", advice
        )


def _batches(probes: pl.DataFrame, data: Dataset, batch: int, small: tuple[int, ...] = ()) -> Iterator[pl.DataFrame]:
    block = batch * max(1, 16_384 // batch)  # probes filled at once: small batches have too much overhead
    filler, begin = Filler(probes, data), 0
    for size in small:
        if begin < probes.height:
            yield filler.fill(begin, min(size, batch))
            begin += min(size, batch)
    for start in range(begin, probes.height, block):
        yield from filler.fill(start, block).iter_slices(batch)


def estimate_calls(
    model: EstimatingModel, todo: Iterable[tuple[str, pl.DataFrame]], data: Dataset, batch: int, advance: Advance
) -> pl.DataFrame:
    """Build everything a model would be shown, without asking, and count the cost by condition.

    `answers` counts the answers needed, `calls` the calls they take (the same content once, what is cached not
    at all), `images` and `tokens` (an estimate) what is sent with those calls.
    """
    parts = []
    for condition, probes in todo:
        for shown in _batches(probes, data, batch):
            calls = model.foresee(shown, data.images)
            parts.append(calls.with_columns(condition=pl.lit(condition)))
            advance(calls.height)
    return _count_calls(pl.concat([pl.DataFrame(schema={**CALLS, "condition": pl.String}), *parts]))


def _count_calls(calls: pl.DataFrame) -> pl.DataFrame:
    new = calls.filter(~pl.col("known")).unique("key", keep="first", maintain_order=True)
    cost = new.group_by("condition").agg(calls=pl.len(), images=pl.col("pictures").sum(), tokens=pl.col("tokens").sum())
    needed = calls.group_by("condition").agg(answers=pl.len()).sort("condition")
    counted = needed.join(cost, on="condition", how="left", validate="1:1", maintain_order="left")
    return counted.select("condition", pl.col("answers", "calls", "images", "tokens").fill_null(0).cast(pl.Int64))


class AnswerLog:
    """An append-only file of answers, one JSON object per line, that survives a crash at any moment."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> pl.DataFrame:
        """Read the logged answers, and cut off an incomplete last line."""
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
        """Write a batch, and wait until it is on disk."""
        buffer = io.BytesIO()
        answers.write_ndjson(buffer)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab") as log:
            log.write(buffer.getvalue())
            log.flush()
            os.fsync(log.fileno())

    def remove(self) -> None:
        """Delete the log, once its content is saved elsewhere."""
        self.path.unlink(missing_ok=True)
