"""The engine of many processes, on this machine or on the many of a Ray cluster.

A step goes into the object store once, with the arrays and tables it holds; each process fetches it once and keeps it
as long as batches for it come. Batches and results travel as tables, a few at a time. Which process gets which batch is
left to chance: so steps give the same result for a batch wherever they run, and results are put in key order.
"""

import logging
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

import polars as pl

from eyechart.engines.crew import Crew, Stored, last_line
from eyechart.errors import EngineError, MissingExtraError
from eyechart.protocols import Placed, Step
from eyechart.registry import FILE_MODULE

# Read by Ray when it is imported.
_UNTOLD = {"RAY_USAGE_STATS_ENABLED": "0"}  # nobody is told that and how it is used
_ALONE = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}  # a cluster of this machine alone listens on loopback only
_HERE = ("local", "127.0.0.1", "localhost")  # without the setting above Ray looks for these elsewhere, and for ever


class Ray:
    """Run batches on a Ray cluster: `local` starts one on this machine, `auto` finds the one it belongs to.

    A cluster to which this process is connected already is used as it is, and left so by `close`.
    """

    def __init__(self, address: str = "local") -> None:
        self.address = address
        self._ray = load_ray(_UNTOLD | _ALONE if address.partition(":")[0] in _HERE else _UNTOLD)
        self._started = not self._ray.is_initialized()
        if self._started:
            connect(self._ray, address)
        self._crews: dict[str, Crew] = {}
        self._stored: Stored | None = None

    def map(self, step: Step, batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Apply the step to each batch where there is a free process."""
        if isinstance(step, Placed) and step.place == "here":
            return map(step, batches)
        return self._crew(step).run(self._store(step), batches)

    def close(self) -> None:
        """End the processes, and the cluster if it was started here."""
        for crew in self._crews.values():
            crew.close()
        self._crews, self._stored = {}, None
        if self._started:
            self._ray.shutdown()

    def _crew(self, step: Step) -> Crew:
        wanted = isinstance(step, Placed) and step.place == "gpu" and self._ray.cluster_resources().get("GPU", 0) >= 1
        resource = "GPU" if wanted else "CPU"
        if resource not in self._crews:
            self._crews[resource] = Crew(resource)
        return self._crews[resource]

    def _store(self, step: Step) -> Stored:
        """Put a step into the object store, unless it is the one that lies there."""
        if self._stored is None or self._stored.step is not step:
            for name, module in list(sys.modules.items()):
                if name.startswith(FILE_MODULE):  # other processes cannot import what was loaded from a file's path
                    self._ray.cloudpickle.register_pickle_by_value(module)
            self._stored = None  # the old one goes before the new one comes
            self._stored = Stored(step, self._ray.put(step))
        return self._stored


def open_ray(rest: str) -> Ray:
    """Open `ray` (this machine alone), `ray:auto`, or `ray:ADDRESS`."""
    return Ray(rest or "local")


def load_ray(environment: Mapping[str, str]) -> Any:  # noqa: ANN401 - a module
    """Import Ray, or say how it is installed."""
    for name, value in environment.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise MissingExtraError("the package ray for the engine ray", "none", "pip install 'eyechart[ray]'") from None
    return ray


def connect(ray: Any, address: str) -> None:  # noqa: ANN401 - a module
    """Start a cluster of this machine alone, or join the one at an address."""
    own = {"include_dashboard": False} if address == "local" else {}
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **own)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        with suppress(Exception):
            ray.shutdown()
        advice = "start it with `ray start --head`, or write --engine ray for this machine alone"
        raise EngineError(f"a Ray cluster at {address!r}", last_line(error), advice) from error
