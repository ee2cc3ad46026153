"""Show what the default plan of the perception audit costs and whether its intervals hold.

    python benchmarks/perception.py [--repeats 500] [--worlds 10] [--images 1000] [--large 20000] [--record]

Widths: the default plan (4 draws an example) and the paper's protocol (5 draws, 5 repeats) in the same worlds.
Coverage: many small worlds, each audited with the default plan; the truth is that of the mixture's members in a world
of 20,000 images, in their shares. Everything runs in memory.
"""

import argparse
from collections.abc import Iterable, Iterator
from statistics import fmean

import polars as pl

import eyechart
from eyechart import Dataset
from eyechart.audits.perception import PerceptionAudit
from eyechart.data.predictions import Predictions
from eyechart.data.result import Result
from eyechart.engines import Local
from eyechart.models import load
from eyechart.models.asking import AnswerStep, ask
from record import Row, add_flag
from tables import Layout, lay_out, report

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


def measure_plans(seed: int, images: int, model: str) -> Iterator[Row]:
    """Judge by both plans in one world: of each score its value, then calls and width of both, and the draws' share."""
    data = eyechart.read("world", seed=seed, images=images)
    ours, calls = run(PerceptionAudit(), data, model)
    theirs, most = run(PerceptionAudit(draws=5, repeats=5), data, model)
    for name in MODALITIES:
        one, other = (result.measure("perception", name) for result in (ours, theirs))
        errors = ours.tables["errors"].row(by_predicate=pl.col("removed") == name, named=True)
        yield {
            "table": "widths",
            "model": model,
            "seed": seed,
            "score": name,
            "value": one.value,
            "calls": calls,
            "width": one.high - one.low,
            "calls 5 x 5": most,
            "width 5 x 5": other.high - other.low,
            "draws": (errors["draws_se"] / errors["se"]) ** 2 if errors["se"] else 0.0,
        }


def lay_out_widths(rows: list[Row]) -> Iterator[str]:
    """Write calls and interval widths of both plans, each the mean over several worlds."""
    found: list[Row] = []
    for (model, score), own in _grouped(rows):
        mean = {key: fmean(row[key] for row in own) for key in PLANS}
        points = {key: 100 * mean[key] for key in ("value", "width", "width 5 x 5")}
        ratios = {"fewer": mean["calls"] / mean["calls 5 x 5"], "wider": mean["width"] / mean["width 5 x 5"]}
        found.append({"model": model, "score": score} | mean | points | ratios)
    head = "| model | score | default: calls, width | 5 x 5: calls, width | calls | width | draws' share |"
    first = "| `{model}` | {score} {value:.1f} | {calls:,.0f}, {width:.2f} | {calls 5 x 5:,.0f}, {width 5 x 5:.2f} "
    return lay_out(head, first + "| {fewer:.3f} | {wider:.3f} | {draws:.2f} |", found)


def _grouped(rows: list[Row]) -> Iterator[tuple[tuple[str, str], list[Row]]]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["table"] == "widths":
            found.setdefault((row["model"], row["score"]), []).append(row)
    yield from found.items()


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


def measure_coverage(model: str, repeats: int, large: int) -> Iterator[Row]:
    """Give the true scores, and those of small worlds with their intervals."""
    truth = find_truth(COVERED[model], large)
    yield {"table": "truth", "model": model} | truth
    for seed in range(1, repeats + 1):
        yield {"table": "coverage", "model": model, "seed": seed} | measure_small(model, seed, list(truth))


def measure_small(model: str, seed: int, names: Iterable[str]) -> Row:
    """Give the scores of one small world, each with its interval, to six digits."""
    result, _ = run(PerceptionAudit(), read_whole(seed, 100), model)
    found = {}
    for name in names:
        modality, over, _ = name.partition(" / ")
        one = result.measure("perception / model" if over else "perception", modality)
        found[name] = [round(each, 6) for each in (one.value, one.low, one.high)]
    return found


def lay_out_coverage(rows: list[Row]) -> Iterator[str]:
    """Write how often the 95 % intervals of small worlds hold the truth."""
    found: list[Row] = []
    for known in (row for row in rows if row["table"] == "truth"):
        own = [row for row in rows if (row["table"], row["model"]) == ("coverage", known["model"])]
        for score in (key for key in known if key not in ("table", "model")):
            values, lows, highs = zip(*(row[score] for row in own), strict=True)
            covered = fmean(low <= known[score] <= high for low, high in zip(lows, highs, strict=True))
            means = {"mean": fmean(values), "covered": covered, "width": fmean(highs) - fmean(lows)}
            found.append({"model": known["model"], "score": score, "truth": known[score]} | means)
    head = "| model | score | truth | mean of the estimates | coverage | mean width |"
    line = "| `{model}` | {score} | {truth:points} | {mean:points} | {covered:points} | {width:points} |"
    return lay_out(head, line, found)


PLANS = ("value", "calls", "width", "calls 5 x 5", "width 5 x 5", "draws")
LAYOUTS: dict[str, Layout] = {"widths": lay_out_widths, "coverage": lay_out_coverage}


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=500, help="small worlds, for coverage")
    parser.add_argument("--worlds", type=int, default=10, help="for widths")
    parser.add_argument("--images", type=int, default=1000, help="of each of these worlds")
    parser.add_argument("--large", type=int, default=20_000, help="images of the world that holds the truth")
    parser.add_argument("--only", default="", help="a word in the names of the models")
    add_flag(parser)
    given = parser.parse_args()
    seeds = range(5, 5 + given.worlds)
    wide, covered = ([model for model in models if given.only in model] for models in (MODELS, COVERED))
    rows = [row for model in wide for seed in seeds for row in measure_plans(seed, given.images, model)]
    rows += [row for model in covered if given.repeats for row in measure_coverage(model, given.repeats, given.large)]
    report("perception", LAYOUTS, rows, kept=given.record)


if __name__ == "__main__":
    main()
