"""Start a server in a process of its own, and end it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import urlopen

MISBEHAVING = Path(__file__).with_name("misbehaving.py")


class Served(NamedTuple):
    """A server that misbehaves on request."""

    url: str

    def seen(self, model: str) -> list[dict[str, Any]]:
        """Tell the requests for a model so far."""
        with urlopen(f"{self.url}/seen") as reply:  # noqa: S310 - on loopback
            return [one for one in json.load(reply) if one["model"] == model]


@contextmanager
def misbehaving() -> Iterator[Served]:
    """Serve until the block ends."""
    with subprocess.Popen([sys.executable, MISBEHAVING], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Served(f"http://127.0.0.1:{int(process.stdout.readline())}/v1")
        finally:
            process.kill()
