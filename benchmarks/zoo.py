"""The study of the zoo: every method and network on the planted world, trained on one GPU, judged by the audits.

    python benchmarks/zoo.py prepare runs/zoo                      # here: worlds, studies, probes, bundle.npz
    python benchmarks/zoo.py train runs/zoo --out shard-1.npz      # where the GPU is; torch and NumPy are enough
    python benchmarks/zoo.py judge runs/zoo shard-1.npz ...        # here: by the audits, writes runs/zoo/rows.json
    python benchmarks/zoo.py table runs/zoo                        # adds them to results/zoo.json; draws its figure
    python benchmarks/zoo.py time runs/zoo --only "mcan plain;mac hint"  # where the GPU is: what an epoch takes
    python benchmarks/zoo.py forecast runs/zoo --workers 15        # where the GPU is: how many shards all rows take

`train` stops after `--minutes` and leaves out rows that lie in `runs/zoo/done/*.npz` or stand in the results, so that
the study goes on where it stopped, on the same machine or another; rows it did not finish wait in `runs/zoo/part`.
`time` lets `--workers` processes train the same pair side by side, then the next one; with `--compile` both ways.
`forecast` trains one seed of each pair, which the study has not, for few epochs in the study's way, within `--minutes`.
`--quick` prepares a small world and trains few rows for few epochs; it is not for `table`.
"""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from zoo_crew import Shift
    from zoo_rows import Row

sys.path.insert(0, str(Path(__file__).parent))

IMAGES, QUICK_IMAGES = 10_000, 1500
QUICK = ("updn plain-ce", "updn lpf", "question-only plain", "prior plain")
QUICK_EPOCHS = 12


def main() -> None:
    """Do one of the six."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=tuple(VERBS))
    parser.add_argument("folder", type=Path)
    parser.add_argument("shards", type=Path, nargs="*")
    parser.add_argument("--out", type=Path, default=Path("shard.npz"))
    parser.add_argument("--minutes", type=float, default=8)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--only", default="", help="only these rows, as `updn lmh;san plain`")
    parser.add_argument("--images", type=int)
    parser.add_argument("--epochs", type=int)
    parser.add_argument("--device", default="auto")
    parser.add_argument("--compile", action="store_true", help="compile the steps: for deep networks and RMFE")
    parser.add_argument("--again", action="store_true", help="train rows that stand in the results as well")
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    VERBS[given.verb](given)


def _prepare(given: argparse.Namespace) -> None:
    from zoo_prepare import prepare

    prepare(given.folder, given.images or (QUICK_IMAGES if given.quick else IMAGES))


def _train(given: argparse.Namespace) -> None:
    from eyechart.zoo.arrays import read_arrays
    from zoo_crew import train_all
    from zoo_rows import all_rows
    from zoo_table import load

    done = {key.partition("/")[0] for file in given.folder.glob("done/*.npz") for key in read_arrays(file)}
    done |= set() if given.quick or given.again else set(load())
    rows = _wanted(all_rows((0,)) if given.quick else all_rows(), given)
    todo = [row for row in rows if row.name not in done]
    print(f"{len(rows)} rows, {len(rows) - len(todo)} done before", flush=True)
    epochs = given.epochs or (QUICK_EPOCHS if given.quick else None)
    workers = given.workers or (1 if given.quick else 12)
    train_all(todo, _shift(given, workers, epochs))


def _wanted(rows: list["Row"], given: argparse.Namespace) -> list["Row"]:
    wanted = QUICK if given.quick else given.only.split(";") if given.only else ()
    return [row for row in rows if not wanted or row.pair in wanted]


def _time(given: argparse.Namespace) -> None:
    from zoo_time import time_pairs

    time_pairs((given.only or "updn plain").split(";"), _shift(given, given.workers or 12, given.epochs))


def _forecast(given: argparse.Namespace) -> None:
    from zoo_forecast import forecast
    from zoo_rows import SEEDS, all_rows

    another = (len(SEEDS),)
    forecast(_wanted(all_rows(another), given), _shift(given, given.workers or 12, given.epochs))


def _shift(given: argparse.Namespace, workers: int, epochs: int | None) -> "Shift":
    from zoo_crew import Shift

    return Shift(given.folder / "bundle.npz", given.out, given.minutes, workers, epochs, given.device, given.compile)


def _judge(given: argparse.Namespace) -> None:
    from zoo_judge import judge

    judge(given.folder, given.shards or sorted(given.folder.glob("done/*.npz")))


def _table(given: argparse.Namespace) -> None:
    from zoo_figure import draw
    from zoo_table import keep, load

    keep(given.folder)
    draw(load())


VERBS = {
    "prepare": _prepare,
    "train": _train,
    "judge": _judge,
    "table": _table,
    "time": _time,
    "forecast": _forecast,
}

if __name__ == "__main__":
    main()
