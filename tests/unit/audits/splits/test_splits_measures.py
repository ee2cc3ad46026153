"""Measures are what they are called, and their intervals those of other ways to the same number."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.audits import make_audit
from eyechart.audits.splits import SplitsAudit
from eyechart.audits.splits.gaps import Sides, drop_from_all, gap_contributions, set_mean
from eyechart.data.dataset import Dataset
from eyechart.data.result import Result
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.runs.verbs import audit
from eyechart.statistics import difference, mean

RNG = np.random.default_rng(3)


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=8, images=600)


@pytest.fixture(scope="module")
def judged(world: Dataset) -> Result:
    return audit(world, "world:mix:seer=0.5,cheater=0.5", ["splits"])["splits"]


def test_every_measure_with_a_column_is_the_mean_of_it(judged: Result) -> None:
    """A comparison of models pairs these columns, so their mean over the measure's rows must be the value."""
    checked = 0
    for one in judged.measures.filter(pl.col("of").is_not_null()).iter_rows(named=True):
        rows = judged.rows if one["by"] is None else judged.rows.filter(pl.col(one["by"]) == one["group"])
        values = rows[one["of"]].drop_nulls()
        assert values.mean() == pytest.approx(one["value"], abs=1e-12), one["name"]
        assert (len(values) == one["n"]) or one["name"].startswith(("drop", "union")), one["name"]
        checked += 1
    assert checked > 40


def test_every_measure_says_which_way_is_better(world: Dataset, judged: Result) -> None:
    found = dict(judged.measures.select(pl.col("name").str.split(",").list.first(), "better").unique().iter_rows())

    assert found == {
        **dict.fromkeys(("accuracy", "OOD mean"), "higher"),
        **dict.fromkeys(("drop", "OOD drop", "union drop"), "lower"),
        **dict.fromkeys(("gap", "matched gap", "pooled gap", "largest gap"), "lower"),
    }
    assert set(SplitsAudit().study(world, Local()).measures["better"]) == {"neither"}


def test_every_share_that_a_view_shows_is_marked_as_one(world: Dataset, judged: Result) -> None:
    """Entropies, q-values and the cut of a tail are plain numbers; any other with a fraction is a share."""
    plain = {"imbalance", "judged_imbalance", "threshold", "judged_cut"}
    checked = 0
    for result in (SplitsAudit().study(world, Local()), judged):
        for view in (each for each in result.views if each.table != "measures"):
            table = result.table(view.table)
            names = view.columns.values() or table.columns
            shares = {name for name in names if table.schema[name].is_float() and not name.endswith("_q")} - plain
            assert {view.units.get(name) for name in shares} <= {"points"}, view.title
            assert {*view.units.values()} <= {"points"}
            assert not {name for name in view.units if name in plain or name.endswith("_q")}
            checked += len(shares)
    assert checked > 40


def test_the_verdict_names_the_gap_it_rests_on(judged: Result) -> None:
    assert (judged.verdict.state, judged.verdict.label) == ("no", "fails on rare answers")
    assert judged.headline == judged.measure("largest gap", "plain")
    assert judged.verdict.margin == 0.05


def test_means_and_drops_are_those_of_the_sets(judged: Result) -> None:
    rows = judged.rows
    tails = {name: rows.filter(pl.col(name) == "tail")["accuracy"].mean() for name in judged.tables["sets"]["concept"]}
    overall = rows["accuracy"].mean()

    assert judged.measure("OOD mean", "plain").value == pytest.approx(np.mean(list(tails.values())))
    assert judged.measure("OOD mean, visual", "plain").value == pytest.approx((tails["KO"] + tails["KOP"]) / 2)
    for name, value in tails.items():
        assert judged.measure(f"drop, {name}", "plain").value == pytest.approx(overall - value)
    union = rows.filter(pl.any_horizontal(pl.col(list(tails)) == "tail"))["accuracy"].mean()
    assert judged.measure("accuracy", "plain", "union", "tail").value == pytest.approx(union)


def test_a_drop_has_the_interval_of_its_tail_against_the_rest(judged: Result) -> None:
    for name in ("KW", "QT+KO"):
        tail = (judged.rows[name] == "tail").fill_null(value=False)
        rest, rare = judged.rows.filter(~tail), judged.rows.filter(tail)
        gap = difference(rest["accuracy"], rare["accuracy"], rest["cluster"], rare["cluster"])
        found, share = judged.measure(f"drop, {name}", "plain"), rest.height / judged.rows.height

        assert [found.low, found.high] == pytest.approx([gap.low * share, gap.high * share])


def test_no_interval_exceeds_the_possible_range(world: Dataset) -> None:
    """Who is nearly always right has means near 1, whose contributions spread beyond it."""
    found = audit(world, "world:mix:seer=0.97,guesser=0.03", ["splits"])["splits"].measures
    means = found.filter(pl.col("name").str.starts_with("OOD mean"))

    assert means.height == 4
    assert (means["high"] <= 1).all()
    assert (means["high"] > means["value"]).all()
    assert found["low"].min() >= -1
    assert found["high"].max() <= 1


def jackknife_error(scores: np.ndarray, sets: list[np.ndarray], clusters: np.ndarray) -> float:
    """Leave out each cluster in turn."""
    values = []
    for one in np.unique(clusters):
        kept = clusters != one
        values.append(scores[kept].mean() - np.mean([scores[kept & inside].mean() for inside in sets]))
    n = len(values)
    return float(np.sqrt((n - 1) / n * np.sum((np.array(values) - np.mean(values)) ** 2)))


def test_the_error_of_a_drop_over_overlapping_sets_is_that_of_a_jackknife() -> None:
    clusters = np.repeat(np.arange(150), 4)
    scores = (RNG.random(600) < np.repeat(RNG.random(150), 4)).astype(float)
    sets = [RNG.random(600) < share for share in (0.2, 0.3, 0.5)]
    sets[1] |= sets[0]

    found = mean(drop_from_all(scores, sets), clusters, kind="differences")

    assert found.se == pytest.approx(jackknife_error(scores, sets, clusters), rel=0.05)
    assert np.nanmean(set_mean(scores, sets)) == pytest.approx(np.mean([scores[one].mean() for one in sets]))


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), strata=st.integers(1, 12))
def test_the_gap_is_the_coefficient_of_a_regression_with_strata(seed: int, strata: int) -> None:
    """Value and clustered error are those of statsmodels with a dummy for each stratum."""
    rng = np.random.default_rng(seed)
    n = 120
    group, tail = rng.integers(0, strata, n), (rng.random(n) < 0.4).astype(float)
    scores, clusters = rng.random(n), rng.integers(0, 40, n)

    found = gap_contributions(Sides(scores, tail, group))

    assert found is not None
    used = ~np.isnan(found)
    dummies = (group[used, None] == np.unique(group[used])).astype(float)
    fitted = sm.OLS(scores[used], np.column_stack([tail[used], dummies])).fit(
        cov_type="cluster", cov_kwds={"groups": clusters[used], "use_correction": True}
    )
    estimate = mean(found[used], clusters[used], kind="differences")
    assert estimate.value == pytest.approx(-fitted.params[0], abs=1e-9)
    assert estimate.se == pytest.approx(fitted.bse[0], rel=1e-6)


def test_one_sided_strata_contribute_nothing() -> None:
    found = gap_contributions(Sides(np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0, 1])))

    assert found is None


@pytest.mark.parametrize(
    ("sides", "measured"), [((10, 10), True), ((9, 10), False), ((14, 86), False), ((16, 84), True)]
)
def test_a_gap_needs_twenty_effective_examples(sides: tuple[int, int], measured: bool) -> None:  # noqa: FBT001
    """(sum w)^2 / sum w^2 with w = (t - mean)^2: 20 where both sides are alike, and 18.8 and 22.5 of a hundred."""
    tail = np.repeat([0.0, 1.0], sides)

    found = gap_contributions(Sides(RNG.random(sum(sides)), tail, np.zeros(sum(sides), np.int64)))

    assert (found is not None) == measured


def test_question_types_are_held_fixed_whatever_concepts_are_asked_for(world: Dataset, judged: Result) -> None:
    bare = replace(world, examples=world.examples.drop("question_type"))
    chosen = make_audit("splits", {"concepts": ("KW",)})
    alone, untyped = (audit(data, "world:mix:seer=0.5,cheater=0.5", [chosen])["splits"] for data in (world, bare))

    assert alone.measure("gap, KW", "plain").value == judged.measure("gap, KW", "plain").value
    assert untyped.measure("accuracy", "plain") == alone.measure("accuracy", "plain")


def test_a_guesser_whose_chances_depend_on_the_type_has_a_drop_but_no_gap() -> None:
    """Yes/no questions are easier by chance; where tails have fewer of them, the drop is mechanical."""
    rng = np.random.default_rng(1)
    n = 20_000
    kind = rng.integers(0, 2, n)
    tail = rng.random(n) < np.where(kind == 0, 0.1, 0.6)
    scores = (rng.random(n) < np.where(kind == 0, 0.5, 0.1)).astype(float)

    drop = mean(drop_from_all(scores, [tail]), kind="differences")
    gap = mean(gap_contributions(Sides(scores, tail.astype(float), kind)), kind="differences")

    assert drop.low > 0.05
    assert gap.low < 0 < gap.high


def test_worst_groups_have_the_listed_accuracies(world: Dataset, judged: Result) -> None:
    labels = make_labels(world)
    for one in judged.tables["worst"].head(20).iter_rows(named=True):
        members = judged.rows.join(labels.filter(pl.col(one["concept"]) == one["group"]), on="id", how="semi")
        for side in ("head", "tail"):
            part = members.filter(pl.col(one["concept"]) == side)
            assert part.height == one[f"n_{side}"]
            assert part["accuracy"].mean() == pytest.approx(one[side])
        assert one["drop"] == pytest.approx(one["head"] - one["tail"])
    assert judged.tables["worst"]["surely"].is_sorted(descending=True)


def make_labels(world: Dataset) -> pl.DataFrame:
    return SplitsAudit().study(world, Local()).tables["labels"].rename({"example": "id"})


def test_a_breakdown_by_a_column_is_measured(world: Dataset) -> None:
    found = audit(world, "world:seer", [make_audit("splits", {"by": "answer_type"})])["splits"]

    assert found.measure("accuracy", "plain", "answer_type", "yes/no").value == 1


def test_the_interval_of_the_largest_gap_holds_for_all_gaps_together() -> None:
    """Of two gaps with many mistakes each gets 1 - 0.05 / 2, by quantiles of t; one alone keeps its 95 %."""
    from scipy.stats import t

    world, found = read("world", seed=8, images=1200), {}
    for concepts in (("KW",), ("KW", "QT+KW")):
        audits = [make_audit("splits", {"concepts": concepts})]
        result = audit(world, "world:mix:seer=0.5,cheater=0.5", audits)["splits"]
        gaps = result.measures.filter(pl.col("name").is_in([f"gap, {name}" for name in concepts]))
        value, low, high = (gaps[name].to_numpy() for name in ("value", "low", "high"))
        freedom = gaps["clusters"].to_numpy() - 1
        wider = t.ppf(1 - 0.025 / len(concepts), freedom) / t.ppf(0.975, freedom)
        found[len(concepts)] = result.measure("largest gap", "plain")

        assert found[len(concepts)].low == pytest.approx((value - wider * (value - low)).max(), abs=1e-9)
        assert found[len(concepts)].high == pytest.approx((value + wider * (high - value)).max(), abs=1e-9)
    assert found[2].low < found[1].low
