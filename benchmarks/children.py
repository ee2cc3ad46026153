"""Run a command in a process of its own, under a limit of memory if asked, and tell what it took."""

import math
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

# Polars hands memory and addresses back at once, where by default it keeps them for a while.
FRUGAL = "retain:false,dirty_decay_ms:0,muzzy_decay_ms:0"
PAUSE = 0.05  # seconds between two looks at a process
EYECHART = (sys.executable, "-m", "eyechart")


class Spent(NamedTuple):
    """Seconds, peak megabytes in memory, the exit code (negative: the signal) and the last line it printed."""

    wall: float
    cpu: float
    mb: float
    code: int
    last: str


class Limits(NamedTuple):
    """What a process may use; going over it ends the process.

    `resident_mb` is memory that is resident, which is looked at twenty times a second and once more at the end.
    `data_mb` is private writable memory, counted when it is asked for, touched or not (RLIMIT_DATA): stricter, and
    met at once. Under either the allocator of Polars is told to hand back what it no longer uses.
    `seconds` is processor time.
    """

    resident_mb: float | None = None
    data_mb: float | None = None
    seconds: float | None = None


UNLIMITED = Limits()


def run(command: Sequence[str], limits: Limits = UNLIMITED) -> Spent:
    """Run a command under limits."""
    before = time.perf_counter()
    with tempfile.TemporaryFile() as output:
        bounds = [str(bound or 0) for bound in (limits.data_mb, limits.seconds)]
        child = subprocess.Popen(
            [sys.executable, __file__, *bounds, *command], stdout=output, stderr=output, env=_environment(limits)
        )
        status, used = _watch(child.pid, limits.resident_mb or math.inf)
        wall = time.perf_counter() - before
        output.seek(0)
        lines = output.read().decode(errors="replace").strip().splitlines()
    child.returncode = os.waitstatus_to_exitcode(status)
    mb = used.ru_maxrss * 1024 / 1e6
    over = [f"over {limits.resident_mb:,.0f} MB of memory"] if mb > (limits.resident_mb or math.inf) else []
    telling = [*over, *(line for line in lines if "failed" in line or "rror" in line), *lines[-1:], ""]
    return Spent(wall, used.ru_utime + used.ru_stime, mb, child.returncode or len(over), telling[0])


def _watch(process: int, most: float) -> tuple[int, resource.struct_rusage]:
    """Wait for a process, and kill it when more than so many megabytes of it are resident."""
    while True:
        found, status, used = os.wait4(process, os.WNOHANG)
        if found:
            return status, used
        if _resident(process) > most:
            os.kill(process, signal.SIGKILL)
        time.sleep(PAUSE)


def _resident(process: int) -> float:
    """Read the megabytes of a process that are resident; 0 where it has just ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) * 1024 / 1e6 for line in lines if line.startswith("VmRSS"))


def _environment(limits: Limits) -> dict[str, str]:
    plain = os.environ | {"RUST_BACKTRACE": "0", "NO_COLOR": "1"}
    bound = limits.resident_mb or limits.data_mb
    return plain | {"_RJEM_MALLOC_CONF": FRUGAL} if bound else plain


def _become(data_mb: str, seconds: str, *command: str) -> None:
    """Set the limits of this process, 0 for none, and become the command."""
    for kind, limit in ((resource.RLIMIT_DATA, float(data_mb) * 1e6), (resource.RLIMIT_CPU, float(seconds))):
        if limit:
            resource.setrlimit(kind, (int(limit), int(limit)))
    os.execv(command[0], command)  # noqa: S606 - what a benchmark measures


if __name__ == "__main__":
    _become(*sys.argv[1:])
