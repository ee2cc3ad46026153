"""Time Ray on one machine against the local engine, and with one process against two.

    python benchmarks/engines.py [--quick] [--examples 8000] [--only study] [--engines local]

Four kinds of work: the studies of `rules` and of `splits`, from a saved dataset to the study in memory, and asking two
models, of which one takes 2 ms of the processor for each probe and the other waits so long; a quarter of the examples
are asked. Every measurement is a process of its own, which works twice: the first time includes the start of processes
and the loading of kernels there. CPU seconds are those of the second time: of all processes, Ray's own ones included,
of the first process, and of the busiest of the others. On a busy machine seconds by the clock say little; the way
through the work, the first process and then the busiest other one, is about what a quiet machine would take.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from eyechart.audits import make_audit
from eyechart.data.dataset import Dataset
from eyechart.data.protocols import Engine
from eyechart.data.store import Store
from eyechart.engines import Local
from eyechart.engines.ray import Ray, load_ray
from eyechart.models.function import Function
from eyechart.runs.interview import Asking
from eyechart.runs.run import Run
from mining_data import make_dataset as make_rules_data
from splits_data import make_dataset as make_splits_data

ENGINES = {"local": 0, "ray, 1 process": 1, "ray, 2 processes": 2}
SIZES = {"study -a rules": 100_000, "study -a splits": 200_000, "predict, computing": 8_000, "predict, waiting": 8_000}
QUICK = {"study -a rules": 20_000, "study -a splits": 20_000, "predict, computing": 4_000, "predict, waiting": 4_000}
COST_S = 0.002  # of a probe
TICKS = os.sysconf("SC_CLK_TCK")


def compute(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Take a fixed time of the processor for each probe."""
    until = time.process_time() + COST_S * len(rows)
    while time.process_time() < until:
        pass
    return ["red" for _ in rows]


def wait(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Wait a fixed time for each probe."""
    time.sleep(COST_S * len(rows))
    return ["red" for _ in rows]


def study(name: str, folder: Path, engine: Engine) -> None:
    """Study the data of a folder."""
    make_audit(name).study(Dataset.load(folder / "data"), engine)


def predict(model: Function, folder: Path, engine: Engine) -> None:
    """Ask the model everything anew."""
    run = Run(Store(folder / "run"), engine, asking=Asking(batch=128, fresh=True))
    run.start(Dataset.load(folder / "data")).study([make_audit("accuracy")])
    run.probe()
    run.predict(model)


TASKS: dict[str, Callable[[Path, Engine], None]] = {
    "study -a rules": lambda folder, engine: study("rules", folder, engine),
    "study -a splits": lambda folder, engine: study("splits", folder, engine),
    "predict, computing": lambda folder, engine: predict(Function("computing", compute), folder, engine),
    "predict, waiting": lambda folder, engine: predict(Function("waiting", wait), folder, engine),
}


def make_data(task: str, n: int, folder: Path) -> None:
    """Save made-up questions about images."""
    made = make_rules_data(n, n // 2) if task == "study -a rules" else make_splits_data(n)
    made.save(folder / "data")


def cpu_seconds() -> dict[int, float]:
    """Read the processor time of this process and of each that descends from it."""
    parents, used = {}, {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = stat.read_text().rpartition(")")[2].split()
        except OSError:  # gone meanwhile
            continue
        parents[int(stat.parent.name)] = int(words[1])
        used[int(stat.parent.name)] = int(words[11]) + int(words[12])
    mine = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in mine} - mine:
        mine |= more
    return {process: used[process] / TICKS for process in mine if process in used}


def open_engine(processes: int) -> Engine:
    """Start a cluster with so many slots, or none."""
    if not processes:
        return Local()
    load_ray({"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "RAY_USAGE_STATS_ENABLED": "0"}).init(
        address="local", num_cpus=processes, include_dashboard=False, log_to_driver=False, logging_level="error"
    )
    return Ray()


def run_task(task: str, processes: int, folder: Path) -> None:
    """Print the seconds of a start, of the work, and of the same work again."""
    begun = time.perf_counter()
    engine = open_engine(processes)
    found = {"start": time.perf_counter() - begun}
    for name in ("first", "again"):
        begun, cpu = time.perf_counter(), cpu_seconds()
        TASKS[task](folder, engine)
        found[name] = time.perf_counter() - begun
        spent = {process: seconds - cpu.get(process, 0) for process, seconds in cpu_seconds().items()}
        own = spent.pop(os.getpid())
        busiest = max(spent.values(), default=0)
        found |= {"cpu": own + sum(spent.values()), "own": own, "busiest": busiest, "way": own + busiest}
    print(json.dumps(found))


def measure(task: str, processes: int, folder: Path) -> dict[str, float]:
    """Run a task in a process of its own."""
    command = [sys.executable, __file__, "--task", task, "--processes", str(processes), str(folder)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def compare(sizes: Mapping[str, int], engines: Sequence[str]) -> None:
    """Print a row for each engine and kind of work."""
    names = {"start": "start s", "first": "first s", "again": "again s", "cpu": "CPU s", "own": "first process CPU s"}
    names |= {"busiest": "busiest other CPU s", "way": "way, CPU s"}
    print(f"| work | examples | engine | {' | '.join(names.values())} |")
    print("|---" * (3 + len(names)) + "|")
    for task, n in sizes.items():
        with tempfile.TemporaryDirectory() as folder:
            make_data(task, n, Path(folder))
            for name in engines:
                one = measure(task, ENGINES[name], Path(folder))
                print(f"| {task} | {n:,} | {name} | {' | '.join(f'{one[key]:.1f}' for key in names)} |", flush=True)
    print(f"\nload {os.getloadavg()[1]:.0f} on {os.cpu_count()} cores, Polars {pl.__version__}")


def main() -> None:
    """Compare, or be one of the measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer examples")
    parser.add_argument("--examples", type=int, help="as many for every kind of work")
    parser.add_argument("--only", default="", help="a word in the names of the kinds of work to measure")
    parser.add_argument("--engines", nargs="+", choices=ENGINES, default=tuple(ENGINES))
    parser.add_argument("--task")
    parser.add_argument("--processes", type=int, default=0)
    parser.add_argument("folder", nargs="?", type=Path)
    given = parser.parse_args()
    if given.task:
        run_task(given.task, given.processes, given.folder)
    else:
        sizes = {task: given.examples or n for task, n in (QUICK if given.quick else SIZES).items()}
        compare({task: n for task, n in sizes.items() if given.only in task}, given.engines)


if __name__ == "__main__":
    main()
