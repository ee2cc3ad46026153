"""Neutral options leave the prior rule within 2 points of chance in worlds the drawing was not tuned on.

Where no example is left out this holds on average only: luck alone moves the rule by about one point in one world.
"""

from statistics import fmean

import polars as pl
import pytest

from eyechart.audits.decoys.parts import JUDGED, LEARN, Parts, parts_of
from eyechart.audits.decoys.picking import chance, lay_out, pick
from eyechart.audits.decoys.prior import count_uses, prior_of
from eyechart.audits.decoys.recipes import Drawn, Recipe, draw_decoys
from eyechart.audits.decoys.sets import offer
from eyechart.readers import read

SEEDS = range(5, 10)
MADE = ("iou", "qou", "iou+qou")


def draw_in(seed: int, *, leave_out: bool) -> tuple[Parts, Drawn]:
    world = read("world", seed=seed, images=1000, plant=("decoy",))
    parts = parts_of(world)
    return parts, draw_decoys(world, parts.examples, Recipe(drawing="neutral", leave_out=leave_out))


@pytest.fixture(scope="module")
def kept() -> list[tuple[Parts, Drawn]]:
    return [draw_in(seed, leave_out=False) for seed in SEEDS]


@pytest.fixture(scope="module")
def thinned() -> list[tuple[Parts, Drawn]]:
    return [draw_in(seed, leave_out=True) for seed in SEEDS]


def over_chance(parts: Parts, drawn: Drawn, name: str) -> float:
    about = parts.examples.select("id", "part")
    offers = offer(parts.examples, drawn.decoys, name, 0).join(about, on="id", how="left", maintain_order="left")
    prior = prior_of(offers["text"], count_uses(lay_out(offers.filter(pl.col("part") == LEARN))))
    judged = offers["part"] == JUDGED
    scores = pick(offers.filter(judged), prior.filter(judged)).join(chance(offers), on="id", validate="1:1")
    return float(scores.select((pl.col("score") - pl.col("chance")).mean()).item())


def test_the_repaired_set_is_neutral_and_keeps_every_example(kept: list[tuple[Parts, Drawn]]) -> None:
    assert all(drawn.decoys["id"].n_unique() == parts.examples.height for parts, drawn in kept)
    assert abs(fmean(over_chance(*world, "iou+qou") for world in kept)) <= 0.02


@pytest.mark.parametrize("options", MADE)
def test_each_set_is_neutral_where_examples_may_be_left_out(options: str, thinned: list[tuple[Parts, Drawn]]) -> None:
    assert all(abs(over_chance(*world, options)) <= 0.02 for world in thinned)
