"""The judgement: what is asked hides what it says, letters and texts mean the same option, and cheaters are caught."""

from typing import get_args

import polars as pl
import pytest

from eyechart.audits.decoys import DecoysAudit
from eyechart.audits.decoys.judge import picked_options, steadiness
from eyechart.audits.decoys.probing import Condition
from eyechart.audits.decoys.settings import Hidden
from eyechart.base.errors import DataError, SettingError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.predictions import Predictions, tidy
from eyechart.data.probes import fill
from eyechart.data.protocols import Model
from eyechart.data.result import Key, Result
from eyechart.data.tables import ANSWERS, empty
from eyechart.engines import Local
from eyechart.formats import read
from eyechart.world import load_answerer

EVERYTHING = DecoysAudit(ask=DecoysAudit.sets, hide=get_args(Hidden), rotations=3)
AUDIT = DecoysAudit(sets=("orig", "iou+qou"), folds=2, most=300, hide=get_args(Hidden), rotations=2)


@pytest.fixture(scope="module")
def world() -> Dataset:
    return read("world", seed=5, images=300)


@pytest.fixture(scope="module")
def study(world: Dataset) -> Result:
    return AUDIT.study(world, Local())


@pytest.fixture(scope="module")
def probes(world: Dataset, study: Result) -> dict[str, pl.DataFrame]:
    return dict(AUDIT.probe(world, study))


def judged(
    world: Dataset, study: Result, probes: dict[str, pl.DataFrame], model: Model, audit: DecoysAudit = AUDIT
) -> Result:
    answers = [tidy(model.answer(fill(one, world), world.images), one, model.name) for one in probes.values()]
    return audit.judge(world, study, Predictions(model.name, pl.concat(answers)), Local())


def test_the_conditions_are_those_of_the_grammar(probes: dict[str, pl.DataFrame]) -> None:
    hidden = ("", "-image", "-question", "-image-question")
    sets = [f"{name}{part}" for name in ("orig", "iou+qou") for part in hidden]

    assert set(probes) == {*sets, "orig@donor", "rotate#1", "rotate#2"}


def test_by_default_a_model_is_asked_six_times_about_each_example(world: Dataset, study: Result) -> None:
    asked = dict(DecoysAudit().probe(world, study))

    assert list(asked) == [
        "orig",
        "orig-image-question",
        "orig@donor",
        "rotate#1",
        "iou+qou",
        "iou+qou-image-question",
    ]


def test_everything_that_the_tables_of_the_paper_hold_can_be_asked(world: Dataset, study: Result) -> None:
    asked = dict(EVERYTHING.probe(world, study))

    hidden = ("", "-image", "-question", "-image-question")
    sets = [f"{name}{part}" for name in ("orig", "iou", "qou", "iou+qou", "all") for part in hidden]
    assert set(asked) == {*sets, "orig@donor", "rotate#1", "rotate#2", "rotate#3"}


def test_sets_that_are_not_among_those_asked_by_default_are_asked_where_there_are_no_others(
    tiny: Dataset, study: Result
) -> None:
    audit = DecoysAudit(sets=("orig", "qou"), folds=2, rotations=0)

    assert set(dict(audit.probe(tiny, audit.study(tiny, Local())))) == {"qou", "qou-image-question", "qou@donor"}


def test_what_is_hidden_is_not_shown_and_the_rest_is(world: Dataset, probes: dict[str, pl.DataFrame]) -> None:
    for condition, table in probes.items():
        shown = fill(table, world)
        for part in ("image", "question"):
            assert shown[part].is_null().all() == (f"-{part}" in condition), condition
        assert shown["choices"].list.len().min() >= 2


def test_options_keep_their_target_under_every_condition(world: Dataset, probes: dict[str, pl.DataFrame]) -> None:
    for table in probes.values():
        known = table.join(world.examples.select("id", "answer"), on="id", validate="1:1")
        assert known.select(pl.col("choices").list.contains(pl.col("answer")).all()).item()


def test_only_judged_examples_are_asked(world: Dataset, probes: dict[str, pl.DataFrame]) -> None:
    test = world.examples.filter(pl.col("split") == "test")["id"]

    assert set(probes["orig"]["id"]) == set(test)


class Lettered:
    """Answer with the letter of the first option."""

    name = "first"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        return probes.select("id", answer=pl.lit("A"))


class Steady:
    """Answer with the text of the option that is first in the alphabet, wherever it stands."""

    name = "steady"

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        return probes.select("id", answer=pl.col("choices").list.sort().list.first())


def test_a_model_that_always_answers_a_is_never_consistent(
    world: Dataset, study: Result, probes: dict[str, pl.DataFrame]
) -> None:
    result = judged(world, study, probes, Lettered())

    assert result.measure("consistent", "rotate").value == 0
    first = fill(probes["orig"], world).join(world.examples.select("id", "answer"), on="id")
    right = first.select((pl.col("choices").list.first() == pl.col("answer")).mean()).item()
    assert result.measure("accuracy", "orig").value == pytest.approx(right)


def test_a_model_that_picks_by_text_is_always_consistent(
    world: Dataset, study: Result, probes: dict[str, pl.DataFrame]
) -> None:
    result = judged(world, study, probes, Steady())

    assert result.measure("consistent", "rotate").value == 1
    assert result.measure("right under every shift", "rotate").value == result.measure("accuracy", "orig").value
    assert result.measure("image adds", "orig").value == 0


def test_the_seer_is_cleared_and_needs_both(world: Dataset, study: Result, probes: dict[str, pl.DataFrame]) -> None:
    result = judged(world, study, probes, load_answerer("seer"))

    assert (result.verdict.state, result.verdict.label) == ("yes", "needs more than the options")
    for options in ("orig", "iou+qou"):
        assert result.measure("accuracy", options).value == 1
        assert result.measure("image adds", options).value == 1
        assert result.measure("question adds", options).value == 1


class Open:
    """Answer openly, whatever the options are; with `named` it names one where it sees the picture."""

    def __init__(self, named: float) -> None:
        self.name, self.named = "open", named

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        chosen = pl.col("image").is_not_null() & (pl.int_range(pl.len()) < self.named * pl.len())
        return probes.select("id", answer=pl.when(chosen).then(pl.col("choices").list.first()).otherwise(pl.lit("hm")))


def test_a_model_that_never_chooses_among_the_options_is_not_cleared(
    world: Dataset, study: Result, probes: dict[str, pl.DataFrame]
) -> None:
    result = judged(world, study, probes, Open(0.4))
    n = probes["orig"].height

    assert (result.verdict.state, result.verdict.label) == ("cannot tell", "chooses none")
    assert f"With everything shown only {round(0.4 * n)} of {n} answers name an option" in result.verdict.sentence


def test_answers_that_name_no_option_are_counted_and_are_not_below_chance(
    world: Dataset, study: Result, probes: dict[str, pl.DataFrame]
) -> None:
    result = judged(world, study, probes, Open(0.4))
    n = probes["orig-image-question"].height

    over = result.measure("over chance", "orig-image-question")
    named = result.tables["named"].row(by_predicate=pl.col("condition") == "orig-image-question", named=True)
    assert (over.value, over.n) == (0, n)
    assert named == {
        "condition": "orig-image-question",
        "answers": n,
        "target": 0,
        "other option": 0,
        "no option": n,
        "refused": 0,
        "lost": 0,
    }


def test_numbers_name_options_where_they_are_scored_so(world: Dataset) -> None:
    audit = DecoysAudit(sets=("orig", "iou+qou"), folds=2, most=300, score="choice-index")
    study = audit.study(world, Local())
    answers = [
        one.select("id", "condition", "probe", answer=pl.lit("0")) for one in dict(audit.probe(world, study)).values()
    ]
    given = [tidy(one.select("id", "answer"), one, "numbers") for one in answers]

    result = audit.judge(world, study, Predictions("numbers", pl.concat(given)), Local())

    assert "name none" not in result.verdict.sentence


def test_the_cheater_is_caught_on_the_options_of_the_data_and_lost_on_the_repaired_ones(
    world: Dataset, study: Result, probes: dict[str, pl.DataFrame]
) -> None:
    result = judged(world, study, probes, load_answerer("cheater:decoy"))

    assert (result.verdict.state, result.verdict.label) == ("no", "relies on the options")
    assert result.verdict.measure == Key("over chance", "orig@donor")
    assert result.verdict.margin == AUDIT.margin
    before, after = (result.measure("over chance", f"{name}-image-question") for name in ("orig", "iou+qou"))
    assert before.low > 0.15
    assert after.value < before.value / 2


def test_measures_are_means_of_their_columns(world: Dataset, study: Result, probes: dict[str, pl.DataFrame]) -> None:
    for result in (study, judged(world, study, probes, load_answerer("guesser"))):
        for row in result.measures.drop_nulls("of").iter_rows(named=True):
            known = result.rows[row["of"]].drop_nulls()
            assert known.mean() == pytest.approx(row["value"]), row
            assert len(known) == row["n"]


def test_the_table_is_laid_out_as_in_the_paper(world: Dataset, study: Result, probes: dict[str, pl.DataFrame]) -> None:
    table = judged(world, study, probes, load_answerer("guesser")).tables["visible"]

    assert table["visible"].unique(maintain_order=True).to_list() == ["A", "I+A", "Q+A", "I+Q+A", "Random"]
    chance = fill(probes["iou+qou"], world).select((1 / pl.col("choices").list.len()).mean()).item()
    random = table.filter((pl.col("visible") == "Random") & (pl.col("options") == "iou+qou"))["accuracy"].item()
    assert random == pytest.approx(chance)


def test_picks_are_named_by_text_or_letter_and_what_is_no_option_is_none() -> None:
    answered = pl.DataFrame(
        {"id": ["1", "2", "3"], "answer": ["red"] * 3, "choices": [["blue", "red"]] * 3, "given": ["red", "B", "green"]}
    )

    picks = picked_options(answered)

    assert picks["picked"].to_list() == ["red", "red", None]
    assert picks["right"].to_list() == [True, True, False]


def test_an_example_shown_only_once_has_no_steadiness() -> None:
    once = pl.DataFrame({"id": ["1", "2"], "picked": ["a", "b"], "right": [True, False]})

    found = steadiness({"orig": once, "rotate#1": once.head(1)})

    assert found.rows() == [("1", 1.0, 1.0)]


def test_conditions_have_one_grammar() -> None:
    assert Condition("qou", "image-question").name == "qou-image-question"
    assert Condition("orig", "", 2).name == "rotate#2"


@pytest.mark.parametrize(
    "settings",
    [
        {"sets": ("best",)},
        {"ask": ("best",)},
        {"hide": ("options",)},
        {"drawing": "by hand"},
        {"published": "x"},
        {"k": 0},
        {"folds": 1},
    ],
)
def test_meaningless_settings_are_rejected(settings: dict) -> None:
    with pytest.raises(SettingError):
        DecoysAudit(**settings)


def test_data_without_options_are_repaired_and_asked_about_the_made_sets_only(tiny: Dataset) -> None:
    study = AUDIT.study(tiny, Local())

    assert set(dict(AUDIT.probe(tiny, study))) >= {"iou+qou", "iou+qou-image-question", "rotate#1"}
    assert not any(condition.startswith("orig") for condition in dict(AUDIT.probe(tiny, study)))
    assert any("no choices" in note for note in study.tables["notes"]["note"])


def test_data_about_videos_hide_the_video(tiny: Dataset) -> None:
    examples = tiny.examples.with_columns(video=pl.col("image"), image=pl.lit(None, pl.String))
    videos = Dataset("videos", examples, Images.named(examples["image"]), ("video", "question"), "video")

    probes = dict(AUDIT.probe(videos, AUDIT.study(videos, Local())))

    assert fill(probes["iou+qou-image"], videos)["video"].is_null().all()
    assert fill(probes["iou+qou-question"], videos)["video"].is_not_null().all()


def test_a_model_that_was_not_asked_beside_donors_is_not_tested(
    world: Dataset, study: Result, probes: dict[str, pl.DataFrame]
) -> None:
    before = {name: table for name, table in probes.items() if name != "orig@donor"}

    result = judged(world, study, before, load_answerer("seer"))

    assert "no answers under 'orig@donor': `eyechart probe RUN` writes the probes" in result.verdict.sentence
    assert "orig@donor" not in result.measures["condition"].to_list()

    assert (result.verdict.state, result.verdict.label) == ("not tested", "not asked")
    assert result.verdict.measure == Key("accuracy", "orig")


def test_only_measures_that_judge_a_model_have_a_better_direction(
    world: Dataset, study: Result, probes: dict[str, pl.DataFrame]
) -> None:
    """With parts hidden accuracy describes a model; a way around by the options alone is worse the further it leads."""
    result = judged(world, study, probes, load_answerer("guesser"))
    found = {(row["name"], row["condition"]): row["better"] for row in result.measures.iter_rows(named=True)}

    for options in ("orig", "iou+qou"):
        assert found["chance", options] == "neither"
        assert found["image adds", options] == found["question adds", options] == "higher"
        assert found["accuracy", options] == found["over chance", options] == "higher"
        for hidden in get_args(Hidden):
            assert found["accuracy", f"{options}-{hidden}"] == "neither"
            assert found["over chance", f"{options}-{hidden}"] == ("lower" if hidden == "image-question" else "neither")
    assert {better for (_, condition), better in found.items() if condition.startswith("rotate")} == {"higher"}


def test_a_study_of_another_division_is_asked_and_judged_as_it_was_made(world: Dataset, study: Result) -> None:
    other = world.decide(learn=["val"], judge=["train"])

    asked = dict(AUDIT.probe(other, study))

    assert set(asked["orig"]["id"]) == set(study.rows["id"])
    result = judged(other, study, asked, load_answerer("guesser"))
    assert result.measure("accuracy", "orig").n == asked["orig"].height


def test_every_condition_has_its_own_name(world: Dataset, study: Result) -> None:
    looks = DecoysAudit.furniture.looks

    found = {
        condition: next(look for look in looks if look.fits(condition))
        for condition in dict(EVERYTHING.probe(world, study))
    }

    assert len({look.label for look in found.values()}) == len(found) == 24
    colors = {
        name: found[name].color for name in ("orig", "iou-image", "all-question", "qou-image-question", "rotate#2")
    }
    assert list(colors.values()) == ["options", "image", "question", "both", "options"]


def test_what_is_visible_has_the_colour_of_what_is_hidden() -> None:
    letters = {"I+Q+A": "plain", "Q+A": "image", "I+A": "question", "A": "both", "Random": "other"}

    for name, color in letters.items():
        assert [look.color for look in DecoysAudit.furniture.looks if look.fits(name)] == [color]


PLAIN = {"p", "q", "expected", "uses_as_target", "uses_as_decoy", "decoys_per_target"}  # numbers, and no shares


def test_the_views_say_which_columns_are_shares(world: Dataset, study: Result, probes: dict[str, pl.DataFrame]) -> None:
    for result in (study, judged(world, study, probes, load_answerer("guesser"))):
        for view in result.views:
            table = result.table(view.table)
            shown = {*view.columns.values()} if view.columns else {*table.columns}
            shares = {name for name in shown if table.schema[name].is_float()} - PLAIN
            assert view.table == "measures" or {*view.units} >= shares, view.title
            assert {*view.units.values()} <= {"points"}


def test_a_model_that_was_asked_nothing_is_not_judged(world: Dataset, study: Result) -> None:
    nobody = world.take(pl.col("split") == "train")

    result = AUDIT.judge(nobody, study, Predictions("silent", empty(ANSWERS)), Local())

    assert (result.verdict.state, result.verdict.measure) == ("not tested", None)
    assert result.rows.is_empty()


def test_one_answer_for_all_and_no_options_is_an_error(tiny: Dataset) -> None:
    same = Dataset("same", tiny.examples.with_columns(answer=pl.lit("red")), tiny.images)

    with pytest.raises(DataError, match="decoy that could be drawn"):
        AUDIT.study(same, Local())
