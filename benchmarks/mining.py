"""Time the miner, the matcher and the whole study, the miner against pyfim's `arules`, at the size of VQA v2.

    python benchmarks/mining.py [--quick] [--dense] [--no-peer] [--sizes 10000 50000] [--validation 214000]

Every measurement is a process of its own: processor seconds of the call alone, peak memory of the whole process. pyfim
puts the answer in the head and applies the same thresholds, but has no best answer and no superset filter.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from eyechart.audits.rules import RulesAudit
from eyechart.data.dataset import Dataset
from eyechart.engines import Local
from eyechart.mining import Accepted, MiningSettings, Transactions, match, mine
from mining_data import N_ANSWERS, N_ITEMS, make, make_dataset

SIZES: dict[str, tuple[int, ...]] = {"usual": (10_000, 50_000, 200_000, 413_000), "dense": (10_000, 50_000, 413_000)}
VALIDATION = 214_000
QUICK = 50_000
PEER_LIMIT_S = 900


def save(folder: Path, name: str, data: tuple[Transactions, Accepted]) -> Path:
    """Write examples where a measuring process finds them."""
    transactions, accepted = data
    path = folder / f"{name}.npz"
    np.savez(
        path,
        starts=transactions.starts,
        items=transactions.items,
        answers=transactions.answers,
        accepted_starts=accepted.starts,
        accepted=accepted.answers,
    )
    return path


def load(path: str) -> tuple[Transactions, Accepted]:
    """Read what `save` wrote."""
    arrays = np.load(path)
    transactions = Transactions(arrays["starts"], arrays["items"], arrays["answers"], N_ITEMS, N_ANSWERS)
    return transactions, Accepted(arrays["accepted_starts"], arrays["accepted"])


def time_mining(train: str) -> dict[str, float]:
    """Mine with all filters."""
    warm_up()
    transactions = load(train)[0]
    return timed(lambda: mine(transactions).n)


def time_matching(train: str, validation: str) -> dict[str, float]:
    """Match the mined rules with other examples and their human answers."""
    warm_up()
    rules = mine(load(train)[0])
    transactions, accepted = load(validation)
    found = timed(lambda: int(match(rules, transactions, accepted).counts.sum()))
    return {**found, "rules": rules.n}


def time_peer(train: str) -> dict[str, float]:
    """Mine with pyfim; turning the arrays into its tuples is not counted."""
    import fim

    transactions = load(train)[0]
    rows = np.split(transactions.items, transactions.starts[1:-1])
    answers = (transactions.answers + N_ITEMS).tolist()
    tuples = [(*row.tolist(), answer) for row, answer in zip(rows, answers, strict=True)]
    appear = {None: "body"} | dict.fromkeys(set(answers), "head")
    settings = {"supp": -8, "conf": 30, "zmin": 2, "zmax": 5, "report": "ab", "mode": "o"}
    return timed(lambda: len(fim.arules(tuples, **settings, appear=appear)))


def time_study(data: str) -> dict[str, float]:
    """Go from a saved dataset to a saved study; a first study of few examples has loaded the kernels."""
    RulesAudit().study(make_dataset(500, 500), Local())

    def study() -> int:
        found = RulesAudit().study(Dataset.load(Path(data)), Local())
        found.save(Path(data).parent / "study")
        return found.tables["rules"].height

    return timed(study)


def timed(work: Callable[[], int]) -> dict[str, float]:
    """Run work that returns a count."""
    wall, cpu = time.perf_counter(), time.process_time()
    n = work()
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return {"n": n, "cpu": cpu, "wall": wall, "mb": peak_mb()}


def peak_mb() -> float:
    """Read the most memory this process has had; getrusage would count its parent's."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


TASKS: dict[str, Callable[..., dict[str, float]]] = {
    "mine": time_mining,
    "match": time_matching,
    "peer": time_peer,
    "study": time_study,
}


def measure(task: str, *paths: Path, limit_s: float | None = None) -> dict[str, float]:
    """Run a task in a process of its own."""
    command = [sys.executable, __file__, "--task", task, *map(str, paths)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, timeout=limit_s)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def measure_peer(path: Path) -> dict[str, float] | None:
    """Run the peer; none if it is not installed or takes too long."""
    try:
        return measure("peer", path, limit_s=PEER_LIMIT_S)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as problem:
        print(f"  peer: {type(problem).__name__}", file=sys.stderr)
        return None


def compare(density: str, sizes: tuple[int, ...], folder: Path, *, peer: bool) -> None:
    """Print a row for each size; growth is the exponent from the size above."""
    print("| data | n | rules | CPU s | wall s | peak MB | growth | pyfim CPU s | pyfim peak MB | ratio |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    last = None
    for n in sizes:
        path = save(folder, f"{density}-{n}", make(n, density, seed=0))
        ours, theirs = measure("mine", path), measure_peer(path) if peer else None
        growth = f"{math.log(ours['cpu'] / last[1]) / math.log(n / last[0]):.2f}" if last else ""
        other = (
            f"{theirs['cpu']:.1f} | {theirs['mb']:,.0f} | {theirs['cpu'] / ours['cpu']:.1f}" if theirs else "- | - | -"
        )
        cells = f"{ours['n']:,.0f} | {ours['cpu']:.2f} | {ours['wall']:.2f} | {ours['mb']:,.0f} | {growth} | {other}"
        print(f"| {density} | {n:,} | {cells} |", flush=True)
        last = n, ours["cpu"]


def print_matching(train: Path, validation: int, folder: Path) -> None:
    """Print the row of the matcher."""
    found = measure("match", train, save(folder, "validation", make(validation, "usual", seed=1)))
    print("\n| rules | examples | meetings | CPU s | wall s | peak MB with mining |\n|---|---|---|---|---|---|")
    cells = f"{found['n']:,.0f} | {found['cpu']:.2f} | {found['wall']:.2f} | {found['mb']:,.0f}"
    print(f"| {found['rules']:,.0f} | {validation:,} | {cells} |")


def print_study(train: int, validation: int, folder: Path) -> None:
    """Print the row of the whole study."""
    make_dataset(train, validation).save(folder / "data")
    found = measure("study", folder / "data")
    print("\n| train | judged | rules | CPU s | wall s | peak MB |\n|---|---|---|---|---|---|")
    cells = f"{found['n']:,.0f} | {found['cpu']:.1f} | {found['wall']:.1f} | {found['mb']:,.0f}"
    print(f"| {train:,} | {validation:,} | {cells} |")


def warm_up() -> None:
    """Compile or load the kernels, which is not measured: the latter takes half a second a process."""
    tiny = Transactions.from_rows([[0, 1]], [0], 2, 1)
    match(mine(tiny, MiningSettings(min_support=1), announce=print), tiny)


def main() -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"at most {QUICK:,} examples")
    parser.add_argument("--dense", action="store_true", help="26 labels an image as well as 11")
    parser.add_argument("--no-peer", action="store_true", help="leave pyfim out")
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of examples, of both densities")
    parser.add_argument("--validation", type=int, default=VALIDATION, help="examples the rules are matched with")
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    parser.add_argument("paths", nargs="*", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        print(json.dumps(TASKS[options.task](*options.paths)))
        return
    warm_up()
    with tempfile.TemporaryDirectory() as name:
        sizes = SIZES if options.sizes is None else dict.fromkeys(SIZES, tuple(options.sizes))
        if options.quick:
            sizes = {density: tuple(n for n in of if n <= QUICK) for density, of in sizes.items()}
        for density in ["usual", "dense"] if options.dense else ["usual"]:
            compare(density, sizes[density], Path(name), peer=not options.no_peer and density == "usual")
        largest = sizes["usual"][-1]
        print_matching(Path(name) / f"usual-{largest}.npz", options.validation, Path(name))
        print_study(largest, min(largest, options.validation), Path(name))


if __name__ == "__main__":
    main()
