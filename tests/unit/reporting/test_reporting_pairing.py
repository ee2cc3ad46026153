"""Two models are chosen as a reader would, and the lead is that of the paired difference."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest

from eyechart.reporting.pairing import choose_pair, measure_lead
from eyechart.statistics import paired_difference


def line(model: str, state: str, right: float | None) -> Any:  # noqa: ANN401 - what a row of the matrix has
    value = None if right is None else SimpleNamespace(value=right)
    return SimpleNamespace(model=model, overall=SimpleNamespace(state=state), right=value)


@pytest.mark.parametrize(
    ("lines", "pair"),
    [
        ([("a", "no", 0.9), ("b", "yes", 0.5), ("c", "yes", 0.7), ("d", "no", 0.2)], ("a", "c")),
        ([("a", "cannot tell", 0.2), ("b", "cannot tell", 0.9), ("c", "cannot tell", 0.4)], ("b", "c")),
        ([("a", "no", 0.2), ("b", "no", 0.9), ("c", "cannot tell", 0.4)], ("b", "c")),
        ([("b", "not tested", None), ("a", "not tested", None)], ("a", "b")),
        ([("a", "yes", 0.2)], None),
    ],
)
def test_the_best_that_looks_meets_the_best_that_does_not(lines: Any, pair: Any) -> None:  # noqa: ANN401
    assert choose_pair([line(*each) for each in lines]) == pair


def make_scores(gap: float) -> pl.DataFrame:
    rng = np.random.default_rng(4)
    first = rng.random(600) < 0.5
    second = first | (rng.random(600) < gap)
    table = pl.DataFrame({"first": first, "second": second, "cluster": rng.integers(0, 90, 600)})
    return table.with_columns(pl.col("first", "second").cast(pl.Float64))


def test_the_lead_is_the_paired_difference_whoever_is_named_first() -> None:
    scores = make_scores(0.4)
    lead = measure_lead("one", "two", scores)
    expected = paired_difference(scores["second"].to_numpy(), scores["first"].to_numpy(), scores["cluster"])

    assert lead is not None
    assert (lead.leader, lead.n) == ("two", 600)
    assert (lead.value, lead.low, lead.high) == pytest.approx((expected.value, expected.low, expected.high))
    assert lead == measure_lead("two", "one", scores.rename({"first": "second", "second": "first"}))
    assert str(lead).startswith("two leads: two is right ")


def test_what_is_not_sure_is_not_called_a_lead() -> None:
    lead = measure_lead("one", "two", make_scores(0.002))

    assert lead is not None
    assert not lead.is_sure
    assert str(lead).startswith("It is not sure which leads")


def test_without_common_examples_nobody_leads() -> None:
    scores = pl.DataFrame({"first": [1.0, None], "second": [None, 0.0], "cluster": ["a", "b"]})

    assert measure_lead("one", "two", scores) is None
