"""Define the three protocols: an Audit asks and judges, a Model answers, an Engine decides where batches run."""

from collections.abc import Callable, Iterable
from typing import ClassVar, Literal, Protocol, runtime_checkable

import polars as pl

from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.predictions import Predictions
from eyechart.data.result import Result

Step = Callable[[pl.DataFrame], pl.DataFrame]
# Any process; one with a GPU, if there are any; or this process, for steps that only wait or read files.
WorkerKind = Literal["slot", "gpu", "here"]


class Engine(Protocol):
    """Run a step over batches in any order: tables carry keys, and partitions depend only on the data."""

    def map(self, step: Step, batches: Iterable[pl.DataFrame]) -> Iterable[pl.DataFrame]:
        """Apply the step to each batch; other processes may each get and keep a copy of the step."""
        ...


@runtime_checkable
class PlacedStep(Protocol):
    """A step that chooses where it runs, and provides a result for a batch that killed its process."""

    @property
    def place(self) -> WorkerKind:
        """Return the kind of process."""
        ...

    def lost(self, batch: pl.DataFrame, reason: str) -> pl.DataFrame:
        """Return a result for a lost batch."""
        ...


@runtime_checkable
class Model(Protocol):
    """A model, which holds settings and opens weights or connections for the first answer."""

    @property
    def name(self) -> str:
        """Return the name of the model in results and folders."""
        ...

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """Answer a batch of filled probes: a table with `id`, `answer` and optionally other columns of answers."""
        ...


@runtime_checkable
class PrerecordedModel(Protocol):
    """A model whose answers already exist, so that it knows beforehand which probes it has none for."""

    def holds(self, condition: str) -> bool:
        """Return whether there are answers under a condition."""
        ...

    def stock(self, probes: pl.DataFrame) -> pl.DataFrame:
        """Count read, missing, extra and duplicate answers to the probes of one condition."""
        ...


@runtime_checkable
class EstimatingModel(Model, Protocol):
    """A model that asks the same content once, and knows beforehand what it will ask."""

    @property
    def draws(self) -> int:
        """Return the number of times each probe is asked."""
        ...

    def foresee(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """List the calls for filled probes: `key` (each is asked once), `known`, `pictures`, `tokens`."""
        ...


@runtime_checkable
class IdentifiedModel(Protocol):
    """A model that can identify itself exactly: its revision, its decoding, the wording around a question."""

    @property
    def identity(self) -> str:
        """Return as JSON everything besides the probes that determines an answer."""
        ...


@runtime_checkable
class Audit(Protocol):
    """A frozen dataclass whose fields are its settings; it keeps no data and all its methods are pure.

    It takes the examples to learn from and to judge from `data.divided`. Some more class attributes are optional:
    `learns` (bool) says that it learns from a part of the data, so that it judges only examples held out from it;
    `optional` names conditions under which it asks but can judge without answers;
    `furniture` is what it provides besides its methods; `gone` maps former settings to what to do instead; the class
    method `upgrade_plan` translates the settings that an older version recorded, or rejects them.
    """

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]  # columns the examples must have

    def study(self, data: Dataset, engine: Engine) -> Result:
        """Study the data alone."""
        ...

    def probe(self, data: Dataset, study: Result, round: int = 0) -> Iterable[tuple[str, pl.DataFrame]]:  # noqa: A002 - the word of the design
        """Yield the probes a model must answer, condition by condition, without the reference answers."""
        ...

    def judge(self, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
        """Join the answers to the examples, and compute the measures."""
        ...


@runtime_checkable
class AnnouncingAudit(Protocol):
    """An audit that knows before its study what it will ask; any other may ask anything."""

    def beyond_plain(self, data: Dataset) -> tuple[str, ...]:
        """List conditions of which it asks some besides `plain`: without answers under any of them it cannot judge.

        Without any such condition the audit asks `plain` alone.
        """
        ...
