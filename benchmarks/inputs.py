"""Read damaged files of every kind with everything that reads files, and count what becomes of them.

    python benchmarks/inputs.py [--cases 10000] [--minutes 60] [--only READER] [--case NUMBER] [--anew] [--record]

Each reader gets the same numbered cases on every machine. With --record the counts are kept after each round, and the
next call goes on where the last one stopped; --anew begins at case 0, as is right after a change of the readers. A case
is at fault if it ends with anything but an error of one line (`tracebacks`), if rows are neither read nor counted
(`silent`), if content from outside of its folder is read (`let_in`), if it takes more than 10 s (`hangs`), or more
memory than 500 MB and ten times the files unpacked (`memory`).
"""

import argparse
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import IO, cast

import record
from inputs_targets import KINDS, SECRET, TARGETS, Case, LostRowsError, draw, read_case
from tables import Layout, report, table

SECONDS = 10  # of the processor, for a case; one that waits three times as long is ended, too
STARTING = 300  # seconds until the first case is read: some readers need a trained model
MEMORY_MB, TIMES = 500, 10
ROUND = 100  # cases of a reader before the next reader has its turn
LONGEST = 3_000  # characters of an error of one line
FAULTS = ("tracebacks", "silent", "let_in", "hangs", "memory")
FATES = ("read", "refused", *FAULTS)
_FATE_COLUMNS = " | ".join(f"{{{fate}:,}}" for fate in FATES)
_HEAD = "cases | read | refused | tracebacks | silent | let in | over 10 s | memory |"
LAYOUTS: dict[str, Layout] = {
    "readers": table(f"| reader | {_HEAD}", f"| {{name}} | {{cases:,}} | {_FATE_COLUMNS} |", "readers"),
    "kinds": table(f"| damage | {_HEAD}", f"| {{name}} | {{cases:,}} | {_FATE_COLUMNS} |", "kinds"),
}


def main() -> None:
    """Go through the readers in rounds until each has had its cases, or the time is over."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000, help="of each reader")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="to stop after")
    parser.add_argument("--only", help="the readers whose names contain this")
    parser.add_argument("--case", type=int, help="read this case alone, and show its error")
    parser.add_argument("--anew", action="store_true", help="forget the cases recorded so far")
    parser.add_argument("--worker", type=int, nargs=2, metavar=("START", "STOP"), help=argparse.SUPPRESS)
    record.add_flag(parser)
    given = parser.parse_args()
    names = [name for name in TARGETS if (given.only or "") in name]
    if given.worker:
        work(given.only, *given.worker)
    elif given.case is not None:
        show(names[0], given.case)
    else:
        go_round(names, given)


def go_round(names: list[str], given: argparse.Namespace) -> None:
    """Give each reader its turn, and keep the counts after each round."""
    counts = {} if given.anew else {(row["table"], row["name"]): row for row in record.load_rows("inputs")}
    end = time.monotonic() + 60 * given.minutes
    left = True
    while left and time.monotonic() < end:
        left = False
        for name in names:
            start = counts.get(("readers", name), {}).get("cases", 0)
            stop = min(start + ROUND, given.cases)
            if start >= stop or time.monotonic() >= end:
                continue
            left = True
            for number, fate, detail in run_cases(name, start, stop):
                for key in (("readers", name), ("kinds", KINDS[number % len(KINDS)])):
                    row = counts.setdefault(
                        key, dict(zip(("table", "name"), key, strict=True)) | dict.fromkeys(("cases", *FATES), 0)
                    )
                    row["cases"] += 1
                    row[fate] += 1
                if fate in FAULTS:
                    print(f"{name}, case {number}: {fate}: {detail}", flush=True)
            if given.record:
                record.keep("inputs", ordered(counts), recorded="hours; each call goes on where the last one stopped")
    report("inputs", LAYOUTS, ordered(counts), kept=False)


def ordered(counts: dict[tuple[str, str], record.Row]) -> list[record.Row]:
    """Sort the rows: readers first, in our order."""
    order = [*(("readers", name) for name in TARGETS), *(("kinds", kind) for kind in KINDS)]
    return [counts[key] for key in order if key in counts]


def run_cases(name: str, start: int, stop: int) -> Iterator[tuple[int, str, str]]:
    """Read cases in a process of its own; one that says nothing for long is ended, and its case is a hang."""
    while start < stop:
        command = [sys.executable, __file__, "--only", name, "--worker", str(start), str(stop)]
        worker = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0)
        lines, ready, patience = cast("IO[bytes]", worker.stdout), True, STARTING
        while ready := bool(select.select([lines], [], [], patience)[0]):
            line = lines.readline()
            if not line:
                break
            patience = 3 * SECONDS
            number, fate, detail = json.loads(line)
            start = number + 1
            yield number, fate, detail
        if not ready:
            worker.kill()
        code = worker.wait()
        if start < stop:
            yield start, "tracebacks" if ready else "hangs", f"the process ended with {code}"
            start += 1


def work(name: str, start: int, stop: int) -> None:
    """Read cases one by one, and write a line about each."""
    warnings.simplefilter("ignore")
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    signal.signal(signal.SIGPROF, _stop)
    warm_up(name)
    for number in range(start, stop):
        fate, detail = judge(name, number)
        out.write(json.dumps([number, fate, detail]) + "\n")
        out.flush()


def warm_up(name: str) -> None:
    """Read sound files, so that the libraries are imported before any time is taken."""
    from eyechart.formats import descriptions

    descriptions()  # which imports all readers
    target = TARGETS[name]
    seed = target.seeds()[0]
    with tempfile.TemporaryDirectory() as folder, suppress(Exception):
        read_case(target, Case("", seed.write(seed.content)), Path(folder))


def judge(name: str, number: int) -> tuple[str, str]:
    """Read a case, and say what became of it."""
    from eyechart.base.errors import EyechartError

    target = TARGETS[name]
    case = draw(target, name, number)
    allowed = MEMORY_MB + TIMES * sum(map(len, case.files.values())) / 1e6
    with tempfile.TemporaryDirectory(prefix="inputs-") as above:
        folder = Path(above) / "it"
        folder.mkdir()
        (Path(above) / "secret.png").write_bytes(SECRET)
        (Path(above) / "secret.json").write_bytes(SECRET)
        (folder / "link.png").symlink_to(Path(above) / "secret.png")
        os.mkfifo(folder / "pipe.png")
        _forget_peak()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # other work on the machine is no hang
        try:
            read_case(target, case, folder)
            fate = "read", ""
        except EyechartError as error:
            text = str(error)
            is_line = "\n" not in text and len(text) < LONGEST
            fate = ("refused", "") if is_line else ("tracebacks", f"an error of {len(text)} characters")
        except LostRowsError as error:
            fate = "silent", str(error)
        except PermissionError as error:
            fate = "let_in", str(error)
        except TimeoutError:
            fate = "hangs", _place()
        except BaseException as error:  # noqa: BLE001 - whatever would reach the user
            fate = "tracebacks", f"{case.kind}: {type(error).__name__}: {str(error)[:200]} {_place()}"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
    peak = _peak_mb()
    return ("memory", f"{case.kind}: {peak:.0f} MB") if peak > allowed and fate[0] in {"read", "refused"} else fate


def show(name: str, number: int) -> None:
    """Read one case with its traceback."""
    case = draw(TARGETS[name], name, number)
    print(case.kind, {key: (len(data), data[:300]) for key, data in case.files.items()}, case.rows)
    with tempfile.TemporaryDirectory() as folder:
        try:
            read_case(TARGETS[name], case, Path(folder))
        except BaseException:  # noqa: BLE001 - as above
            traceback.print_exc()


def _stop(signal_number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - what signals call
    raise TimeoutError


def _place() -> str:
    """Say which of our lines raised the error."""
    last = [each for each in traceback.extract_tb(sys.exc_info()[2]) if "/eyechart/" in each.filename]
    return f"({Path(last[-1].filename).name}, line {last[-1].lineno})" if last else ""


def _forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak_mb() -> float:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1000


if __name__ == "__main__":
    main()
