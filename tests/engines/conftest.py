"""One small Ray cluster for all tests of a process, seen by this machine alone."""

import os
import signal
from collections.abc import Iterator
from types import FrameType

import pytest

from eyechart.engines.ray import Ray

os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # read when Ray is imported: loopback only
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

PATIENCE_S = 180  # a cluster that hangs must not hang the tests


@pytest.fixture(autouse=True)
def _never_for_ever() -> Iterator[None]:
    def give_up(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"a test on Ray took more than {PATIENCE_S} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture(scope="session")
def engine() -> Iterator[Ray]:
    """Start two slots."""
    ray = pytest.importorskip("ray", reason="the extra ray is not installed")
    ray.init(
        address="local",
        num_cpus=2,
        object_store_memory=100 * 2**20,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="error",
    )
    opened = Ray()
    yield opened
    opened.close()
    ray.shutdown()
