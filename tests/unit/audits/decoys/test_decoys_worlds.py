"""Neutral options leave the prior rule within 2 points of chance in worlds the drawing was not tuned on.

Where no example is left out this holds on average only: luck alone moves the rule by about one point in one world.
"""

from statistics import fmean

import polars as pl
import pytest

from eyechart.audits.decoys.draw import DrawnDecoys, draw_decoys
from eyechart.audits.decoys.options import chance, lay_out, offer, pick
from eyechart.audits.decoys.settings import JUDGED, LEARNED, DecoysSettings
from eyechart.audits.decoys.study import label_parts
from eyechart.audits.decoys.usage import count_uses, prior_of
from eyechart.formats import read

SEEDS = range(5, 10)
MADE = ("iou", "qou", "iou+qou")


def draw_in(seed: int, *, leave_out: bool) -> tuple[pl.DataFrame, DrawnDecoys]:
    world = read("world", seed=seed, images=1000, plant=("decoy",))
    examples = label_parts(world)
    return examples, draw_decoys(world, examples, DecoysSettings(drawing="neutral", leave_out=leave_out))


@pytest.fixture(scope="module")
def kept() -> list[tuple[pl.DataFrame, DrawnDecoys]]:
    return [draw_in(seed, leave_out=False) for seed in SEEDS]


@pytest.fixture(scope="module")
def thinned() -> list[tuple[pl.DataFrame, DrawnDecoys]]:
    return [draw_in(seed, leave_out=True) for seed in SEEDS]


def over_chance(examples: pl.DataFrame, drawn: DrawnDecoys, name: str) -> float:
    about = examples.select("id", "part")
    offers = offer(examples, drawn.decoys, name, 0).join(about, on="id", how="left", maintain_order="left")
    prior = prior_of(offers["text"], count_uses(lay_out(offers.filter(pl.col("part") == LEARNED))))
    judged = offers["part"] == JUDGED
    scores = pick(offers.filter(judged), prior.filter(judged)).join(chance(offers), on="id", validate="1:1")
    return float(scores.select((pl.col("score") - pl.col("chance")).mean()).item())


def test_the_repaired_set_is_neutral_and_keeps_every_example(kept: list[tuple[pl.DataFrame, DrawnDecoys]]) -> None:
    assert all(drawn.decoys["id"].n_unique() == examples.height for examples, drawn in kept)
    assert abs(fmean(over_chance(*world, "iou+qou") for world in kept)) <= 0.02


@pytest.mark.parametrize("options", MADE)
def test_each_set_is_neutral_where_examples_may_be_left_out(
    options: str, thinned: list[tuple[pl.DataFrame, DrawnDecoys]]
) -> None:
    assert all(abs(over_chance(*world, options)) <= 0.02 for world in thinned)
