"""A model is no surer on a small tail for the many examples beside it."""

import numpy as np
import polars as pl
import pytest

from eyechart.audits.splits.gaps import Sides, gap_weights, set_weights
from eyechart.audits.splits.measures import ANSWER, GROUP, TYPE, Scored, measure_judged, measure_validation
from eyechart.audits.splits.verdict import Reach, decide
from eyechart.data.result import Measure
from eyechart.statistics import difference, mean

SIDES = ["head"] * 400 + ["tail"] * 24


def scored(
    scores: np.ndarray, sides: dict[str, list[str | None]], strata: list[str] | None = None, images: int | None = None
) -> Scored:
    """Lay scores out as judged rows, in a stratum or several, with an image each or `images` in all."""
    n = len(scores)
    rows = pl.DataFrame({"id": [f"{i:05}" for i in range(n)], "accuracy": np.asarray(scores, dtype=float)})
    groups = {GROUP + concept: strata or ["g"] * n for concept in sides}
    image = pl.Series([str(i % (images or n)) for i in range(n)])
    kinds = {TYPE: ["kind"] * n, ANSWER: ["answer"] * n}
    return Scored(
        rows.with_columns(cluster=image, **{k: pl.Series(v) for k, v in (sides | groups | kinds).items()}),
        tuple(sides),
        "exact",
        tuple(sides),
    )


def measures(given: Scored) -> dict[str, Measure]:
    return {one.name: one for one in measure_judged(given).measures if one.by is None}


def ends(one: Measure) -> tuple[float, float]:
    return one.low, one.high


def test_a_small_tail_without_mistakes_leaves_room_for_a_gap() -> None:
    """24 of 24 is [85.8, 100], however many examples are not in the tail."""
    given = scored(np.ones(424), {"QT": SIDES})
    found, tail = measures(given), mean(np.ones(24))

    assert ends(found["OOD mean"]) == (tail.low, tail.high)
    assert (found["OOD mean"].n, found["OOD mean"].clusters) == (24, 24)
    for name in ("gap, QT", "pooled gap", "largest gap"):
        assert found[name].value == 0
        assert found[name].high == pytest.approx(1 - tail.low, abs=0.001)
    assert ends(found["OOD drop"]) == pytest.approx(ends(found["drop, QT"]))
    assert decide(list(found.values()), 0.05, Reach(("QT",), 1, 424, ("QT", 24))).state == "cannot tell"


def test_validation_sets_are_no_surer_either() -> None:
    found = {one.name: one for one in measure_validation(scored(np.ones(424), {"QT": SIDES})).measures if not one.by}

    assert (found["val OOD mean"].low, found["val OOD mean"].n) == (mean(np.ones(24)).low, 24)


@pytest.mark.parametrize("soft", [1.0, 0.5])
@pytest.mark.parametrize("images", [424, 150])
def test_in_one_stratum_a_gap_with_few_mistakes_is_the_difference_of_its_sides(soft: float, images: int) -> None:
    """Images may hold rows of both sides, and mistakes may be half ones."""
    scores = np.ones(424)
    scores[[3, 50, 153, 401, 410]] -= soft
    given = scored(scores, {"QT": SIDES}, images=images)
    head, tail = (given.rows.filter(pl.col("QT") == side) for side in ("head", "tail"))

    one = measures(given)["gap, QT"]

    by_hand = difference(head["accuracy"], tail["accuracy"], head["cluster"], tail["cluster"])
    assert by_hand.method == "mover"
    assert (one.value, one.low, one.high, one.p) == pytest.approx((by_hand[0], by_hand[1], by_hand[2], by_hand.p))


def test_with_many_mistakes_on_both_sides_the_interval_is_that_of_the_contributions() -> None:
    rng = np.random.default_rng(2)
    sides = ["head"] * 300 + ["tail"] * 200
    given = scored((rng.random(500) < 0.6).astype(float), {"QT": sides}, strata=["a", "b"] * 250)

    judged = measure_judged(given)

    found = {one.name: one for one in judged.measures if one.by is None}
    for name in ("gap, QT", "OOD drop"):
        by_hand = mean(judged.rows[name].drop_nulls(), judged.rows["cluster"], kind="differences")
        assert ends(found[name]) == pytest.approx((by_hand.low, by_hand.high))


def test_a_gap_is_the_weighted_head_minus_the_weighted_tail() -> None:
    rng = np.random.default_rng(4)
    sides = Sides(rng.random(300), (rng.random(300) < 0.3).astype(float), rng.integers(0, 7, 300))

    weights = gap_weights(sides)

    assert weights[sides.tail == 0].sum() == pytest.approx(1)
    assert weights[sides.tail == 1].sum() == pytest.approx(-1)
    assert (weights[sides.tail == 0] >= 0).all()


def test_unequal_weights_count_for_fewer_examples() -> None:
    """Of two sets of 20 and 200 without mistakes the small one bears half of the mean."""
    sides = {"QT": ["tail"] * 20 + ["head"] * 380, "KW": ["head"] * 200 + ["tail"] * 200}
    weights = set_weights([np.array(each) == "tail" for each in sides.values()])

    one = measures(scored(np.ones(400), sides))["OOD mean"]

    assert one.n == 220
    assert one.low == pytest.approx(mean(np.ones(int(1 / np.sum(weights**2)))).low)


def test_an_example_that_is_both_head_and_tail_does_not_affect_the_pooled_gap() -> None:
    """Two concepts whose heads are each other's tails leave no gap, whatever the scores are."""
    one = ["head"] * 100 + ["tail"] * 100
    scores = np.repeat([1.0, 0.0], 100)

    found = measures(scored(scores, {"QT": one, "KW": one[::-1]}))

    assert found["pooled gap"].value == pytest.approx(0)
    assert found["gap, QT"].low > 0.9


def test_a_tail_that_is_everything_has_a_mean_and_no_drop() -> None:
    found = measures(scored(np.ones(50), {"QT": ["tail"] * 50}))

    assert (found["OOD mean"].value, found["OOD mean"].n) == (1, 50)
    assert "drop, QT" not in found
    assert "gap, QT" not in found
    assert found["OOD drop"].value == 0


def test_a_mean_that_depends_on_one_example_is_hardly_known_but_has_an_interval() -> None:
    """One set of a single mistake beside one of 200 without any, all in a few images."""
    sides = {"QT": ["tail"] + ["head"] * 399, "KW": ["head"] * 200 + ["tail"] * 200}
    scores = np.ones(400)
    scores[0] = 0

    one = measures(scored(scores, sides, images=8))["OOD mean"]

    assert one.value == pytest.approx(0.5)
    assert 0 <= one.low < 0.1
    assert 0.9 < one.high <= 1
