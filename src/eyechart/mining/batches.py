"""Split roots (the first or rarest items of antecedents) into batches, and run threads on them.

Batches depend only on the data, whatever runs them. The kernels run without the interpreter lock.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar

import numpy as np
import polars as pl

from eyechart.mining.transactions import Int32s

Batch = TypeVar("Batch")
Answer = TypeVar("Answer")

ROOT = "root"


def run_in_threads(task: Callable[[Batch], Answer], batches: Iterable[Batch], threads: int) -> Iterator[Answer]:
    """Yield results in the order of completion; stop at the first error, or when the caller stops."""
    with ThreadPoolExecutor(threads) as pool:
        waiting = [pool.submit(_quietly, task, batch) for batch in batches]
        try:
            for done in as_completed(waiting):
                yield done.result()
        finally:
            for future in waiting:
                future.cancel()


def _quietly(task: Callable[[Batch], Answer], batch: Batch) -> Answer:
    """Run a task without overflow warnings, which hashing would cause if the kernels are not compiled."""
    with np.errstate(over="ignore"):
        return task(batch)


def batches_of(roots: Int32s) -> list[Int32s]:
    """Cut a list of roots, the heaviest first, into batches of 4, 8, ... 256, so that all threads finish together."""
    sizes = [4, 8, 16, 32, 64, 128]
    sizes += [256] * (len(roots) // 256 + 1)
    return [batch for batch in np.split(roots, np.cumsum(sizes)) if len(batch)]


def root_batches(roots: Int32s) -> Iterator[pl.DataFrame]:
    """Cut a list of roots, the heaviest first, into tables for an engine."""
    return (pl.DataFrame({ROOT: batch}) for batch in batches_of(roots))
