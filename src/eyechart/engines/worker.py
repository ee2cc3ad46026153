"""A process of a cluster at work; it imports nothing heavy itself, as it first sets how many threads others may use."""

import os
from importlib.metadata import version
from typing import Any

ALIKE = ("eyechart", "polars", "numpy")  # must be the same everywhere, or a result depends on where it was found


def versions() -> str:
    """List the versions that must be the same in all processes."""
    return ", ".join(f"{name} {version(name)}" for name in ALIKE)


class Worker:
    """One slot of a cluster, which keeps the last step: so a model is opened once, and not once for each batch."""

    def __init__(self, threads: int) -> None:
        # Read when Polars is loaded, which is with the first batch. Sums of floats may depend on the number of threads
        # in their last bit, so all processes have as many as the first one.
        os.environ["POLARS_MAX_THREADS"] = str(threads)
        self._name = ""
        self._step: Any = None

    def ready(self) -> str:
        """Report that the process has started, and its versions."""
        return versions()

    def work(self, name: str, stored: list[Any], batch: Any) -> Any:  # noqa: ANN401 - a table, which is not loaded yet
        """Apply the step of this name to a batch; a new one is fetched from the object store."""
        if name != self._name:
            import ray

            self._step, self._name = None, ""  # the old one goes before the new one comes
            self._step, self._name = ray.get(stored[0]), name
        return self._step(batch)
