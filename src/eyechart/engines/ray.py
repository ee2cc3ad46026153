"""Run batches in many processes, on this machine or on a Ray cluster.

A step is put into the object store once, with its arrays and tables; each process fetches it once and keeps it
while batches for it arrive. Batches and results are sent as tables, a few at once. Which process gets which batch is
arbitrary, so steps must give the same result for a batch wherever they run, and results are put in key order.

A process that dies, alone or with its machine, is replaced, and its batch goes to another one; a batch that has killed
several processes is given up. Ray could restart an actor with its work, but that work would wait for the very
slot that is lost, while other processes are idle.
"""

import logging
import os
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import polars as pl

from eyechart.base.errors import EngineError, EyechartError, MissingExtraError
from eyechart.base.trust import FILE_MODULE
from eyechart.data.protocols import PlacedStep, Step
from eyechart.engines.worker import Worker, versions

_log = logging.getLogger("eyechart.engines")

MOST_DEATHS = 3  # deaths of processes after which their batch is given up
MOST_BAD_STARTS = 3  # failed starts in a row
PATIENCE_S = 60  # seconds without a free slot, after which a warning is logged

# Read by Ray when it is imported.
_NO_USAGE_STATS = {"RAY_USAGE_STATS_ENABLED": "0"}  # Ray does not report how it is used
_LOOPBACK_ONLY = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # a cluster of only this machine listens only on loopback
# Without the setting above Ray searches for these elsewhere, and never stops.
_HERE = ("local", "127.0.0.1", "localhost")


@dataclass
class PendingBatch:
    """A batch to process, and the number of processes it killed."""

    batch: pl.DataFrame
    deaths: int = 0

    def give_up(self, step: Step, reason: str) -> pl.DataFrame:
        """Return the step's result for a lost batch; raise an error if it has none."""
        found = f"{self.deaths} processes that died on it ({reason})"
        if isinstance(step, PlacedStep):
            return step.lost(self.batch, found)
        advice = "check these rows, or give processes more memory"
        raise EngineError(f"a result for {describe(self.batch)}", found, advice)


class WorkerPool:
    """The processes of one kind, at most one for each unit of a resource, started when there is work for them."""

    def __init__(self, resource: str) -> None:
        import ray

        self._resource = resource
        needs = {"num_cpus": 1} if resource == "CPU" else {"num_cpus": 0, "num_gpus": 1}
        self._workers: Any = ray.remote(Worker).options(**needs, max_restarts=0, scheduling_strategy="SPREAD")
        self._idle: list[Any] = []
        self._starting: dict[Any, Any] = {}  # the reference to wait for -> the worker
        self._busy: dict[Any, tuple[Any, PendingBatch]] = {}  # the reference to the result -> the worker and its batch
        self._bad_starts = 0

    def run(
        self,
        step: Step,
        reference: Any,  # noqa: ANN401 - Ray's
        batches: Iterable[pl.DataFrame],
    ) -> Iterator[pl.DataFrame]:
        """Yield results as they arrive, taking batches from their source on demand, a few ahead.

        `reference` refers to the step in the object store.
        """
        source, todo = map(PendingBatch, batches), deque[PendingBatch]()
        try:
            while self._fill(todo, source) or self._busy:
                self._assign(todo, reference)
                self._start_workers(todo)
                for done in self._wait():
                    job, result = self._collect(done, step)
                    if result is None:
                        todo.appendleft(job)
                    self._assign(todo, reference)
                    if result is not None:
                        yield result
        finally:
            self._drop_busy()

    def close(self) -> None:
        """End all processes."""
        import ray

        self._drop_busy()
        for worker in (*self._idle, *self._starting.values()):
            ray.kill(worker)
        self._idle, self._starting = [], {}

    def _slots(self) -> int:
        import ray

        return max(1, int(ray.cluster_resources().get(self._resource, 1)))  # type: ignore[no-untyped-call]

    def _fill(self, todo: deque[PendingBatch], source: Iterator[PendingBatch]) -> bool:
        """Take batches from their source, one for each slot; return whether there are any."""
        for _ in range(self._slots() - len(todo)):
            job = next(source, None)
            if job is None:
                break
            todo.append(job)
        return bool(todo)

    def _assign(self, todo: deque[PendingBatch], reference: Any) -> None:  # noqa: ANN401 - Ray's
        while todo and self._idle:
            worker, job = self._idle.pop(), todo.popleft()
            result = worker.work.remote(reference.hex(), [reference], job.batch)
            self._busy[result] = (worker, job)

    def _start_workers(self, todo: deque[PendingBatch]) -> None:
        alive = len(self._idle) + len(self._starting) + len(self._busy)
        for _ in range(min(len(todo) - len(self._starting), self._slots() - alive)):
            worker = self._workers.remote(pl.thread_pool_size())
            self._starting[worker.ready.remote()] = worker

    def _wait(self) -> list[Any]:
        """Wait until something is done, admit workers that have started, and return the references of results."""
        import ray

        done, _ = ray.wait([*self._busy, *self._starting], timeout=PATIENCE_S)
        if not done and not self._busy:
            _log.warning("waiting for a free %s on the cluster", self._resource)
        for reference in [each for each in done if each in self._starting]:
            self._admit(reference)
        return [each for each in done if each in self._busy]

    def _admit(self, reference: Any) -> None:  # noqa: ANN401 - Ray's
        import ray

        worker = self._starting.pop(reference)
        try:
            installed = ray.get(reference)
        except ray.exceptions.RayError as error:
            self._bad_starts += 1
            if self._bad_starts >= MOST_BAD_STARTS:
                advice = "install the same eyechart on every machine of the cluster"
                raise EngineError("processes that start on the cluster", last_line(error), advice) from error
            return
        if installed != versions():
            raise EngineError(f"{versions()} on every machine", installed, "install the same versions everywhere")
        self._bad_starts = 0
        self._idle.append(worker)

    def _collect(self, reference: Any, step: Step) -> tuple[PendingBatch, pl.DataFrame | None]:  # noqa: ANN401 - Ray's
        """Return a result, or none if the batch is to be retried; raise the step's error."""
        import ray

        worker, job = self._busy.pop(reference)
        try:
            result: pl.DataFrame = ray.get(reference)
        except ray.exceptions.RayTaskError as error:
            self._idle.append(worker)
            raise _explain(error.cause, job.batch) from error
        except ray.exceptions.RayError as error:
            ray.kill(worker)
            job.deaths += 1
            _log.info("a process died on %s: %s", describe(job.batch), last_line(error))
            return job, job.give_up(step, last_line(error)) if job.deaths >= MOST_DEATHS else None
        self._idle.append(worker)
        return job, result

    def _drop_busy(self) -> None:
        """End the processes whose results are no longer needed."""
        import ray

        for worker, _ in self._busy.values():
            ray.kill(worker)
        self._busy = {}


class Ray:
    """Run batches on a Ray cluster: `local` starts one on this machine, `auto` finds the one this machine belongs to.

    A cluster to which this process is already connected is used as it is, and `close` leaves it running.
    """

    def __init__(self, address: str = "local") -> None:
        self.address = address
        is_local = address.partition(":")[0] in _HERE
        self._ray = load_ray(_NO_USAGE_STATS | _LOOPBACK_ONLY if is_local else _NO_USAGE_STATS)
        self._started = not self._ray.is_initialized()
        if self._started:
            connect(self._ray, address)
        self._pools: dict[str, WorkerPool] = {}
        self._stored: tuple[Step, Any] | None = None  # the stored step, and the reference to it

    def map(self, step: Step, batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Apply the step to each batch in any free process."""
        if isinstance(step, PlacedStep) and step.place == "here":
            return map(step, batches)
        return self._pool(step).run(*self._store(step), batches)

    def close(self) -> None:
        """End the processes, and the cluster if it was started here."""
        for pool in self._pools.values():
            pool.close()
        self._pools, self._stored = {}, None
        if self._started:
            self._ray.shutdown()

    def _pool(self, step: Step) -> WorkerPool:
        on_gpu = (
            isinstance(step, PlacedStep) and step.place == "gpu" and self._ray.cluster_resources().get("GPU", 0) >= 1
        )
        resource = "GPU" if on_gpu else "CPU"
        if resource not in self._pools:
            self._pools[resource] = WorkerPool(resource)
        return self._pools[resource]

    def _store(self, step: Step) -> tuple[Step, Any]:
        """Put a step into the object store, unless it is already there."""
        if self._stored is None or self._stored[0] is not step:
            for name, module in list(sys.modules.items()):
                if name.startswith(FILE_MODULE):  # other processes cannot import what was loaded from a file's path
                    self._ray.cloudpickle.register_pickle_by_value(module)
            self._stored = None  # free the old one before the new one arrives
            self._stored = (step, self._ray.put(step))
        return self._stored


def open_ray(rest: str) -> Ray:
    """Open `ray` (only this machine), `ray:auto`, or `ray:ADDRESS`."""
    return Ray(rest or "local")


def load_ray(environment: Mapping[str, str]) -> Any:  # noqa: ANN401 - a module
    """Import Ray, or raise an error that says how to install it."""
    for name, value in environment.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise MissingExtraError("the package ray, for the engine ray", "none", "pip install 'eyechart[ray]'") from None
    return ray


def connect(ray: Any, address: str) -> None:  # noqa: ANN401 - a module
    """Start a cluster of only this machine, or join the one at an address."""
    own = {"include_dashboard": False} if address == "local" else {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **own)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        with suppress(Exception):
            ray.shutdown()
        advice = "start it with `ray start --head`, or write --engine ray to use this machine alone"
        raise EngineError(f"a Ray cluster at {address!r}", last_line(error), advice) from error


def _explain(cause: BaseException, batch: pl.DataFrame) -> BaseException:
    """Add the batch to a step's error; errors for users, and interruptions, are unchanged."""
    if isinstance(cause, EyechartError | InterruptedError):
        return cause
    advice = "check these rows; the cause of this error shows the line of code"
    return EngineError(f"a result for {describe(batch)}", f"{type(cause).__name__}: {cause}", advice)


def describe(batch: pl.DataFrame) -> str:
    """Describe the rows of a batch by their first and last keys."""
    name = "id" if "id" in batch.columns else batch.columns[0]
    first, last = batch[name][0], batch[name][-1]
    return f"the batch of {batch.height} rows with {name} {first!r} to {last!r}"


def last_line(error: BaseException) -> str:
    """Shorten an error to its last line that is not blank."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
