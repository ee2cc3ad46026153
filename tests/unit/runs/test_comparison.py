"""Models side by side: differences are those of the same examples, and never made where nothing can be paired."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from eyechart.audits.rules import RulesAudit
from eyechart.base.errors import DataError, UnknownNameError
from eyechart.data.dataset import Dataset
from eyechart.data.result import Result
from eyechart.data.store import Store
from eyechart.formats import read
from eyechart.reporting.comparison_table import lay_out, to_latex, to_markdown
from eyechart.runs.comparison import compare, gather_results
from eyechart.runs.verbs import audit
from eyechart.statistics import paired_difference

MODELS = ("seer", "blind", "cheater:word")


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=5, images=200)


@pytest.fixture(scope="module")
def found(world: Dataset) -> dict[str, Result]:
    return {model: audit(world, f"world:{model}", [RulesAudit(by=("answer_type",))])["rules"] for model in MODELS}


def row(table: pl.DataFrame, model: str, name: str, group: str | None = None) -> dict[str, object]:
    wanted = (pl.col("model") == model) & (pl.col("name") == name) & pl.col("group").eq_missing(pl.lit(group))
    return table.filter(wanted).row(0, named=True)


@pytest.mark.parametrize("group", [None, "counterexample", "other"])
def test_a_difference_is_that_of_the_means_over_common_examples(
    found: dict[str, Result], world: Dataset, group: str | None
) -> None:
    table = compare(found, world)
    shown = row(table, "blind", "accuracy", group)
    both = found["blind"].rows.join(found["seer"].rows, on="id", suffix="_seer").join(world.examples, on="id")
    kept = both if group is None else both.filter((pl.col("kind") == group) | (pl.col("answer_type") == group))

    assert kept.height == shown["common"]
    assert shown["delta"] == pytest.approx(kept["accuracy"].mean() - kept["accuracy_seer"].mean())
    assert shown["delta_low"] < shown["delta"] < shown["delta_high"] < 0
    assert shown["q"] < 0.05


def test_values_are_those_of_the_results_and_the_base_has_no_difference(found: dict[str, Result]) -> None:
    table = compare(found, base="blind")

    for model, result in found.items():
        mine = table.filter(pl.col("model") == model)
        assert mine["value"].to_list() == pytest.approx(result.measures["value"].to_list(), nan_ok=True)
    assert table.filter(pl.col("model") == "blind")["delta"].is_null().all()
    assert set(table["base"].drop_nulls()) == {"blind"}


def test_what_does_not_rest_on_examples_is_shown_without_a_difference(found: dict[str, Result]) -> None:
    gaps = compare(found).filter(pl.col("name") == "gap")

    assert gaps.height == len(MODELS)
    assert gaps["delta"].is_null().all()


def test_ranks_follow_the_means_and_leads_add_up_to_one(found: dict[str, Result]) -> None:
    ranked = compare(found).filter((pl.col("name") == "accuracy") & pl.col("by").is_null()).sort("rank")

    assert ranked["value"].to_list() == sorted(ranked["value"], reverse=True)
    assert ranked["model"][0] == "seer"
    assert ranked["first"].sum() == pytest.approx(1)
    assert ranked["first"][0] == 1


def test_two_equal_models_share_the_lead_and_do_not_differ(found: dict[str, Result]) -> None:
    table = compare({"one": found["blind"], "other": replace(found["blind"], subject="other")})
    accuracy = row(table, "other", "accuracy")

    assert (accuracy["delta"], accuracy["p"], accuracy["first"], accuracy["rank"]) == (0, 1, 0.5, 1)


def declared(results: dict[str, Result], better: str) -> dict[str, Result]:
    """Let every measure of the results declare a direction."""
    return {
        model: replace(result, measures=result.measures.with_columns(better=pl.lit(better)))
        for model, result in results.items()
    }


@pytest.mark.parametrize(("better", "descending"), [("higher", True), ("lower", False)])
def test_ranks_follow_the_declared_direction(found: dict[str, Result], better: str, descending: bool) -> None:  # noqa: FBT001
    table = compare(declared(found, better))
    ranked = table.filter(pl.col("name") == "accuracy", pl.col("by").is_null())

    assert ranked["rank"].to_list() == ranked["value"].rank("min", descending=descending).to_list()
    assert ranked["rank"].n_unique() > 1
    assert ranked.sort("rank")["first"][0] == ranked["first"].max()
    assert {row[1] for row in lay_out(table).rows} == {better}


def test_what_is_better_in_neither_direction_is_never_ranked(found: dict[str, Result]) -> None:
    table = compare(declared(found, "neither"))

    assert table["rank"].is_null().all()
    assert table["first"].is_null().all()
    assert table["delta"].is_not_null().any()
    assert {row[1] for row in lay_out(table).rows} == {""}


def test_differences_found_at_once_are_those_found_one_by_one(found: dict[str, Result], world: Dataset) -> None:
    """The intervals of all measures of a table are made together, in arrays."""
    table = compare(found, world).filter(pl.col("delta").is_not_null())

    for each in table.filter(pl.col("condition") == "plain").iter_rows(named=True):
        rows = [
            found[model].rows.with_columns(group=pl.lit(None, pl.String)) for model in (each["model"], each["base"])
        ]
        if each["by"] is not None:
            grouped = pl.concat([world.examples, found["seer"].rows.select("id", "kind")], how="align")
            rows = [one.join(grouped.filter(pl.col(each["by"]) == each["group"]), on="id", how="semi") for one in rows]
        of = found[each["model"]].measure(each["name"], each["condition"], each["by"], each["group"]).of
        both = rows[0].join(rows[1], on="id", suffix="_base").drop_nulls([str(of), f"{of}_base"])
        alone = paired_difference(both[of], both[f"{of}_base"], both["cluster"])
        assert (each["delta"], each["delta_low"], each["delta_high"], each["p"]) == pytest.approx(
            (alone.value, alone.low, alone.high, alone.p), abs=1e-9
        )


def test_results_of_other_settings_or_models_nobody_knows_are_refused(found: dict[str, Result]) -> None:
    other = replace(found["seer"], settings=found["seer"].settings | {"margin": 0.5})
    with pytest.raises(DataError, match="same settings"):
        compare({"a": found["seer"], "b": other})
    with pytest.raises(UnknownNameError, match="blnd"):
        compare(found, base="blnd")
    with pytest.raises(DataError, match="none"):
        compare({})


def test_runs_are_gathered_by_audit_and_names_of_two_runs_told_apart(world: Dataset, tmp_path: Path) -> None:
    for name in ("first", "second"):
        audit(world, "world:seer", ["accuracy"], to=tmp_path / name)
    gathered = gather_results([Store(tmp_path / "first"), Store(tmp_path / "second")])

    assert list(gathered) == ["accuracy"]
    assert list(gathered["accuracy"]) == ["seer (first)", "seer (second)"]

    audit(read("world", seed=6, images=20), "world:seer", ["accuracy"], to=tmp_path / "third")
    with pytest.raises(DataError, match="same data"):
        gather_results([Store(tmp_path / "first"), Store(tmp_path / "third")])


def test_tables_over_all_and_by_group_have_captions_of_their_own(found: dict[str, Result]) -> None:
    comparison = compare(found, base="seer")
    over_all = pl.col("by").is_null()
    whole, groups = (lay_out(comparison.filter(part)) for part in (over_all, ~over_all))

    assert whole.title == "rules: 3 models, differences from seer"
    assert groups.title == "rules by group: 3 models, differences from seer"


def test_tables_for_papers_hold_every_model_and_escape_what_must_be(found: dict[str, Result]) -> None:
    grid = lay_out(compare({"a|b_c": found["seer"], "d%": found["blind"]}))

    markdown, latex = to_markdown(grid), to_latex(grid)

    assert "a\\|b_c" in markdown
    assert markdown.count("\n|") == len(grid.rows) + 2
    assert r"a|b\_c" in latex
    assert r"d\%" in latex
    assert latex.count(r"\\") == len(grid.rows) + 1
