"""Intervals are for new examples and new donors: of scores, shares, groups and comparisons."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from eyechart.audits.perception import PerceptionAudit
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.result import Result
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.models import load
from eyechart.runs.comparison import compare
from eyechart.runs.run import Run
from eyechart.runs.verbs import audit
from eyechart.statistics import Draws, mean, paired_difference, ratio
from unit.audits.perception.moods import Reader, moody

MIXED = "mix:seer=0.5,cheater=0.5"


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, dict[str, Result]]:
    """Judge two models by one study with joint removals."""
    run = Run(Store(tmp_path_factory.mktemp("run"))).start(read("world", seed=6, images=120))
    run.study([PerceptionAudit(interactions=True, draws=3, by=("question_type",))])
    for model in (MIXED, "seer"):
        run.audit(load(f"world:{model}"))
    return run.store, {model: found["perception"] for model, found in run.store.results().items()}


def draws_by_probes(store: Store, result: Result, removal: str, column: str, ids: pl.Series) -> tuple[pl.Series, Draws]:
    """Collect the losses of a removal and their donors from what was asked and said."""
    rows = result.rows.filter(pl.col("id").is_in(ids.implode())).sort("id")
    cluster = store.data.examples.select("id", "image", "answer")
    number = {name: at for at, name in enumerate(sorted(set(cluster["image"])))}
    own, truth = dict(cluster.select("id", "image").iter_rows()), dict(cluster.select("id", "answer").iter_rows())
    said = {
        (each["id"], each["condition"]): each["answer"] for each in store.answers(result.subject).answers.to_dicts()
    }
    at = {name: index for index, name in enumerate(rows["id"])}
    terms = []
    for k in range(3):
        for probe in store.probes(f"{removal}#{k}").filter(pl.col("id").is_in(ids.implode())).to_dicts():
            name = probe["id"]
            plain, there = said[name, "plain"], said[name, f"{removal}#{k}"]
            lost = float(plain == truth[name]) - float(there == truth[name])
            value = {"perception": lost, "without": float(there == truth[name]), "changed": float(plain != there)}
            for modality in removal.split("+"):
                donor = number[own[probe[f"{modality}_from"]]]
                terms.append((at[name], donor, value[column], 1 / 3, 0))
    row, donor, value, share, kind = map(np.array, zip(*terms, strict=True))
    return rows, Draws(np.array([number[own[name]] for name in rows["id"]]), row, donor, value, share, kind)


@pytest.mark.parametrize("removal", ["image", "question", "image+question"])
@pytest.mark.parametrize(
    ("name", "column"), [("perception", "perception"), ("accuracy without", "without"), ("changed", "changed")]
)
def test_the_donors_are_those_of_the_probes(
    judged: tuple[Store, dict[str, Result]], removal: str, name: str, column: str
) -> None:
    """Joint removals have independent donors for each modality, and both count."""
    store, results = judged
    result = results[MIXED]
    found = result.measure(name, removal)
    rows, draws = draws_by_probes(store, result, removal, column, result.rows["id"])
    values = rows[f"{column} {removal}"]
    if name == "perception":
        expected = paired_difference(values, 0 * values, rows["cluster"], draws=draws)
    else:
        expected = mean(values, rows["cluster"], draws=draws)

    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-9)


def test_ratios_and_groups_have_their_own_donors(judged: tuple[Store, dict[str, Result]]) -> None:
    store, results = judged
    result = results[MIXED]
    types = store.data.examples.filter(pl.col("question_type") == "what color is the")["id"]
    rows, draws = draws_by_probes(store, result, "image", "perception", types)
    found = result.measure("perception / model", "image", by="question_type", group="what color is the")
    expected = ratio(rows["perception image"], rows["accuracy"], rows["cluster"], taken=draws)

    assert found.n == rows.height > 20
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), rel=1e-9)


def test_no_interval_is_narrower_than_that_of_the_examples_alone(judged: tuple[Store, dict[str, Result]]) -> None:
    _, results = judged
    for result in results.values():
        for each in result.measures.filter(pl.col("of").is_not_null(), pl.col("by").is_null()).iter_rows(named=True):
            rows = result.rows.drop_nulls(each["of"])
            differs = each["name"] in {"perception", "interaction"}
            alone = mean(rows[each["of"]], rows["cluster"], kind="differences" if differs else "scores")

            assert each["low"] <= alone.low + 1e-12, each["name"]
            assert each["high"] >= alone.high - 1e-12, each["name"]


@pytest.mark.parametrize("group", [None, "what color is the"])
def test_models_are_compared_for_new_donors(judged: tuple[Store, dict[str, Result]], group: str | None) -> None:
    """Both saw the same donors, so what counts is the difference of what these do to each."""
    store, results = judged
    table = compare(results, store.data, base="seer")
    shown = table.filter(
        pl.col("model") == MIXED,
        pl.col("name") == "perception",
        pl.col("condition") == "image",
        pl.col("group").eq_missing(pl.lit(group)),
    ).row(0, named=True)
    examples = store.data.examples
    ids = (examples if group is None else examples.filter(pl.col("question_type") == group))["id"]
    (rows, own), (base_rows, base) = (
        draws_by_probes(store, results[model], "image", "perception", ids) for model in (MIXED, "seer")
    )
    one, other = rows["perception image"], base_rows["perception image"]
    expected = paired_difference(one, other, rows["cluster"], draws=own.minus(base))
    alone = paired_difference(one, other, rows["cluster"])

    assert (shown["delta_low"], shown["delta_high"]) == pytest.approx((expected.low, expected.high), rel=1e-9)
    assert shown["p"] == pytest.approx(expected.p)
    assert expected.se >= alone.se
    same = compare({"one": results[MIXED], "other": results[MIXED]})
    assert set(same.filter(pl.col("model") == "other")["delta"].drop_nulls()) == {0.0}


def test_the_errors_of_examples_draws_and_donors_add_up() -> None:
    result = audit(moody(np.random.default_rng(3), 150, 2), Reader(), [PerceptionAudit(modalities=("image",))])
    errors = result["perception"].tables["errors"].row(0, named=True)
    parts = [errors[name] for name in ("examples_se", "draws_se", "donors_se")]

    assert errors["donors_se"] > 0.5 * errors["examples_se"]
    assert errors["se"] == pytest.approx(np.hypot.reduce(parts))


def test_a_precision_that_other_donors_forbid_is_out_of_reach() -> None:
    """More draws come from the same donors."""
    data = moody(np.random.default_rng(3), 150, 2)
    found = audit(data, Reader(), [PerceptionAudit(modalities=("image",))])["perception"].measure("perception", "image")
    alone = paired_width(data)
    wanted = 100 * (found.high - found.low + alone) / 2 - 1
    result = audit(data, Reader(), [PerceptionAudit(modalities=("image",), precision=wanted)])["perception"]

    assert any("out of reach" in note for note in result.tables["notes"]["note"])


def paired_width(data: Dataset) -> float:
    rows = audit(data, Reader(), [PerceptionAudit(modalities=("image",))])["perception"].rows
    it = mean(rows["perception image"], rows["cluster"], kind="differences")
    return it.high - it.low


def test_repeats_and_bounds_of_lost_answers_cover_new_donors(tmp_path: Path) -> None:
    data = moody(np.random.default_rng(3), 100, 2)
    chosen = PerceptionAudit(modalities=("image",), draws=2, repeats=2)
    run = Run(Store(tmp_path)).start(data)
    run.study([chosen])
    result = run.audit(Forgetful())["perception"]
    repeat = result.tables["repeats"].row(0, named=True)
    worst, found = result.measure("perception, lost as right", "image"), result.measure("perception", "image")

    assert repeat["low"] < repeat["perception"] < repeat["high"]
    assert worst.low < worst.value < found.value
    assert worst.high - worst.low > 0.9 * (found.high - found.low)


class Forgetful(Reader):
    """Leave some questions without an answer."""

    name = "forgetful"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        lost, said = pl.col("id").str.tail(1) == "7", super().answer(probes, images)
        status = pl.when(lost).then(pl.lit("unparsed")).otherwise(pl.lit("ok"))
        return said.with_columns(answer=pl.when(~lost).then("answer"), status=status)
