"""One small Ray cluster for all tests of a process, seen by this machine alone."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from eyechart.engines.ray import Ray

os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")  # read when Ray is imported: loopback only
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

PATIENCE_S = 900  # a cluster that hangs must not hang the tests, and one on a busy machine does not hang


@pytest.fixture(autouse=True)
def _never_for_ever() -> Iterator[None]:
    def give_up(_signal: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"a test on Ray took more than {PATIENCE_S} s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_S)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def found_by(tmp_path: Path) -> Callable[[str], dict[str, Any]]:
    """Run a script in a process of its own, which may have a cluster of its own, and read the found.json it writes."""
    pytest.importorskip("ray", reason="the extra ray is not installed")
    script = Path(__file__).parent / "scripts"

    def run(name: str) -> dict[str, Any]:
        command = [sys.executable, script / name, tmp_path]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S - 10)
        assert done.returncode == 0, done.stderr[-3000:]
        found: dict[str, Any] = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
        return found

    return run


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
