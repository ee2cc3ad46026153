"""Measure the time and memory of every arrow as data grow.

    python benchmarks/scale.py [--sizes 10000 100000] [--only study] [--skip decoys] [--place FOLDER]
    python benchmarks/scale.py --draw          tables, and the figures of docs/scale.md, from what was measured so far

Every arrow is a process of its own through the command line. What is measured is added to `results/scale.json` at once
and not measured again, so this can be stopped and run in parts; `--place` keeps the data and the runs between parts.
An arrow that takes more than the budget, or whose forerunner did, is written down as stopped, with the reason.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import record
from children import EYECHART, Limits, Spent, run
from record import Row
from scale_arrows import ARROWS, Arrow
from scale_figures import draw

SIZES = (10_000, 100_000, 1_000_000, 10_000_000)
SECONDS, MEGABYTES = 600, 12_000  # of processor time and of memory: the budget of one arrow
HOURS = "timings of one machine, hours of it: run the command again"
DATA = Path(__file__).with_name("scale_data.py")


def add(row: Row) -> None:
    """Write down a measurement in the place of an older one."""
    others = [one for one in record.load_rows("scale") if (one["arrow"], one["n"]) != (row["arrow"], row["n"])]
    ordered = sorted([*others, row], key=lambda one: (list(ARROWS).index(one["arrow"]), one["n"]))
    record.keep("scale", ordered, command="python benchmarks/scale.py", recorded=HOURS)


def measure(arrow: Arrow, n: int, folder: Path) -> Row:
    """Run an arrow, after those it needs, unless one of these stopped."""
    for before in arrow.after:
        found = known(before, n, folder)
        if found["stopped"]:
            return {"arrow": arrow.name, "n": n, "stopped": f"after `{before}`, which stopped"}
    # Made elsewhere: a child that is measured begins as a copy of this process, which must therefore stay small.
    made = run([sys.executable, str(DATA), arrow.data, str(n), str(folder)])
    if made.code:
        raise SystemExit(f"no data: {made.last}")
    spent = run([*EYECHART, *arrow.words(folder)], Limits(resident_mb=MEGABYTES, seconds=SECONDS))
    row: Row = {"arrow": arrow.name, "n": n, "stopped": why_stopped(spent)}
    return row | {"wall": round(spent.wall, 2), "cpu": round(spent.cpu, 2), "mb": round(spent.mb, 1)}


def known(name: str, n: int, folder: Path) -> Row:
    """Look up a measurement whose files are there, or make it."""
    done = folder / f"{name}.done"
    rows = [row for row in record.load_rows("scale") if (row["arrow"], row["n"]) == (name, n)]
    if rows and (rows[0]["stopped"] or done.is_file()):
        return rows[0]
    row = measure(ARROWS[name], n, folder)
    add(row)
    if not row["stopped"]:
        done.touch()
    print(json.dumps(row), flush=True)
    return row


def why_stopped(spent: Spent) -> str:
    """Say why an arrow did not end well; nothing if it did."""
    if spent.code == 0:
        return ""
    if spent.code in (-9, -24) and spent.cpu >= 0.98 * SECONDS:  # what its threads did last may not be counted
        return f"over {SECONDS} s of processor time"
    if "memory" in spent.last.lower() or spent.code == -6:
        return f"over {MEGABYTES / 1000:.0f} GB"
    return f"exit {spent.code}: {spent.last[:150]}"


def chosen(only: Sequence[str], skip: Sequence[str]) -> Iterator[str]:
    """Name the arrows that hold one of the words, and none of those to be skipped."""
    for name in ARROWS:
        if (not only or any(word in name for word in only)) and not any(word in name for word in skip):
            yield name


def main() -> None:
    """Measure what is asked for, or draw what was measured."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES)
    parser.add_argument("--only", nargs="*", default=(), help="words in the names of the arrows to measure")
    parser.add_argument("--skip", nargs="*", default=(), help="words in the names of the arrows to leave out")
    parser.add_argument("--place", type=Path, help="where data and runs are kept; default: a temporary folder")
    parser.add_argument("--draw", action="store_true", help="print the tables and draw the figures instead")
    given = parser.parse_args()
    if given.draw:
        draw(record.load_rows("scale"))
        return
    with tempfile.TemporaryDirectory() as temporary:
        for n in given.sizes:
            folder = (given.place or Path(temporary)) / str(n)
            folder.mkdir(parents=True, exist_ok=True)
            for name in chosen(given.only, given.skip):
                known(name, n, folder)


if __name__ == "__main__":
    main()
