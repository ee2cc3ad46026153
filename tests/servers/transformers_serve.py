"""Serve a model of transformers with `transformers serve`, in a process of its own."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

START = 120  # seconds that a server may take


@contextmanager
def serving(model: Path, cache: Path) -> Iterator[str]:
    """Serve until the block ends; `cache` is an empty folder, without which the server says that it is not healthy."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = [Path(sys.executable).with_name("transformers"), "serve", model, "--device", "cpu"]
    with (
        (cache / "log.txt").open("w") as log,
        subprocess.Popen(
            [*words, "--host", "127.0.0.1", "--port", str(port)],
            env=os.environ | {"HF_HUB_OFFLINE": "1", "HF_HUB_CACHE": str(cache)},
            stdout=log,
            stderr=log,
        ) as process,
    ):
        try:
            _wait(f"http://127.0.0.1:{port}/health", process)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            process.kill()


def _wait(health: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(START * 10):
        assert process.poll() is None, "the server has stopped"
        try:
            with urlopen(health):  # noqa: S310 - on loopback
                return
        except (URLError, OSError):
            time.sleep(0.1)
    pytest.fail(f"the server did not start within {START} seconds")
