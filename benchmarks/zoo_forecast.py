"""Tell how many shards the whole study takes: one seed of every pair for few epochs, as the study trains them."""

import json
import time
from collections import Counter, defaultdict
from math import ceil
from statistics import mean
from typing import NamedTuple

from eyechart.zoo.arrays import read_arrays
from zoo_crew import ENDING, Shift, train_all
from zoo_rows import FIRST_STAGE, SEEDS, Row

TRIED = 4  # epochs; of methods in two stages each has half of them
SHARD = 8 * 60  # seconds
TEACHERS = {"lmh-l": "question-only plain", "lmh-v": "image-only plain"}  # trained before, for as many epochs


class Cost(NamedTuple):
    """What a training of few epochs took a process among others, in seconds."""

    whole: float
    first: float  # the first epoch, in which steps are recorded
    epoch: float  # one in which nothing is new
    tried: int  # epochs


def forecast(rows: list[Row], shift: Shift) -> None:
    """Train one row of each pair for few epochs, and print what the whole study takes by that."""
    if lacking := {TEACHERS[row.method] for row in rows if row.method in TEACHERS} - {row.pair for row in rows}:
        raise SystemExit(f"--only lacks what teaches others: add {';'.join(sorted(lacking))}")
    tried, began = shift.epochs or TRIED, time.time()
    short = {row.pair: row._replace(method=row.method.replace(f"@{FIRST_STAGE}", f"@{tried // 2}")) for row in rows}
    # The last rows have the device for themselves and seem cheap; the study's own order would put the dearest there.
    train_all(list(short.values())[::-1], shift._replace(epochs=tried))
    found = read_arrays(shift.out)
    if missing := [row.name for row in short.values() if f"{row.name}/log" not in found]:
        raise SystemExit(f"{len(missing)} rows are not done, as {missing[0]}: take more --minutes or fewer --epochs")
    logs = {pair: json.loads(found[f"{row.name}/log"].tobytes()) for pair, row in short.items()}
    costs = {pair: read_cost(log["seconds"], [epoch[3] for epoch in log["epochs"]]) for pair, log in logs.items()}
    print(tell(costs, shift.workers, min(log["begun"] for log in logs.values()) - began))


def read_cost(whole: float, epochs: list[float]) -> Cost:
    """Tell epochs in which nothing is new from those that begin a stage, in which steps are recorded."""
    steady = [seconds for number, seconds in enumerate(epochs) if number % max(len(epochs) // 2, 1)]
    return Cost(whole, epochs[0], mean(steady or epochs), len(epochs))


def seconds_of(pair: str, costs: dict[str, Cost]) -> float:
    """Give the seconds that all epochs of a training take a process."""
    model, _, method = pair.partition(" ")
    missing = Row(model, method, 0).course("cpu", None).epochs - costs[pair].tried
    teacher = costs[TEACHERS[method]].epoch if method in TEACHERS else 0.0
    return costs[pair].whole + missing * (costs[pair].epoch + teacher)


def tell(costs: dict[str, Cost], workers: int, start: float) -> str:
    """Write what each network takes of the whole device, and in how many shards all of them are trained.

    A shard trains for less than it lasts: processes start and end, and at worst each begins a row again with a whole
    epoch and loses one that it cannot finish.
    """
    seconds: dict[str, float] = defaultdict(float)
    for pair in costs:
        seconds[pair.partition(" ")[0]] += seconds_of(pair, costs) * len(SEEDS) / workers
    rows, total = Counter(pair.partition(" ")[0] for pair in costs), sum(seconds.values())
    begin, lose = mean(cost.first for cost in costs.values()), mean(cost.epoch for cost in costs.values())
    useful = SHARD - start - begin - lose - ENDING
    lines = ["| network | rows | minutes of the whole device |", "|---|---|---|"]
    lines += [f"| `{name}` | {rows[name] * len(SEEDS)} | {each / 60:.1f} |" for name, each in seconds.items()]
    lines += [f"| all | {len(costs) * len(SEEDS)} | {total / 60:.1f} |", ""]
    sentence = (
        f"A shard of {SHARD} s trains for {useful:.0f}: {start:.0f} to start, {begin:.0f} to begin a row again, "
        f"{lose:.0f} of an epoch that is lost, {ENDING} to end. Shards in all: {ceil(total / useful)}."
    )
    return "\n".join([*lines, sentence])
