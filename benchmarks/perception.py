"""Show what the default plan of the perception audit costs and whether its intervals hold.

    python benchmarks/perception.py [--repeats 500] [--worlds 10] [--images 1000] [--large 20000] [--only MODEL]

Widths: the default plan (4 draws an example) and the paper's protocol (5 draws, 5 repeats) in the same worlds.
Coverage: many small worlds, each audited with the default plan; the truth is that of the mixture's members in a world
of 20,000 images, in their shares. Everything runs in memory.
"""

import argparse
import time

import numpy as np
import polars as pl

import eyechart
from eyechart import Dataset
from eyechart.audits.perception import PerceptionAudit
from eyechart.data.predictions import Predictions
from eyechart.data.result import Result
from eyechart.engines.local import Local
from eyechart.models import load
from eyechart.models.asking import AnswerStep, ask

MODELS = (
    "seer",
    "cheater",
    "mix:seer=0.9,blind=0.1",
    "mix:seer=0.7,blind=0.3",
    "mix:seer=0.5,cheater=0.5",
    "mix:seer=0.4,blind=0.3,deaf=0.3",
    "mix:seer=0.2,guesser=0.8",
)
COVERED = {
    "mix:seer=0.5,blind=0.5": {"seer": 0.5, "blind": 0.5},
    "mix:seer=0.2,blind=0.5,deaf=0.3": {"seer": 0.2, "blind": 0.5, "deaf": 0.3},
}
MODALITIES = ("image", "question")


def run(audit: PerceptionAudit, data: Dataset, model: str) -> tuple[Result, int]:
    """Audit a model without touching the disk, and count the probes."""
    study, engine = audit.study(data, Local()), Local()
    step = AnswerStep(load(f"world:{model}"), data.images)
    probes = [part for _, part in audit.probe(data, study)]
    answers = pl.concat(batch for part in probes for batch in ask(step, part, data, engine, 100_000))
    judged = audit.judge(data, study, Predictions(model, answers), engine)
    return judged, sum(part.height for part in probes)


def show_widths(worlds: int, images: int, only: str) -> None:
    """Print calls and interval widths of both plans, each the mean over several worlds."""
    data = [eyechart.read("world", seed=seed, images=images) for seed in range(5, 5 + worlds)]
    print(
        "| model | score | default: calls, width | 5 x 5: calls, width | calls | width | draws' share of the variance |"
    )
    print("|---|---|---|---|---|---|---|")
    for model in (model for model in MODELS if only in model):
        found = [compare_plans(each, model) for each in data]
        for name in MODALITIES:
            value, calls, width, most, widest, share = np.mean([each[name] for each in found], axis=0)
            print(
                f"| `{model}` | {name} {value:.1f} | {calls:,.0f}, {width:.2f} | {most:,.0f}, {widest:.2f} "
                f"| {calls / most:.3f} | {width / widest:.3f} | {share:.2f} |",
                flush=True,
            )


def compare_plans(data: Dataset, model: str) -> dict[str, tuple[float, ...]]:
    """Judge by both plans: of each score its value, then calls and width of both, and the share of draws."""
    ours, calls = run(PerceptionAudit(), data, model)
    theirs, most = run(PerceptionAudit(draws=5, repeats=5), data, model)
    found: dict[str, tuple[float, ...]] = {}
    for name in MODALITIES:
        one, other = (result.measure("perception", name) for result in (ours, theirs))
        width, widest = (100 * (each.high - each.low) for each in (one, other))
        errors = ours.tables["errors"].row(by_predicate=pl.col("removed") == name, named=True)
        share = (errors["draws_se"] / errors["se"]) ** 2 if errors["se"] else 0.0
        found[name] = (100 * one.value, calls, width, most, widest, share)
    return found


def read_whole(seed: int, images: int) -> Dataset:
    """Read a world of which every example is judged."""
    return eyechart.read("world", seed=seed, images=images).decide(learn=["none"], judge=["none"])


def find_truth(shares: dict[str, float], images: int) -> dict[str, float]:
    """Measure the members in a large world and mix them: scores, and scores over accuracy."""
    data = read_whole(99, images)
    found = {name: run(PerceptionAudit(), data, name)[0] for name in shares}
    accuracy = sum(share * found[name].measure("accuracy", "plain").value for name, share in shares.items())
    truth = {
        name: sum(share * found[member].measure("perception", name).value for member, share in shares.items())
        for name in MODALITIES
    }
    return truth | {f"{name} / model": value / accuracy for name, value in truth.items()}


def show_coverage(repeats: int, large: int, only: str) -> None:
    """Print how often the 95 % intervals of small worlds hold the truth."""
    print("| model | score | truth | mean of the estimates | coverage | mean width |")
    print("|---|---|---|---|---|---|")
    for model, shares in ((model, shares) for model, shares in COVERED.items() if only in model):
        truth = find_truth(shares, large)
        rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in truth}
        for seed in range(1, repeats + 1):
            result, _ = run(PerceptionAudit(), read_whole(seed, 100), model)
            for name in truth:
                modality, over, _ = name.partition(" / ")
                found = result.measure("perception / model" if over else "perception", modality)
                rows[name].append((found.value, found.low, found.high))
        for name, value in truth.items():
            estimates, low, high = np.array(rows[name]).T
            share = np.mean((low <= value) & (value <= high))
            numbers = (100 * value, 100 * estimates.mean(), 100 * share, 100 * (high - low).mean())
            print(f"| `{model}` | {name} | " + " | ".join(f"{each:.1f}" for each in numbers) + " |", flush=True)


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=500, help="small worlds, for coverage")
    parser.add_argument("--worlds", type=int, default=10, help="for widths")
    parser.add_argument("--images", type=int, default=1000, help="of each of these worlds")
    parser.add_argument("--large", type=int, default=20_000, help="images of the world that holds the truth")
    parser.add_argument("--only", default="", help="a word in the names of the models")
    arguments = parser.parse_args()
    began = time.perf_counter()
    show_widths(arguments.worlds, arguments.images, arguments.only)
    print()
    if arguments.repeats:
        show_coverage(arguments.repeats, arguments.large, arguments.only)
    print(f"\n{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
