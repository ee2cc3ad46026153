"""Statistics that are parted by key on Ray are those of this process, to the last bit."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal, assert_series_equal

from eyechart.audits import batches as keyed
from eyechart.audits.batches import means_by_key, scores
from eyechart.audits.perception import measures as groups
from eyechart.audits.perception.measures import Measurer, measure_all, with_scores
from eyechart.audits.rules.exploited import NAMED, agreements_table, exploited_table
from eyechart.data.dataset import Dataset
from eyechart.data.probes import Removal
from eyechart.data.result import measures_table
from eyechart.engines import Local
from eyechart.engines.ray import Ray
from eyechart.scoring import score

REMOVALS = (Removal(("image",)), Removal(("question",)))


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keyed, "BLOCK", 500)
    monkeypatch.setattr(groups, "BLOCK", 500)


def soft_scores(draw: np.random.Generator, n: int) -> pl.Series:
    """Draw scores as those of ten people, whose sums depend on the order in which they are added."""
    return pl.Series(draw.integers(0, 4, n) * 0.3).clip(0, 1)


def test_means_by_group(engine: Ray) -> None:
    draw, n = np.random.default_rng(1), 20_000
    keys = pl.DataFrame({"of": draw.geometric(0.02, n), "side": draw.integers(0, 2, n)}).cast(pl.String)
    rows = keys.with_columns(
        cluster=pl.Series(draw.integers(0, n // 3, n)).cast(pl.String), accuracy=soft_scores(draw, n)
    )

    there, here = (means_by_key(rows, "accuracy", ["of", "side"], where) for where in (engine, Local()))
    assert here.height > 200
    assert_frame_equal(there, here, check_exact=True)


@pytest.mark.parametrize("how", ["vqa", "exact-normalized"])
def test_scores_of_answers(how: str, engine: Ray) -> None:
    draw, n = np.random.default_rng(2), 3000
    texts = pl.Series(["a dog", "Dog", "two", "2", "3", None])
    humans = texts.gather(draw.integers(0, 5, n * 10)).reshape((n, 10)).arr.to_list()
    given, answer = (texts.gather(draw.integers(0, 6, n)) for _ in range(2))
    table = pl.DataFrame({"answer": answer, "answers": humans, "given": given})

    assert_series_equal(scores(table, how, engine), score(table, how), check_exact=True)


def random_losses(draw: np.random.Generator, n: int) -> pl.DataFrame:
    """Make the rows of a judgement, some kinds of which have hundreds of images and some a handful."""
    numbers = ("accuracy", "majority", *(f"{word} {each.name}" for each in REMOVALS for word in ("without", "changed")))
    rows = pl.DataFrame({name: soft_scores(draw, n) for name in numbers}).with_columns(
        id=pl.format("q{}", pl.int_range(n)),
        cluster=(pl.int_range(n) // 2).cast(pl.String),
        kind=pl.Series(np.minimum(draw.geometric(0.25, n), 20)).cast(pl.String),
    )
    return with_scores(rows, REMOVALS)


def test_perception_by_group(engine: Ray, tiny: Dataset) -> None:
    """The ratios are sums over more images than linear algebra libraries add up at once, by one thread or several."""
    rows = random_losses(np.random.default_rng(3), 4000)
    ruler = Measurer(REMOVALS, "vqa", "complement", "other", 4)

    there, here = (measure_all(rows, tiny, ruler, ["kind"], where) for where in (engine, Local()))
    assert max(each.clusters for each in here.groups if each.clusters) > 500
    assert len({each.group for each in here.groups}) > 8
    for ours, theirs in zip(there, here, strict=True):
        assert_frame_equal(measures_table(ours), measures_table(theirs), check_exact=True)


def test_rules_that_a_model_follows(engine: Ray) -> None:
    draw, n, n_rules = np.random.default_rng(4), 30_000, 700
    meetings = pl.DataFrame(
        {
            "rule": np.sort(draw.integers(0, n_rules, n)),
            "example": draw.integers(0, 5_000, n),
            "cluster": pl.Series(draw.integers(0, 900, n)).cast(pl.String),
            "type": pl.Series(draw.integers(0, 6, n)).cast(pl.String),
            "mention": draw.choice(["neither", "named"], n),
            "wrong": draw.random(n) < 0.6,
            "agrees": draw.random(n) < 0.3,
            "control_n": draw.integers(0, 40, n),
        }
    ).with_columns(control_given=pl.col("control_n") // 3)
    numbers = np.arange(n_rules)
    texts = pl.Series(numbers).cast(pl.String)
    rules = pl.DataFrame(dict.fromkeys(NAMED, numbers)).with_columns(
        words=texts.reshape((n_rules, 1)).arr.to_list(), objects=pl.lit([], pl.List(pl.String)), normal=texts, size=1
    )

    there, here = (exploited_table(agreements_table(meetings, rules, where)) for where in (engine, Local()))
    assert here.height > 600
    assert here["p"].n_unique() > 100
    assert_frame_equal(there, here, check_exact=True)
