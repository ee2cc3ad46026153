"""The planted decoy imbalance is found, and neutral decoys take it away: the pattern of the paper's Table 3."""

import polars as pl
import pytest

from eyechart.audits.decoys import DecoysAudit
from eyechart.audits.decoys.blind import CONTROL
from eyechart.data.result import Result
from eyechart.engines import Local
from eyechart.formats import read

MADE = ("iou", "qou", "iou+qou")


@pytest.fixture(scope="module")
def study() -> Result:
    world = read("world", seed=12, images=1000, plant=("decoy",))
    return DecoysAudit(drawing="neutral", leave_out=True, sets=("orig", *MADE)).study(world, Local())


def over_chance(study: Result, solver: str, options: str) -> float:
    table = study.tables["solvers"].filter((pl.col("solver") == solver) & (pl.col("options") == options))
    return float(table["over_chance"].item())


def reaches_within(study: Result, solver: str, options: str, points: float) -> bool:
    """Return whether an accuracy so close to chance is compatible with the 1,500 judged examples."""
    one = study.tables["solvers"].row(
        by_predicate=(pl.col("solver") == solver) & (pl.col("options") == options), named=True
    )
    return bool(one["over_low"] <= points and one["over_high"] >= -points)


def accuracy(study: Result, solver: str, options: str) -> float:
    return study.measure(solver, options).value


def test_planted_foils_give_the_answer_away(study: Result) -> None:
    assert (study.verdict.state, study.verdict.label) == ("no", "options give it away")
    assert study.headline == study.measure("options alone over chance", "orig")
    assert study.headline.better == "lower"
    assert study.headline.low > 0.15
    assert "Better options: 'iou+qou'." in study.verdict.sentence
    assert over_chance(study, "prior rule", "orig") > 0.15
    assert over_chance(study, "A", "orig") > 0.15


@pytest.mark.parametrize("options", MADE)
def test_neutral_decoys_leave_next_to_nothing_to_answers_alone(study: Result, options: str) -> None:
    assert abs(over_chance(study, "prior rule", options)) <= 0.02
    assert reaches_within(study, "A", options, 0.04)


def test_the_image_falls_with_iou_and_the_question_with_qou(study: Result) -> None:
    assert over_chance(study, "I+A", "iou") < 0.05 < over_chance(study, "I+A", "qou")
    assert over_chance(study, "Q+A", "qou") < 0.1 < over_chance(study, "Q+A", "iou")


@pytest.mark.parametrize("options", ["orig", *MADE])
def test_everything_together_stays_highest(study: Result, options: str) -> None:
    both = accuracy(study, "I+Q+A", options)

    assert all(both > accuracy(study, solver, options) for solver in ("A", "Q+A", "I+A", "prior rule"))


@pytest.mark.parametrize("options", ["orig", *MADE, "random"])
def test_random_targets_teach_nothing(study: Result, options: str) -> None:
    assert abs(over_chance(study, CONTROL, options)) < 0.02


def test_lower_is_better_except_for_the_solver_that_sees_all_and_the_control(study: Result) -> None:
    better = dict(study.measures.select("name", "better").unique().iter_rows())

    neither = {name for name, way in better.items() if way == "neither"}
    assert neither == {"chance", "I+Q+A", "control"}
    assert {better[name] for name in better.keys() - neither} == {"lower"}


def test_neutrality_is_tested_before_and_after(study: Result) -> None:
    p = dict(study.tables["neutrality"].select("options", "p").iter_rows())

    assert p["orig"] < 0.01
    assert all(p[options] > 0.05 for options in MADE)


def test_foils_are_the_texts_out_of_balance(study: Result) -> None:
    foils = {"window", "door", "wall", "curtain", "flying", "falling", "crying", "smoking"}
    usage = study.tables["usage"].filter((pl.col("options") == "orig") & pl.col("text").is_in(list(foils)))

    assert usage.height == len(foils)
    assert (usage["prior"] == 0).all()


def test_solvability_is_saved_for_every_judged_example(study: Result) -> None:
    assert study.rows.height == 1500
    assert study.rows["orig A"].null_count() == 0
    assert study.rows["orig prior rule"].null_count() == 0
