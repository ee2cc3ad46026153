"""The three contracts: an Audit asks and judges, a Model answers, an Engine says where batches run."""

from collections.abc import Callable, Iterable
from typing import ClassVar, Literal, Protocol, runtime_checkable

import polars as pl

from eyechart.dataset import Dataset, Images
from eyechart.predictions import Predictions
from eyechart.result import Result

Step = Callable[[pl.DataFrame], pl.DataFrame]
# Any process; one with a GPU, where there are any; or this process, for what only waits for others or reads files.
Where = Literal["slot", "gpu", "here"]


class Engine(Protocol):
    """Run a step over batches, in any order: tables carry keys, and partitions depend on the data only."""

    def map(self, step: Step, batches: Iterable[pl.DataFrame]) -> Iterable[pl.DataFrame]:
        """Apply the step to each batch; other processes may get a copy of the step, each one, and keep it."""
        ...


@runtime_checkable
class Placed(Protocol):
    """A step that cares where it runs, and that has something to say for a batch that took its process with it."""

    @property
    def place(self) -> Where:
        """Name the kind of process."""
        ...

    def lost(self, batch: pl.DataFrame, reason: str) -> pl.DataFrame:
        """Make what stands in the place of a result."""
        ...


@runtime_checkable
class Model(Protocol):
    """Hold settings; open weights or connections at the first answer."""

    @property
    def name(self) -> str:
        """Name the model in results and folders."""
        ...

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """Answer a batch of filled probes: a table with `id`, `answer` and what else the answers table knows."""
        ...


@runtime_checkable
class Stocked(Protocol):
    """A model whose answers exist already, so that it can say beforehand which probes it lacks."""

    def holds(self, condition: str) -> bool:
        """Tell whether there are answers under a condition."""
        ...

    def stock(self, probes: pl.DataFrame) -> pl.DataFrame:
        """Count read, missing, extra and duplicate answers to the probes of one condition."""
        ...


@runtime_checkable
class Foreseeing(Model, Protocol):
    """A model that asks the same content once, and can say beforehand what it will ask."""

    @property
    def draws(self) -> int:
        """Tell how often each probe is asked."""
        ...

    def foresee(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """List the calls for filled probes: `key` (the same is asked once), `known`, `pictures`, `tokens`."""
        ...


@runtime_checkable
class Identified(Protocol):
    """A model that can say what exactly answers: its revision, its decoding, the words around a question."""

    @property
    def identity(self) -> str:
        """Write everything that decides an answer beside what is shown, as JSON."""
        ...


@runtime_checkable
class Audit(Protocol):
    """A frozen dataclass whose fields are its settings; it keeps no data and all its methods are pure.

    What is learned from and what is judged it takes from `data.divided`. Three more class attributes are optional:
    `learns` (bool) says that it learns from a part of the data, so that it judges only examples held out from that;
    `furniture` is what it brings along beside its methods; `gone` maps settings it once had to what replaces them.
    """

    name: ClassVar[str]
    needs: ClassVar[tuple[str, ...]]  # columns the examples must have

    def study(self, data: Dataset, engine: Engine) -> Result:
        """Look at the data alone."""
        ...

    def probe(self, data: Dataset, study: Result, round: int = 0) -> Iterable[tuple[str, pl.DataFrame]]:  # noqa: A002 - the word of the design
        """Write what a model must answer, condition by condition, without the reference answers."""
        ...

    def judge(self, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
        """Join the answers back by key and measure."""
        ...


@runtime_checkable
class Announcing(Protocol):
    """An audit that can say before its study what it will ask; one that cannot may ask anything."""

    def beyond_plain(self, data: Dataset) -> tuple[str, ...]:
        """Name conditions of which it asks some beside `plain`, so that answers under none of them cannot be judged.

        Without any such condition the audit asks `plain` alone.
        """
        ...
