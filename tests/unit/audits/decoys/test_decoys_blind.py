"""Blind baselines learn what each kind of information gives away, never from the same image, and nothing from noise."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from eyechart.audits.decoys.blind import SCORERS, drawn_targets, score_blindly, score_controls
from eyechart.audits.decoys.features import SEEN, describe, matrix
from eyechart.audits.decoys.options import Flags, pick
from eyechart.audits.decoys.settings import DecoysSettings
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.tables import OBJECT
from eyechart.engines import Local

LABELS = ("dog", "cat", "cow", "pig")
MEMORY = '''
"""A scorer that knows what it was taught by heart: it scores what it has met in its lessons, else 0."""

import numpy as np


def remember(known, target, asked):
    lessons = {tuple(row.indices): bool(right) for row, right in zip(known, target)}
    return np.array([lessons.get(tuple(row.indices), 0.5) for row in asked], dtype=float)
'''


def quiz(n: int, seed: int = 0) -> tuple[pl.DataFrame, Dataset]:
    """Ask what is seen: the target is the label of the one object there; the question names a wrong option."""
    chooser = np.random.default_rng(seed)
    right, step = chooser.integers(0, 4, n), chooser.integers(1, 4, n)
    seen, named = ([LABELS[at] for at in places] for places in (right, (right + step) % 4))
    images = pl.DataFrame(
        {
            "image": [f"i{at}" for at in range(n)],
            "objects": [[{"label": one, "box": None, "score": None}] for one in seen],
        },
        schema_overrides={"objects": pl.List(OBJECT)},
    )
    examples = pl.DataFrame(
        {
            "id": [f"{at:05}" for at in range(n)],
            "image": images["image"],
            "question": [f"what is it but no {one} ?" for one in named],
            "answer": seen,
        }
    ).with_columns(cluster=pl.col("image"))
    rows = [(f"{at:05}", place, text, text == seen[at]) for at in range(n) for place, text in enumerate(LABELS)]
    offers = pl.DataFrame(rows, schema=["id", "place", "text", "target"], orient="row")
    return offers.join(examples, on="id", how="left", maintain_order="left"), Dataset("quiz", examples, Images(images))


def everything(offers: pl.DataFrame) -> Flags:
    return np.ones(offers.height, np.bool_)


def accuracies(offers: pl.DataFrame, data: Dataset) -> dict[str, float]:
    scores = score_blindly(offers, everything(offers), data, DecoysSettings(folds=3))
    return {name: float(pick(offers, scores[name])["score"].to_numpy().mean()) for name in scores.columns}


def test_each_kind_of_information_solves_what_it_can() -> None:
    """Nothing is to be had from answers; the question rules one of four out; the image says it all."""
    found = accuracies(*quiz(600))

    assert found["A"] == pytest.approx(0.25, abs=0.06)
    assert found["Q+A"] == pytest.approx(1 / 3, abs=0.06)
    assert found["I+A"] == 1
    assert found["I+Q+A"] == 1


def test_a_scorer_that_learns_by_heart_gains_nothing_where_each_image_is_unlike_the_others(tmp_path: Path) -> None:
    """With many questions on an image and texts of its own, only a leak between folds could help."""
    file = tmp_path / "memory.py"
    file.write_text(MEMORY, encoding="utf-8")
    rows = []
    for image, right in enumerate(np.random.default_rng(1).integers(0, 4, 40)):
        rows += [
            (f"{image:02}-{n}", at, f"t{image} {at}", bool(at == right), f"i{image}")
            for n in range(10)
            for at in range(4)
        ]
    offers = pl.DataFrame(rows, schema=["id", "place", "text", "target", "cluster"], orient="row")
    offers = offers.with_columns(image=pl.col("cluster"), question=pl.lit("what?"))
    examples = offers.filter("target").select("id", "image", "question", answer="text")
    data = Dataset("twins", examples, Images.named(examples["image"]))

    scores = score_blindly(offers, everything(offers), data, DecoysSettings(folds=4, scorer=f"{file}:remember"))

    assert (scores["A"] == 0.5).all()
    assert pick(offers, scores["A"])["score"].to_list() == pytest.approx([0.25] * 400)


def test_only_judged_options_are_scored_and_all_are_learned_from() -> None:
    """Scores of the judged half are those of the whole: what is not judged takes part in every fit all the same."""
    offers, data = quiz(120)
    judged = np.repeat(np.arange(120) % 2 == 1, 4)

    half = score_blindly(offers, judged, data, DecoysSettings(folds=3))

    whole = score_blindly(offers, everything(offers), data, DecoysSettings(folds=3))
    assert_frame_equal(half, whole.filter(judged), check_exact=True)


@pytest.mark.parametrize(("seen", "least", "most"), [("I+A", 1.0, 1.0), ("A", 0.1, 0.4)])
def test_the_network_of_equation_1_finds_what_there_is(seen: str, least: float, most: float) -> None:
    """The image says it all, the answers nothing."""
    pytest.importorskip("torch")
    offers, data = quiz(200)
    features = matrix(describe(offers, data), offers.height, SEEN[seen])
    known, asked = offers.head(400), offers.tail(400)

    scores = SCORERS.get("mlp")(features[:400], known["target"].to_numpy(), features[400:])

    assert least <= pick(asked, pl.Series(scores))["score"].mean() <= most  # type: ignore[operator]


def test_features_are_the_same_whatever_precedes_them() -> None:
    """Hashes depend on texts, not on the order in which options are met."""
    offers, data = quiz(30)
    one = describe(offers.filter(pl.col("id") == "00007"), data)
    blocks = describe(offers, data)

    for name, block in one.items():
        rows = np.flatnonzero(offers["id"] == "00007")
        there = sorted(hash_ for row, hash_ in zip(blocks[name].rows, blocks[name].hashes, strict=True) if row in rows)
        assert sorted(block.hashes) == there, name


def test_features_of_one_kind_have_length_one() -> None:
    offers, data = quiz(10)

    features = matrix(describe(offers, data), offers.height, SEEN["Q+A"])

    # No two features of an option share a column here, so squared weights add up to one for each of two kinds.
    assert features.multiply(features).sum(axis=1).min() >= 2 - 1e-9


def test_controls_are_at_chance_and_vary_more_than_the_examples_of_one_draw() -> None:
    """Two examples offer the same two options, and where they are in different folds each teaches the other's scorer.

    Both are then right or both wrong, so that a single draw lies further from chance than its interval over independent
    examples says, while the mean of the draws is at chance.
    """
    offers, data = quiz(300)
    pairs = offers.filter(pl.col("place") < 2).with_columns(
        text=pl.format("{} {}", pl.col("id").str.to_integer() // 2, "place"), target=pl.col("place") == 0
    )
    settings, draws = DecoysSettings(folds=3), 40

    right = score_controls(pairs, everything(pairs), data, settings, draws=draws, engine=Local()).drop("id")

    means = np.array(right.mean().row(0))
    assert abs(means.mean() - 0.5) < 3 * means.std(ddof=1) / np.sqrt(draws)
    assert means.std(ddof=1) > 1.15 * np.sqrt(0.25 / 300)


def test_drawn_targets_are_one_of_each_example() -> None:
    offers, _ = quiz(200)
    drawn = offers.with_columns(pl.Series("drawn", drawn_targets(offers, 0)))

    assert drawn.group_by("id").agg(pl.col("drawn").sum())["drawn"].unique().to_list() == [1]
    assert drawn.filter("drawn", "target").height / 200 == pytest.approx(0.25, abs=0.1)


def test_images_without_objects_add_nothing() -> None:
    offers, data = quiz(60)
    bare = Dataset("bare", data.examples, Images(data.images.table.select("image")))

    scores = score_blindly(offers, everything(offers), bare, DecoysSettings(folds=3))

    # One flag that is the same on all options is all that the image adds.
    assert pick(offers, scores["A"]).equals(pick(offers, scores["I+A"]))
