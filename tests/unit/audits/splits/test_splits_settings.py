"""Settings do what they say, and data that lack something are studied as far as they go."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from eyechart.audits import make_audit, remake_audit
from eyechart.audits.splits import SplitsAudit
from eyechart.audits.splits.settings import NINE
from eyechart.base.errors import DataError, FileFormatError, SettingError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.result import Result
from eyechart.data.store import Store
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.models import load
from eyechart.runs.contract import check_audit
from eyechart.runs.verbs import audit


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=4, images=120)


def study(data: Dataset, **settings: object) -> Result:
    return make_audit("splits", settings).study(data, Local())


def notes(result: Result) -> str:
    return " ".join(result.tables["notes"]["note"])


def questions(*rows: tuple[str, str]) -> Dataset:
    examples = pl.DataFrame(
        {
            "id": [str(at) for at in range(len(rows))],
            "image": [str(at) for at in range(len(rows))],
            "question": [question for question, _ in rows],
            "answer": [answer for _, answer in rows],
        }
    )
    return Dataset("few", examples, Images.named(examples["image"]))


def test_without_question_types_they_are_learned(world: Dataset) -> None:
    bare = replace(world, examples=world.examples.drop("question_type"))

    found = study(bare, concepts="QT")

    assert "were learned from how questions begin" in notes(found)
    assert found.tables["concepts"]["groups"][0] > 5


def test_learned_question_types_are_held_fixed_in_gaps() -> None:
    """A guesser is right more often on yes/no questions; within learned types it has no gap."""
    data = read("world", seed=4, images=1500)
    bare = replace(data, examples=data.examples.drop("question_type"))

    typed, learned = (audit(each, "world:guesser", ["splits"])["splits"] for each in (data, bare))

    for result in (typed, learned):
        gap = result.measure("pooled gap", "plain")
        assert gap.low < 0 < gap.high


def test_question_types_can_be_given(world: Dataset, tmp_path) -> None:  # noqa: ANN001 - a fixture of pytest
    file = tmp_path / "types.txt"
    file.write_text("what color\nwhat\n\n", encoding="utf-8")

    found = study(world, concepts="QT", types=str(file))

    assert set(found.tables["labels"]["QT"]) == {"what color", "what", "none of the above"}
    with pytest.raises(FileFormatError, match="a line each"):
        study(world, types=str(tmp_path / "nothing.txt"))


def test_without_objects_the_sets_of_objects_are_empty_and_noted(world: Dataset) -> None:
    blind = replace(world, images=Images(world.images.table.drop("objects")))

    found = study(blind)
    judged = audit(blind, "world:blind", ["splits"])["splits"]

    assert "no example has objects" in notes(found)
    assert "no OOD test set for KO, KOP, QT+KO, KW+KO, QT+KW+KO" in notes(found)
    assert found.rows["KO"].null_count() == found.rows.height
    assert judged.tables["sets"].drop_nulls("tail")["concept"].to_list() == ["QT", "KW", "KWP", "QT+KW"]
    assert "OOD mean, visual" not in judged.measures["name"]


def test_missing_concepts_can_be_a_group_of_their_own(world: Dataset) -> None:
    found = study(world, missing="group")

    assert found.tables["labels"]["KWP"].null_count() == 0
    assert found.tables["labels"]["KWP"].str.ends_with(" + (none)").any()
    assert study(world).tables["labels"]["KWP"].null_count() > 0


def test_one_example_is_a_balanced_group() -> None:
    found = study(questions(("is it red?", "yes")))

    assert found.tables["groups"]["entropy"].to_list() == [1.0] * found.tables["groups"].height
    assert found.tables["groups"].height > 0
    assert not found.tables["groups"]["imbalanced"].any()


@pytest.mark.parametrize("threshold", ["0.9", "gqa-ood"])
def test_where_every_group_is_balanced_the_empty_sets_are_noted(threshold: str) -> None:
    data = questions(*[("is it red?", "yes"), ("is it red?", "no")] * 4)

    found = study(data, threshold=threshold)
    judged = audit(data, "world:guesser", [make_audit("splits", {"threshold": threshold})])["splits"]

    assert "no OOD test set for QT, KW" in notes(found)
    assert (judged.verdict.state, judged.verdict.label) == ("not tested", "sets too small")
    assert judged.headline == judged.measure("accuracy", "plain")
    assert "fewer than 100 examples and 5% of the judged ones for every concept" in judged.verdict.sentence


def test_a_threshold_below_every_entropy_leaves_no_set(world: Dataset) -> None:
    found = study(world, threshold=0)

    assert found.tables["concepts"]["imbalanced"].sum() == 0
    assert found.tables["answers"].is_empty()


def test_an_answer_seen_once_is_tail_of_an_imbalanced_group() -> None:
    data = questions(*[("is it red?", "yes")] * 9, ("is it red?", "no"))

    rows = study(data, concepts="QT").rows.sort("id")

    assert rows["QT"].to_list() == ["head"] * 9 + ["tail"]


def test_any_columns_and_parts_can_be_a_concept(world: Dataset) -> None:
    found = study(world, concepts="question_type+keyword,answer_type,answer_type+KO")
    usual = study(world, concepts="QT+KW")

    assert found.rows["question_type+keyword"].equals(usual.rows["QT+KW"])
    assert found.tables["labels"]["answer_type"].n_unique() == 3
    assert found.tables["labels"]["answer_type+KO"].str.contains(r"^other \+ ").any()


def test_concepts_can_be_named_on_the_command_line(tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from eyechart.cli import app

    table = tmp_path / "questions.parquet"
    data = questions(("what color is the cat", "red"), ("what color is the dog", "blue"))
    data.examples.with_columns(source=pl.lit("here")).write_parquet(table)
    words = ["study", str(table), "-a", "splits", "--concept", "question_type+keyword", "--concept", "source"]
    done = CliRunner().invoke(app, [*words, "-o", str(tmp_path / "run")])

    assert done.exit_code == 0, done.output
    found = Store(tmp_path / "run").studies()["splits"].tables["concepts"]
    assert found["concept"].to_list() == ["question_type+keyword", "source"]


@pytest.mark.parametrize(("setting", "other"), [("tokenizer", "basic_english"), ("counted", "train")])
def test_each_choice_of_words_changes_labels(world: Dataset, setting: str, other: str) -> None:
    assert not study(world, **{setting: other}).tables["labels"].equals(study(world).tables["labels"])


@pytest.mark.parametrize("tokenizer", ["words", "basic_english"])
def test_a_question_with_nothing_beside_its_type_is_in_no_group_of_words(tokenizer: str) -> None:
    data = questions(("what color", "red"), ("what color", "blue"), ("what color is it", "red"))
    typed = replace(data, examples=data.examples.with_columns(question_type=pl.lit("what color")))

    labels = study(typed, concepts="KW", tokenizer=tokenizer).tables["labels"]

    assert labels["KW"].is_null().to_list() == [True, True, False]


def test_answers_are_listed_for_the_group_with_the_most_rare_answers_of_every_concept(world: Dataset) -> None:
    found = study(world)
    tails = found.tables["groups"].filter(pl.col("imbalanced") & (pl.col("tail") > 0)).sort("tail", descending=True)
    largest = tails.filter(pl.col("tail") == pl.col("tail").max().over("concept"))
    alone = largest.filter(pl.len().over("concept") == 1)
    listed = set(found.tables["answers"].select("concept", "group").rows())

    assert set(tails["concept"]) == {concept for concept, _ in listed}
    assert set(alone.select("concept", "group").rows()) <= listed


def test_the_cut_that_is_shown_is_alpha_times_the_mean_count_of_an_answer(world: Dataset) -> None:
    found = study(world, alpha=1.5)
    of_group = (
        found.tables["answers"]
        .drop_nulls("judged_cut")
        .join(found.tables["groups"].select("concept", "group", size="n", kinds="answers"), on=["concept", "group"])
    )

    assert of_group.height > 20
    assert of_group["judged_cut"].to_list() == pytest.approx((1.5 * of_group["size"] / of_group["kinds"]).to_list())


@pytest.mark.parametrize("unit", ["question", "image"])
def test_resplit_data_have_the_papers_shares(unit: str, tmp_path: Path) -> None:
    read("world", seed=4, images=800).save(tmp_path / "data")
    divided = read("resplit", tmp_path / "data", recipe="random", unit=unit, seed="5")

    found = study(divided, concepts="QT")

    n = dict(found.tables["counts"].select("status", "n").iter_rows())
    assert n["train"] / 4000 == pytest.approx(0.7, abs=0.04)
    assert n["val"] / 4000 == pytest.approx(0.05, abs=0.02)
    assert n["judged"] == 4000 - n["train"] - n["val"]
    assert ("also among those learned from" in notes(found)) == (unit == "question")


def test_what_is_judged_and_learned_from_is_that_of_the_division(world: Dataset) -> None:
    named = study(world.decide(judge=["val"]), concepts="QT")
    whole = study(world.decide(learn=["none"], judge=["none"]), concepts="QT")

    assert set(named.rows["id"]) == set(world.examples.filter(pl.col("split") == "val")["id"])
    assert named.tables["concepts"]["train_n"].to_list() == [360]
    assert whole.rows.height == 600
    assert whole.tables["concepts"]["train_n"].to_list() == [0]
    assert "no split to learn from: imbalance and heads are taken from the judged examples" in notes(whole)


def test_examples_of_no_part_are_counted(world: Dataset) -> None:
    """Val is a part of its own, unless it is judged or learned from."""
    counts = study(world.decide(learn=["none"], judge=["test"]), concepts="QT").tables["counts"]

    assert counts.select("status", "reason", "n").rows() == [
        ("judged", None, 180),
        ("val", None, 60),
        ("left out", "in another split", 360),
    ]


@pytest.mark.parametrize("setting", ["judge_split", "resplit", "seed"])
def test_removed_settings_say_what_to_do_instead(setting: str) -> None:
    with pytest.raises(SettingError, match=f"'{setting}', which was removed; .*(--judge|read resplit)"):
        make_audit("splits", {setting: "1"})


def test_a_plan_of_an_older_version_is_translated_unless_it_divided_the_data() -> None:
    old = {"judge_split": "val", "resplit": "none", "seed": 4, "margin": 0.1, "ties": "frequent", "compat": "release"}

    assert remake_audit("eyechart.audits.splits:SplitsAudit", old) == SplitsAudit(margin=0.1, published="vqa-vs")
    with pytest.raises(SettingError, match=r"resplit='image'; study again: .*--set unit=image"):
        remake_audit("eyechart.audits.splits:SplitsAudit", old | {"resplit": "image"})
    with pytest.raises(SettingError, match="one with ties='rare'; study the data again"):
        remake_audit("splits", old | {"ties": "rare"})


def test_data_with_a_train_split_and_another_name_are_judged_on_the_other(world: Dataset) -> None:
    named = world.examples.with_columns(pl.col("split").replace({"test": "testdev", "val": "testdev"}))

    found = study(replace(world, examples=named), concepts="QT")

    assert set(found.rows["id"]) == set(named.filter(pl.col("split") == "testdev")["id"])


def test_examples_without_an_answer_are_counted(world: Dataset) -> None:
    silent = world.examples.with_columns(answer=pl.when(pl.col("split") != "test").then(pl.col("answer")))

    counts = study(replace(world, examples=silent), concepts="QT").tables["counts"]

    assert counts.filter(pl.col("reason") == "no reference answer")["n"].to_list() == [180]


def test_a_chosen_group_comes_first_among_the_listed_answers(world: Dataset) -> None:
    listed = study(world, group="QT=what color is the").tables["answers"]

    assert listed.row(0)[:2] == ("QT", "what color is the")
    with pytest.raises(SettingError, match="concept=group"):
        study(world, group="QT=what colour")


@pytest.mark.parametrize(
    "wrong",
    [
        {"published": "half"},
        {"threshold": "low"},
        {"alpha": 0},
        {"concepts": ()},
        {"concepts": ("QT", "QT")},
        {"concepts": ("accuracy",)},
        {"missing": "drop"},
    ],
)
def test_settings_that_do_not_fit_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(SettingError):
        SplitsAudit(**wrong)  # type: ignore[arg-type]


def test_a_concept_that_no_column_has_is_refused(world: Dataset) -> None:
    with pytest.raises(DataError, match="'mood'"):
        study(world, concepts="QT+mood")
    with pytest.raises(DataError, match="a plain column 'answers'"):
        study(world, concepts="answers")


def test_other_settings_keep_the_contract_too() -> None:
    settings = {"validation": True, "missing": "group", "threshold": "gqa-ood", "types": "learned"}

    check_audit(make_audit("splits", settings), read("world", seed=11, images=60), load("world:guesser"))


def test_the_nine_names_are_those_of_the_paper() -> None:
    assert NINE == ("QT", "KW", "KWP", "QT+KW", "KO", "KOP", "QT+KO", "KW+KO", "QT+KW+KO")
