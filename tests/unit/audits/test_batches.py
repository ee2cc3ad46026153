"""What is parted by key is what one process finds, in whatever order the batches are done."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal, assert_series_equal

from eyechart.audits import batches as batching
from eyechart.audits import make_audit
from eyechart.audits.batches import map_by_key, map_in_order, means_by_key, scores, split_by_key
from eyechart.audits.perception import measures as groups
from eyechart.base.errors import DataError, UnknownNameError
from eyechart.data.dataset import Dataset
from eyechart.data.protocols import Step
from eyechart.data.store import Store
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.models import load
from eyechart.runs.contract import Backwards
from eyechart.runs.run import Run
from eyechart.scoring import SCORES, score
from eyechart.statistics import mean


@dataclass(frozen=True)
class Counting(Backwards):
    """Run the batches in reverse, and note how many there were each time."""

    batches: list[int] = field(default_factory=list)

    def map(self, step: Step, batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Count before anything runs."""
        made = list(batches)
        self.batches.append(len(made))
        return super().map(step, made)


@given(keys=st.lists(st.one_of(st.none(), st.integers(0, 6)), min_size=1), block=st.integers(1, 12))
@settings(deadline=None)
def test_batches_are_whole_keys_as_many_as_fit(keys: list[int | None], block: int) -> None:
    table = pl.DataFrame({"key": keys, "row": range(len(keys))}, schema={"key": pl.Int64, "row": pl.Int64})
    batches = list(split_by_key(table, ["key"], block))

    assert_frame_equal(pl.concat(batches), table.sort("key", nulls_last=True, maintain_order=True))
    of_keys = [set(batch["key"]) for batch in batches]
    assert sum(map(len, of_keys)) == len(set(keys)), "a key is torn apart"
    assert all(batch.height <= block or len(own) == 1 for batch, own in zip(batches, of_keys, strict=True))
    for batch, after in pairwise(batches):
        assert batch.height + after["key"].eq_missing(after["key"][0]).sum() > block, "one more would have fitted"


def test_results_are_in_the_order_of_batches_whatever_they_hold() -> None:
    batches = [pl.DataFrame({"n": [n] * 2}) for n in (3, 0, 2, 9, 1)]

    def repeat(batch: pl.DataFrame) -> pl.DataFrame:
        return batch.select(pl.col("n").first().repeat_by(pl.col("n").first()).explode(empty_as_null=False))

    for engine in (Backwards(), Local()):
        assert map_in_order(repeat, batches, engine)["n"].to_list() == [3] * 3 + [2] * 2 + [9] * 9 + [1]


def random_rows(seed: int, n: int) -> pl.DataFrame:
    """Make rows of unequal groups, some without a name, and soft scores, whose sums are not whole."""
    draw = np.random.default_rng(seed)
    named = pl.DataFrame({"group": draw.geometric(0.1, n), "side": draw.integers(0, 2, n)}).cast(pl.String)
    return named.with_columns(
        pl.when(pl.col("group") != "4").then("group"),
        cluster=pl.Series(draw.integers(0, n // 3, n)).cast(pl.String),
        accuracy=pl.Series(draw.integers(0, 4, n) / 3),
    )


@pytest.mark.parametrize("by", [["group"], ["group", "side"]])
def test_means_of_groups_are_those_of_one_process(by: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "BLOCK", 100)
    rows, engine = random_rows(1, 2000), Counting()
    found = means_by_key(rows, "accuracy", by, engine)

    assert_frame_equal(found, means_by_key(rows, "accuracy", by, Local()), check_exact=True)
    assert engine.batches[0] > 5
    for row in found.sample(5, seed=1).iter_rows(named=True):
        part = rows.filter(pl.col(name).eq_missing(pl.lit(row[name])) for name in by)
        alone = mean(part["accuracy"], part["cluster"])
        assert (row["value"], row["low"], row["high"], row["n"], row["clusters"]) == alone[:5]


def test_a_table_without_rows_has_no_groups() -> None:
    nothing = random_rows(1, 30).clear()

    assert_frame_equal(
        means_by_key(nothing, "accuracy", ["group"], Backwards()), means_by_key(nothing, "accuracy", ["group"], Local())
    )
    assert map_by_key(lambda table: table, nothing, ["group"], Backwards()).is_empty()


def random_answers(n: int) -> pl.DataFrame:
    draw = np.random.default_rng(2)
    texts = pl.Series(["a dog", "Dog", "two", "2", "3", None])
    humans = texts.gather(draw.integers(0, 5, n * 10)).reshape((n, 10)).arr.to_list()
    return pl.DataFrame(
        {
            "answer": texts.gather(draw.integers(0, 6, n)),
            "answers": humans,
            "choices": [["a dog", "two", "3"]] * n,
            "relevance": [[0.5, 0.25, 0.0]] * n,
            "weights": draw.random((n, 10)).tolist(),
            "given": texts.gather(draw.integers(0, 6, n)),
            "ranking": [["two", "a dog", "3"]] * n,
        }
    )


@pytest.mark.parametrize("how", SCORES)
def test_scores_are_those_of_one_process(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "BLOCK", 64)
    answers, engine = random_answers(500), Counting()

    assert_series_equal(scores(answers, how, engine), score(answers, how), check_exact=True)
    assert engine.batches == [8]


def test_what_cannot_be_scored_is_the_error_of_one_process() -> None:
    with pytest.raises(DataError, match="a column 'answers'"):
        scores(random_answers(3).drop("answers"), "vqa", Backwards())
    with pytest.raises(UnknownNameError):
        scores(random_answers(3), "vqa2", Backwards())


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=11, images=80)


@pytest.mark.parametrize("name", ["accuracy", "grounding", "perception", "rules", "splits"])
def test_a_judgement_is_that_of_one_process(
    name: str, world: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "BLOCK", 3)
    monkeypatch.setattr(groups, "BLOCK", 3)
    audit = make_audit(name, {"by": ("question_type", "answer")})
    run = Run(Store(tmp_path)).start(world)
    study = run.study([audit])[name]
    model, engine = load("world:mix:seer=0.6,guesser=0.4"), Counting()
    run.audit(model)
    answers = run.store.answers(model.name)

    there, here = (audit.judge(world, study, answers, where) for where in (engine, Local()))
    assert min(engine.batches) > 1, "nothing was parted"
    assert list(there.tables) == list(here.tables)
    for table in ("measures", "rows", *here.tables):
        assert_frame_equal(there.table(table), here.table(table), check_exact=True)
    assert (there.views, there.verdict) == (here.views, here.verdict)
