"""Share work among threads; the kernels run without the interpreter's lock."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Generic, TypeVar

import numpy as np

from eyechart.mining.transactions import Int32s

Batch = TypeVar("Batch")
Answer = TypeVar("Answer")
Thing = TypeVar("Thing")


class Shelf(Generic[Thing]):
    """Things of which each is used by one thread at a time."""

    def __init__(self, things: Iterable[Thing]) -> None:
        self._free: SimpleQueue[Thing] = SimpleQueue()
        for thing in things:
            self._free.put(thing)

    @contextmanager
    def borrow(self) -> Iterator[Thing]:
        """Lend a thing that nobody uses."""
        thing = self._free.get()
        try:
            yield thing
        finally:
            self._free.put(thing)


def run(task: Callable[[Batch], Answer], batches: Iterable[Batch], threads: int) -> Iterator[Answer]:
    """Yield the answers as they come; leave off at the first error, or when nobody asks for more."""
    with ThreadPoolExecutor(threads) as pool:
        waiting = [pool.submit(_quietly, task, batch) for batch in batches]
        try:
            for done in as_completed(waiting):
                yield done.result()
        finally:
            for future in waiting:
                future.cancel()


def _quietly(task: Callable[[Batch], Answer], batch: Batch) -> Answer:
    """Let hashes overflow without a warning where the kernels run uncompiled."""
    with np.errstate(over="ignore"):
        return task(batch)


def batches_of(roots: Int32s) -> list[Int32s]:
    """Cut a list, the heaviest first, into batches of 4, 8, ... 256, so that all threads end together."""
    sizes = [4, 8, 16, 32, 64, 128]
    sizes += [256] * (len(roots) // 256 + 1)
    return [batch for batch in np.split(roots, np.cumsum(sizes)) if len(batch)]
