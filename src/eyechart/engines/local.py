"""Run batches in one process: in order, one at a time, on demand."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import polars as pl

from eyechart.base.errors import SettingError
from eyechart.data.protocols import Step


@dataclass(frozen=True)
class Local:
    """Run each batch here; Polars and NumPy use the cores inside a batch."""

    def map(self, step: Step, batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Apply the step to each batch, lazily."""
        return map(step, batches)


def open_local(rest: str) -> Local:
    """Open `local`, which has no settings."""
    if rest:
        raise SettingError("nothing after 'local:'", repr(rest), "write --engine local")
    return Local()
