"""The command line joins a cluster that is running, works there, and leaves it running."""

import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from polars.testing import assert_frame_equal

from eyechart.data.result import Result

START_S = 300  # the first start after an installation takes half a minute of its own


class Running(NamedTuple):
    """A cluster of its own: where it is, its folder, and the environment of those who may join."""

    address: str
    folder: Path
    environment: Mapping[str, str]


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def cluster() -> Iterator[Running]:
    """Start a cluster of two slots on the loopback address, and end its processes, which are one group, alone."""
    pytest.importorskip("ray", reason="the extra ray is not installed")
    folder = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # the path of a socket must be short
    own = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}
    alone = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}
    # Who joins is not told that the cluster is on loopback alone: the address says so.
    others = {name: value for name, value in os.environ.items() if name not in alone}
    running = Running(f"127.0.0.1:{free_port()}", folder, others | own)
    host, _, port = running.address.partition(":")
    options = {"--num-cpus": 2, "--object-store-memory": 100 * 2**20, "--include-dashboard": "false"}
    places = {"--node-ip-address": host, "--port": port, "--temp-dir": folder}
    words = [str(word) for option in (options | places).items() for word in option]
    with (folder / "start.log").open("w") as log:
        head = subprocess.Popen(
            [Path(sys.executable).with_name("ray"), "start", "--head", "--block", *words],
            env=running.environment | alone,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        wait_for(folder / "start.log", head)
        yield running
    finally:
        end_group(head)
        shutil.rmtree(folder, ignore_errors=True)


def wait_for(log: Path, head: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_S
    while "Ray runtime started" not in log.read_text(encoding="utf-8"):
        assert head.poll() is None, log.read_text(encoding="utf-8")
        assert time.monotonic() < deadline, log.read_text(encoding="utf-8")
        time.sleep(0.2)


def end_group(head: "subprocess.Popen[bytes]") -> None:
    """Let the cluster end its processes, then end what is left of its group, and no other."""
    head.terminate()
    with suppress(subprocess.TimeoutExpired):
        head.wait(timeout=120)
    with suppress(ProcessLookupError):
        os.killpg(head.pid, signal.SIGKILL)
    head.wait(timeout=120)


def eyechart(*words: str | Path, environment: Mapping[str, str] | None = None) -> None:
    command = [sys.executable, "-m", "eyechart", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr[-3000:]


def test_the_command_line_joins_a_running_cluster(cluster: Running, tmp_path: Path) -> None:
    data, asked = tmp_path / "data", ("-a", "accuracy", "-m", "world:seer", "--by", "question_type")
    eyechart("read", "world", "-o", data, "--set", "images=40")
    engine = f"ray:{cluster.address}"
    eyechart("audit", data, *asked, "-o", tmp_path / "there", "--engine", engine, environment=cluster.environment)
    eyechart("audit", data, *asked, "-o", tmp_path / "here")

    logs = cluster.folder.glob("session_*/logs/worker-*.out")
    assert any(":actor_name:Worker" in log.read_text(encoding="utf-8") for log in logs), "nothing was done there"
    there, here = (Result.load(next((tmp_path / run).glob("results/*/accuracy"))) for run in ("there", "here"))
    for name in ("measures", "rows", *here.tables):
        assert_frame_equal(there.table(name), here.table(name), check_exact=True)
    with socket.create_connection(cluster.address.split(":"), timeout=60):
        pass  # it still listens: the command has left it as it was
