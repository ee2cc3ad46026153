"""Run steps in a process of a cluster; this module imports nothing heavy, as it first limits the threads of others."""

import os
from importlib.metadata import version
from typing import Any

ALIKE = ("eyechart", "polars", "numpy")  # must be the same everywhere, or results depend on where they are computed


def versions() -> str:
    """List the versions that must be the same in all processes."""
    return ", ".join(f"{name} {version(name)}" for name in ALIKE)


class Worker:
    """One slot of a cluster, which keeps the last step, so that a model is opened once, not once per batch."""

    def __init__(self, threads: int) -> None:
        # Read when Polars is loaded, with the first batch. Sums of floats may depend on the number of threads
        # in their last bit, so all processes use as many as the first one.
        os.environ["POLARS_MAX_THREADS"] = str(threads)
        self._name = ""
        self._step: Any = None

    def ready(self) -> str:
        """Report that the process has started, and its versions."""
        return versions()

    def work(self, name: str, stored: list[Any], batch: Any) -> Any:  # noqa: ANN401 - a table, which is not loaded yet
        """Apply the step of this name to a batch, fetching a new step from the object store."""
        if name != self._name:
            import ray

            self._step, self._name = None, ""  # free the old one before the new one arrives
            self._step, self._name = ray.get(stored[0]), name
        return self._step(batch)
