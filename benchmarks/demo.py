"""What `eyechart demo` as it stands takes, against an older version in the same run.

    git worktree add --detach ../before b25d05e
    python benchmarks/demo.py --before ../before [--runs 3] [--record]

The versions take turns, each in a process of its own from its own source, after one run each that compiles kernels and
is not counted. Other work on the machine slows both.
"""

import argparse
import os
import statistics
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import record
from children import EYECHART, run
from layouts import LAYOUTS
from tables import report

PROJECT = Path(__file__).resolve().parent.parent


def measure(source: Path, *, images: int) -> record.Row:
    """Run the demo from a source tree, and tell its seconds."""
    os.environ["PYTHONPATH"] = str(source / "src")  # of the process that is started
    with tempfile.TemporaryDirectory() as folder:
        spent = run((*EYECHART, "demo", "--images", str(images), "-o", f"{folder}/demo"))
    if spent.code:
        sys.exit(f"the demo failed in {source}: {spent.last}")
    return {"wall": round(spent.wall, 1), "cpu": round(spent.cpu, 1), "mb": round(spent.mb)}


def measure_in_turns(sources: Mapping[str, Path], runs: int, images: int, *, warm: bool) -> list[record.Row]:
    """Run the demo of each version in turns, after one run each that is not counted."""
    for source in sources.values() if warm else ():
        measure(source, images=images)
    rows: list[record.Row] = []
    for number in range(runs):
        for version, source in sources.items():
            rows.append({"version": version, "run": number, "images": images} | measure(source, images=images))
            print(rows[-1], file=sys.stderr)
    return rows


def main() -> None:
    """Measure both versions in turn and say which share of the older one's time the demo takes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="a checkout of the older version")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--images", type=int, default=1000)
    parser.add_argument("--warm", action="store_true", help="kernels are compiled: count the first run as well")
    record.add_flag(parser)
    given = parser.parse_args()
    sources = ({"before": given.before.resolve()} if given.before else {}) | {"now": PROJECT}
    rows = measure_in_turns(sources, given.runs, given.images, warm=not given.warm)
    cpu = {version: statistics.median(row["cpu"] for row in rows if row["version"] == version) for version in sources}
    report("demo", LAYOUTS["demo"], rows, kept=False)
    if given.before:
        print(f"now: {cpu['now'] / cpu['before']:.0%} of the processor seconds of before")
    if given.record:
        record.keep("demo", rows, recorded="timings of one machine, which other work shared")


if __name__ == "__main__":
    main()
