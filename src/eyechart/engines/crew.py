"""The processes of one kind in a Ray cluster, and the batches they work on.

A process that dies, alone or with its machine, is replaced, and its batch goes to another one; a batch that has taken
several processes with it is given up. Ray could restart an actor with its work; but that work would wait for the very
slot that is gone, while other processes are idle.
"""

import logging
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from eyechart.engines.hand import Hand, versions
from eyechart.errors import EngineError, EyechartError
from eyechart.protocols import Placed, Step

_log = logging.getLogger("eyechart.engines")

MOST_DEATHS = 3  # of processes over one batch, after which it is given up
MOST_BAD_STARTS = 3  # in a row
IMPATIENT_S = 60  # after so long without a free slot, somebody is told


class Stored(NamedTuple):
    """A step, and where it lies in the object store."""

    step: Step
    reference: Any


@dataclass
class Job:
    """A batch, and the processes that died over it."""

    batch: pl.DataFrame
    deaths: int = 0


class Crew:
    """Processes, at most one for each unit of a resource of the cluster; they start when there is work for them."""

    def __init__(self, resource: str) -> None:
        import ray

        self._resource = resource
        needs = {"num_cpus": 1} if resource == "CPU" else {"num_cpus": 0, "num_gpus": 1}
        self._hands: Any = ray.remote(Hand).options(**needs, max_restarts=0, scheduling_strategy="SPREAD")
        self._idle: list[Any] = []
        self._starting: dict[Any, Any] = {}  # the reference to wait for -> the process
        self._busy: dict[Any, tuple[Any, Job]] = {}  # the reference to the result -> who makes it of what
        self._bad_starts = 0

    def run(self, stored: Stored, batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Yield results as they come; batches are taken from their source as they are needed, a few ahead."""
        source, todo = map(Job, batches), deque[Job]()
        try:
            while self._fill(todo, source) or self._busy:
                self._hand_out(todo, stored)
                self._call_for_more(todo)
                for reference in self._wait():
                    job, result = self._collect(reference, stored.step)
                    if result is None:
                        todo.appendleft(job)
                    self._hand_out(todo, stored)
                    if result is not None:
                        yield result
        finally:
            self._drop_busy()

    def close(self) -> None:
        """End all processes."""
        import ray

        self._drop_busy()
        for hand in (*self._idle, *self._starting.values()):
            ray.kill(hand)
        self._idle, self._starting = [], {}

    def _slots(self) -> int:
        import ray

        return max(1, int(ray.cluster_resources().get(self._resource, 1)))  # type: ignore[no-untyped-call]

    def _fill(self, todo: deque[Job], source: Iterator[Job]) -> bool:
        """Make batches ready, one for each slot; say whether there are any."""
        for _ in range(self._slots() - len(todo)):
            job = next(source, None)
            if job is None:
                break
            todo.append(job)
        return bool(todo)

    def _hand_out(self, todo: deque[Job], stored: Stored) -> None:
        while todo and self._idle:
            hand, job = self._idle.pop(), todo.popleft()
            result = hand.work.remote(stored.reference.hex(), [stored.reference], job.batch)
            self._busy[result] = (hand, job)

    def _call_for_more(self, todo: deque[Job]) -> None:
        there = len(self._idle) + len(self._starting) + len(self._busy)
        for _ in range(min(len(todo) - len(self._starting), self._slots() - there)):
            hand = self._hands.remote(pl.thread_pool_size())
            self._starting[hand.ready.remote()] = hand

    def _wait(self) -> list[Any]:
        """Wait until something is done, welcome who has started, and return the references of results."""
        import ray

        done, _ = ray.wait([*self._busy, *self._starting], timeout=IMPATIENT_S)
        if not done and not self._busy:
            _log.warning("waiting for a free %s of the cluster", self._resource)
        for reference in [each for each in done if each in self._starting]:
            self._welcome(reference)
        return [each for each in done if each in self._busy]

    def _welcome(self, reference: Any) -> None:  # noqa: ANN401 - Ray's
        import ray

        hand = self._starting.pop(reference)
        try:
            theirs = ray.get(reference)
        except ray.exceptions.RayError as error:
            self._bad_starts += 1
            if self._bad_starts >= MOST_BAD_STARTS:
                advice = "install the same eyechart on every machine of the cluster"
                raise EngineError("processes that start on the cluster", last_line(error), advice) from error
            return
        if theirs != versions():
            raise EngineError(f"{versions()} on every machine", theirs, "install the same versions everywhere")
        self._bad_starts = 0
        self._idle.append(hand)

    def _collect(self, reference: Any, step: Step) -> tuple[Job, pl.DataFrame | None]:  # noqa: ANN401 - Ray's
        """Get a result, or none where the batch is to be tried again; raise what the step raised."""
        import ray

        hand, job = self._busy.pop(reference)
        try:
            result: pl.DataFrame = ray.get(reference)
        except ray.exceptions.RayTaskError as error:
            self._idle.append(hand)
            raise _blame(error.cause, job.batch) from error
        except ray.exceptions.RayError as error:
            ray.kill(hand)
            job.deaths += 1
            _log.info("a process died over %s: %s", describe(job.batch), last_line(error))
            return job, _give_up(job, step, last_line(error)) if job.deaths >= MOST_DEATHS else None
        self._idle.append(hand)
        return job, result

    def _drop_busy(self) -> None:
        """End the processes whose work nobody waits for any more."""
        import ray

        for hand, _ in self._busy.values():
            ray.kill(hand)
        self._busy = {}


def _blame(cause: BaseException, batch: pl.DataFrame) -> BaseException:
    """Name the batch over which a step broke; what a user can put right, and an interruption, say enough themselves."""
    if isinstance(cause, EyechartError | InterruptedError):
        return cause
    advice = "look at these rows; the cause of this error holds the place in the code"
    return EngineError(f"a result for {describe(batch)}", f"{type(cause).__name__}: {cause}", advice)


def _give_up(job: Job, step: Step, reason: str) -> pl.DataFrame:
    found = f"{job.deaths} processes that died over it ({reason})"
    if isinstance(step, Placed):
        return step.lost(job.batch, found)
    raise EngineError(f"a result for {describe(job.batch)}", found, "look at these rows, or give processes more memory")


def describe(batch: pl.DataFrame) -> str:
    """Name the rows of a batch by the first and the last of their keys."""
    name = "id" if "id" in batch.columns else batch.columns[0]
    first, last = batch[name][0], batch[name][-1]
    return f"the batch of {batch.height} rows with {name} {first!r} to {last!r}"


def last_line(error: BaseException) -> str:
    """Shorten an error to its last line that says anything."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
