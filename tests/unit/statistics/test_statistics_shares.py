"""Shares of all values at once are the means of their flags."""

from random import Random

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.errors import SettingError
from eyechart.statistics import mean, shares

ROW = st.tuples(
    st.sampled_from(["x", "y", None]), st.sampled_from(["a", "b", "c", None]), st.sampled_from([*range(6), None])
)
SCHEMA = {"group": pl.String, "answer": pl.String, "cluster": pl.Int64}


@settings(deadline=None)
@given(st.lists(ROW, min_size=1, max_size=80))
def test_a_share_is_the_mean_of_its_flags(rows: list[tuple[str | None, str | None, int | None]]) -> None:
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")

    found = shares(table, "answer", ["group"])

    assert set(found.select("group", "answer").rows()) == {each[:2] for each in rows}
    for row in found.iter_rows(named=True):
        part = table.filter(pl.col("group").eq_missing(pl.lit(row["group"], pl.String)))
        flags = part.select(pl.col("answer").eq_missing(pl.lit(row["answer"], pl.String)).cast(pl.Float64)).to_series()
        truth = mean(flags, part["cluster"])
        assert (row["hits"], row["n"]) == (int(flags.sum()), truth.n)
        np.testing.assert_allclose(
            [row["share"], row["low"], row["high"]], [truth.value, truth.low, truth.high], rtol=1e-9, atol=1e-12
        )


@settings(deadline=None)
@given(st.lists(ROW, min_size=1, max_size=40), st.randoms())
def test_the_order_of_rows_changes_no_bit(rows: list[tuple[str | None, str | None, int | None]], lot: Random) -> None:
    table = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    shuffled = rows.copy()
    lot.shuffle(shuffled)

    assert shares(table, "answer").equals(shares(pl.DataFrame(shuffled, schema=SCHEMA, orient="row"), "answer"))


def test_without_groups_the_whole_table_is_one() -> None:
    table = pl.DataFrame({"answer": list("aab"), "cluster": [1, 2, 3]})

    assert shares(table, "answer").select("answer", "hits", "n").rows() == [("a", 2, 3), ("b", 1, 3)]


def test_no_rows_have_no_shares() -> None:
    table = pl.DataFrame(schema={"answer": pl.String, "cluster": pl.Int64})

    found = shares(table, "answer")

    assert found.columns == ["answer", "hits", "n", "share", "low", "high"]
    assert found.is_empty()


def test_a_level_beyond_1_is_refused() -> None:
    with pytest.raises(SettingError, match="level between 0 and 1"):
        shares(pl.DataFrame({"answer": ["a"], "cluster": [1]}), "answer", level=95)
