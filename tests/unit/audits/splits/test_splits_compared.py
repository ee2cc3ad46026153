"""The difference of two models is no surer than a small tail lets it be, in whatever measure the tail stands."""

import numpy as np
import polars as pl
import pytest

from eyechart.audits.splits.measures import ANSWER, GROUP, TYPE, Scored, measure_judged
from eyechart.data.result import Result, Verdict, measures_table
from eyechart.data.tables import COUNTS, empty
from eyechart.runs.comparison import compare
from eyechart.statistics import paired_difference

N = 300
Found = dict[str, dict[str, float]]


def judged(right: np.ndarray, tails: dict[str, range], *, weighted: bool = True) -> Result:
    columns = {name: ["tail" if at in tail else "head" for at in range(N)] for name, tail in tails.items()}
    columns |= {GROUP + name: ["g"] * N for name in tails} | {TYPE: ["kind"] * N, ANSWER: ["answer"] * N}
    ids = [f"{at:04}" for at in range(N)]
    rows = pl.DataFrame({"id": ids, "cluster": ids, "accuracy": right.astype(float), **columns})
    found = measure_judged(Scored(rows, tuple(tails), "exact", tuple(tails)))
    tables = {"counts": empty(COUNTS)} | ({"weights": found.weights} if weighted else {})
    verdict = Verdict("not tested", "Is it so?", "nothing", "Nothing.")
    return Result("splits", "model", {}, measures_table(found.measures), found.rows, tables, (), verdict)


def differences(base: Result, other: Result) -> Found:
    table = compare({"base": base, "other": other}).filter(pl.col("model") == "other").drop_nulls("delta")
    tails = table.filter(pl.col("group") == "tail").with_columns(name=pl.lit("tail of ") + pl.col("by"))
    return {row["name"]: row for row in pl.concat([table.filter(pl.col("by").is_null()), tails]).to_dicts()}


def two_models(tails: dict[str, range]) -> Found:
    """One model is right on 70 % of the heads and never in a tail, the other on 40 % and always."""
    rng = np.random.default_rng(1)
    inside = np.isin(np.arange(N), [at for tail in tails.values() for at in tail])
    first, second = (np.where(inside, tail, rng.random(N) < rate) for rate, tail in ((0.7, False), (0.4, True)))
    return differences(judged(first, tails), judged(second, tails))


def test_one_example_decides_nothing() -> None:
    found = two_models({"QT+KW+KO": range(N - 1, N)})
    tail = found["tail of QT+KW+KO"]

    assert (tail["delta"], tail["p"]) == (1, 1)
    for name in ("drop, QT+KW+KO", "union drop", "OOD drop", "OOD drop, multimodal"):
        assert found[name]["delta"] < -1
        assert found[name]["delta_high"] - found[name]["delta"] > (1 - 1 / N) * (tail["delta"] - tail["delta_low"])
        assert found[name]["p"] == 1
    assert found["OOD mean"]["delta_low"] == pytest.approx(tail["delta_low"])
    assert found["OOD mean"]["p"] == 1


def test_tails_of_five_four_and_one_are_no_surer_together_than_side_by_side() -> None:
    found = two_models({"QT+KO": range(290, 295), "KW+KO": range(295, 299), "QT+KW+KO": range(299, 300)})
    tails = [found[f"tail of {name}"] for name in ("QT+KO", "KW+KO", "QT+KW+KO")]

    for tail, name in zip(tails, ("QT+KO", "KW+KO", "QT+KW+KO"), strict=True):
        drop = found[f"drop, {name}"]
        share = 1 - tail["common"] / N
        assert drop["delta_high"] - drop["delta"] > share * (tail["delta"] - tail["delta_low"])
        assert drop["p"] == pytest.approx(tail["p"])
    # The one example is a third of the mean; the nine others have weights alike and count as nine.
    nine, one = paired_difference(np.ones(9), np.zeros(9)), tails[2]
    below = np.hypot(2 / 3 * (1 - nine.low), 1 / 3 * (1 - one["delta_low"]))
    for name in ("OOD mean", "OOD mean, multimodal"):
        assert found[name]["delta_low"] == pytest.approx(1 - below, abs=0.03)
        assert found[name]["p"] >= nine.p
    for name in ("OOD drop", "OOD drop, multimodal"):
        drop = found[name]
        assert drop["delta_high"] - drop["delta"] > 0.95 * below
        assert drop["p"] >= nine.p


def test_a_tail_of_one_among_large_ones_is_not_forgotten() -> None:
    found = two_models({"QT": range(150), "KO": range(150, 299), "QT+KO": range(299, 300)})

    assert found["OOD mean"]["delta"] == 1
    assert found["OOD mean"]["delta_low"] < 1 - 1.95 / 3


def test_differences_on_large_tails_are_those_of_the_contributions() -> None:
    rng = np.random.default_rng(2)
    first, second = rng.random(N) < 0.7, rng.random(N) < 0.4
    tails = {"QT": range(150), "KO": range(100, 250)}
    found = differences(judged(first, tails), judged(second, tails))
    plain = differences(*(judged(right, tails, weighted=False) for right in (first, second)))

    assert {"gap, QT", "matched gap, KO", "drop, QT", "OOD mean", "OOD drop", "union drop"} <= set(found)
    assert found == plain


def test_few_changes_in_large_tails_move_the_interval_by_little() -> None:
    rng = np.random.default_rng(3)
    first = rng.random(N) < 0.7
    second = first ^ (rng.random(N) < 0.05)
    tails = {"QT": range(150)}
    found = differences(judged(first, tails), judged(second, tails))
    plain = differences(*(judged(right, tails, weighted=False) for right in (first, second)))

    assert found["drop, QT"]["delta_low"] != plain["drop, QT"]["delta_low"]
    for name in ("gap, QT", "drop, QT", "OOD mean"):
        for end in ("delta", "delta_low", "delta_high"):
            assert found[name][end] == pytest.approx(plain[name][end], abs=0.02)


def test_examples_that_one_model_did_not_answer_leave_the_interval_as_wide() -> None:
    rng = np.random.default_rng(4)
    tails = {"QT": range(12)}
    base, other = judged(rng.random(N) < 0.7, tails), judged(rng.random(N) < 0.4, tails)
    fewer = judged(rng.random(N) < 0.7, tails)
    fewer = Result(**{**vars(fewer), "rows": fewer.rows.filter(pl.int_range(pl.len()) % 2 == 0)})
    whole, half = differences(base, other), differences(fewer, other)

    width = {key: one["drop, QT"]["delta_high"] - one["drop, QT"]["delta_low"] for key, one in enumerate((whole, half))}
    assert half["drop, QT"]["common"] == N // 2
    assert width[1] > width[0]
