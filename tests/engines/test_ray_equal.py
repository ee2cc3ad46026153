"""What is parted on Ray is what this process finds whole: rules, matches, counts and concepts of random data."""

from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

from eyechart.audits.splits import concepts as groups
from eyechart.audits.splits import salience as salient_parted
from eyechart.audits.splits.concepts import count_answers
from eyechart.audits.splits.salience import as_listed, best_two, most_informative
from eyechart.engines import Local
from eyechart.engines.ray import Ray
from eyechart.mining import Accepted, MiningSettings, Transactions, counting, match, mine
from eyechart.mining.counting import Queries, make_counter, make_index

N_ITEMS, N_ANSWERS = 60, 5


def random_transactions(seed: int, n: int) -> Transactions:
    """Make examples of items of very different frequency, whose answers depend on them."""
    draw = np.random.default_rng(seed)
    rows = [np.unique(np.minimum(draw.geometric(0.08, draw.integers(1, 9)), N_ITEMS) - 1).tolist() for _ in range(n)]
    answers = [(row[0] + int(draw.integers(0, 2))) % N_ANSWERS for row in rows]
    return Transactions.from_rows(rows, answers, N_ITEMS, N_ANSWERS)


@pytest.mark.parametrize("superset", ["immediate", "two-sided"])
def test_mining_and_matching(superset: str, engine: Ray) -> None:
    learn, judged = random_transactions(1, 1500), random_transactions(2, 700)
    settings = MiningSettings(min_support=4, min_confidence=Fraction(1, 4), superset=superset)  # type: ignore[arg-type]
    accepted = Accepted.from_rows([[int(answer), (int(answer) + 1) % N_ANSWERS] for answer in judged.answers])
    shares: list[float] = []

    rules, here = mine(learn, settings, progress=shares.append, engine=engine), mine(learn, settings)
    assert rules.n > 500
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)
    for ours, theirs in zip(rules, here, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(match(rules, judged, accepted, engine=engine), match(rules, judged, accepted), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_counting_on_held_out_images(engine: Ray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "BLOCK", 100)
    judged = random_transactions(3, 900)
    rules = mine(random_transactions(4, 1500), MiningSettings(min_support=4))
    images = (np.arange(judged.n) // 3).astype(np.int32)
    index = make_index(judged, images, rules.items)
    lacking = np.where(np.arange(rules.n) % 2, -1, 3).astype(np.int32)
    queries = Queries(rules.items, lacking, rules.answers)

    there, here = (make_counter(index, 2, where)(queries) for where in (engine, None))
    assert rules.n > 300
    assert here.hits.sum() > 0
    np.testing.assert_array_equal(there.images, here.images)
    np.testing.assert_array_equal(there.hits, here.hits)


def random_candidates(seed: int) -> pl.DataFrame:
    """List texts of rows, each once, with answers that depend on the row alone."""
    draw = np.random.default_rng(seed)
    long = pl.DataFrame({"row": draw.integers(0, 400, 2000), "text": draw.integers(0, 40, 2000)}).unique()
    row = pl.col("row")
    return long.select(
        row.cast(pl.UInt32),
        pl.format("word {}", "text").alias("text"),
        pl.format("answer {}", row * 7 % 11 % 4).alias("answer"),
        (row % 3 > 0).alias("counted"),
    ).sort("row")


def test_the_most_telling_texts(engine: Ray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(salient_parted, "BLOCK", 60)
    candidates = random_candidates(5)

    there, here = (best_two(candidates, as_listed, where) for where in (engine, Local()))
    assert_frame_equal(there, here)


def test_the_most_informative_texts(engine: Ray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(salient_parted, "BLOCK", 60)
    candidates = random_candidates(5).with_columns(pl.format("kind {}", pl.col("row") % 2).alias("kind"))

    there, here = (most_informative(candidates, as_listed, where) for where in (engine, Local()))
    assert_frame_equal(there, here)


def test_counts_of_answers_by_group(engine: Ray, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(groups, "BLOCK", 100)
    draw = np.random.default_rng(6)
    drawn = {name: draw.integers(0, size, 1000) for name, size in {"part": 2, "answer": 9, "one": 5, "two": 30}.items()}
    texts = pl.DataFrame(drawn).cast(pl.String)
    examples = texts.with_columns(pl.when(pl.col("two") != "7").then("two"))

    there, here = (count_answers(examples, ("one", "two"), where) for where in (engine, Local()))
    for concept in ("one", "two"):
        assert_frame_equal(there[concept], here[concept])
    assert here["one"]["n"].sum() == 1000
    assert here["two"]["n"].sum() == examples["two"].count()
