"""The accuracy audit against numbers worked out by hand."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from eyechart.audits import make_audit
from eyechart.audits.accuracy import Accuracy
from eyechart.base.errors import DataError, SettingError, UnknownNameError
from eyechart.base.hashing import hash_text
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.language.answers import EVERY_TYPE, learn_majority, majority_answers, rank_options
from eyechart.models.function import Function
from eyechart.runs.interview import Asking
from eyechart.runs.verbs import audit, study
from eyechart.world import WorldSettings, make_world


def test_the_most_frequent_answer_of_each_type_is_learned() -> None:
    examples = pl.DataFrame(
        {
            "question_type": ["color", "color", "color", "count", "count", None],
            "answer": ["red", "blue", "red", "2", "1", "blue"],
        }
    )
    majority = learn_majority(examples)

    assert majority.rows_by_key("question_type", named=True, unique=True) == {
        EVERY_TYPE: {"answer": "blue", "hits": 2, "n": 6, "share": 2 / 6},
        "color": {"answer": "red", "hits": 2, "n": 3, "share": 2 / 3},
        "count": {"answer": "1", "hits": 1, "n": 2, "share": 1 / 2},
    }
    asked = pl.DataFrame({"question_type": ["count", "never met", None], "answer": ["x"] * 3})
    assert majority_answers(asked, majority).to_list() == ["1", "blue", "blue"]


def test_the_floor_is_learned_on_train_and_scored_on_test(tiny: Dataset) -> None:
    """Train says red and (of yes and no, by the alphabet) no; test has red, yes, blue, yes."""
    found = study(tiny, ["accuracy"])["accuracy"]

    assert found.measure("floor", "plain").value == 0.25
    assert dict(found.rows.select("id", "floor").rows()) == {"04": 1.0, "05": 0.0, "06": 0.0, "07": 0.0}


def test_the_gain_is_paired_with_the_floor(tiny: Dataset) -> None:
    truth = dict(tiny.examples.select("id", "answer").rows())
    result = audit(tiny, Function("all", lambda rows: [truth[str(row["id"])] for row in rows]), ["accuracy"])[
        "accuracy"
    ]

    assert result.measure("accuracy", "plain").value == 1.0
    assert result.measure("gain", "plain").value == 0.75
    assert result.rows.columns == ["id", "cluster", "floor", "accuracy"]


def with_options(rows: list[tuple[str, str | None, str, list[str]]]) -> Dataset:
    """Make a dataset of split, question type, answer and options."""
    schema = {"split": pl.String, "question_type": pl.String, "answer": pl.String, "choices": pl.List(pl.String)}
    examples = pl.DataFrame(rows, schema=schema, orient="row")
    ids = pl.Series([f"{at:03}" for at in range(len(rows))])
    examples = examples.with_columns(ids.alias("id"), ids.alias("image"), pl.lit("what is it?").alias("question"))
    return Dataset("options", examples, Images.named(ids))


def test_options_are_ordered_by_type_then_by_all_then_by_the_alphabet() -> None:
    train = pl.DataFrame({"question_type": ["a", "a", "b", "b", None], "answer": ["red", "dog", "cat", "cat", "dog"]})
    choices = [["cat", "dog", "red", "ant"]] * 3 + [["cow", "ant"], None]
    asked = pl.DataFrame({"question_type": ["a", "b", None, "a", "a"], "choices": choices})

    by_all = ["cat", "dog", "red", "ant"]
    assert rank_options(asked, train).to_list() == [["dog", "red", "cat", "ant"], by_all, by_all, ["ant", "cow"], None]


def test_the_floor_of_options_takes_the_most_frequent_one_that_is_offered() -> None:
    """The most frequent train answer, red, is no option of most; of three never met one in three is right."""
    train = [("train", kind, answer, [answer]) for kind, answer in [("a", "red")] * 3 + [("a", "dog"), ("b", "cat")]]
    asked = [
        ("test", "a", "dog", ["ant", "dog", "cat"]),
        ("test", "b", "dog", ["ant", "dog", "cat"]),
        ("test", "b", "dog", ["ant", "dog"]),
        ("test", None, "ant", ["ant", "red"]),
        ("test", "a", "cow", ["ant", "bee", "cow"]),
    ]
    found = study(with_options([*train, *asked]), ["accuracy"])["accuracy"]

    assert found.rows["floor"].to_list() == pytest.approx([1, 0, 1, 0, 1 / 3])
    assert "the option that is most often an answer, or else a guess" in found.verdict.sentence


def never_met(k: int) -> Dataset:
    """Make examples whose k options are met nowhere else; the answer is drawn by lot."""
    names = [f"{at} of {k}" for at in range(600)]
    choices = [[f"{name} {place}" for place in range(k)] for name in names]
    lots = (hash_text(pl.Series(names)) % k).tolist()
    splits = ["train"] * 300 + ["test"] * 300
    return with_options([(split, "what", c[lot], c) for split, c, lot in zip(splits, choices, lots, strict=True)])


@pytest.mark.parametrize("how", ["choice", "choice-text", "choice-letter", "choice-index"])
@pytest.mark.parametrize("k", [2, 3, 4, 10])
def test_the_floor_of_options_never_met_is_the_chance_of_a_guess(k: int, how: str) -> None:
    floor = study(never_met(k), [Accuracy(score=how)])["accuracy"].measure("floor", "plain")

    assert floor.value == pytest.approx(1 / k)
    assert 0 < floor.low < floor.value < floor.high < 1


@pytest.mark.parametrize("k", [2, 4, 10])
def test_a_guess_among_options_does_not_beat_the_floor_and_sight_does(k: int) -> None:
    data = never_met(k)
    truth = dict(data.examples.select("id", "answer").rows())
    guesser = Function("guesser", lambda rows: [row["choices"][int(row["id"]) % k] for row in rows])
    seer = Function("seer", lambda rows: [truth[row["id"]] for row in rows])
    guessed, seen = (audit(data, model, ["accuracy"])["accuracy"] for model in (guesser, seer))

    assert (guessed.verdict.state, guessed.verdict.label) == ("cannot tell", "too few examples")
    assert guessed.measure("gain", "plain").value == pytest.approx(0, abs=0.05)
    assert (seen.verdict.state, seen.verdict.label) == ("yes", "beats guessing")
    assert seen.measure("gain", "plain").value == pytest.approx(1 - 1 / k)


@pytest.mark.parametrize(
    ("words", "state", "label"),
    [
        ("It cannot be anything if not {right}", "cannot tell", "right in other words"),
        ("unlike all the rest, {RIGHT}", "cannot tell", "right in other words"),
        ("It is a{right}n", "no", "no better than guessing"),
        ("either {right} or {wrong}", "no", "no better than guessing"),
        ("It looks like {wrong}, I think", "no", "no better than guessing"),
    ],
)
def test_who_is_right_in_other_words_is_not_called_a_guesser(words: str, state: str, label: str) -> None:
    """The reference must be there as whole words, and no other option; only then the answers may have been misread."""
    data = never_met(3)
    known = {row["id"]: row for row in data.examples.iter_rows(named=True)}

    def answer(id_: str) -> str:
        right, options = known[id_]["answer"], known[id_]["choices"]
        return words.format(right=right, RIGHT=right.upper(), wrong=options[(options.index(right) + 1) % 3])

    found = audit(data, Function("wordy", lambda rows: [answer(row["id"]) for row in rows]), ["accuracy"])["accuracy"]

    assert (found.verdict.state, found.verdict.label) == (state, label)
    assert found.measure("accuracy, mentioned", "plain").value == (state == "cannot tell")
    assert found.measure("accuracy", "plain").value == 0


def test_two_equal_options_are_twice_as_likely_guessed() -> None:
    data = with_options([("train", None, "x", ["x"]), ("test", None, "a", ["a", "b", "a"])])

    assert study(data, ["accuracy"])["accuracy"].rows["floor"].to_list() == pytest.approx([2 / 3])


@pytest.mark.parametrize(("lost", "state"), [(0.02, "yes"), (0.75, "cannot tell")])
def test_a_model_that_lost_what_it_might_have_failed_is_not_cleared(lost: float, state: str) -> None:
    world = make_world(WorldSettings(images=300)).data
    truth = dict(world.examples.select("id", "answer").rows())
    said = Function(
        "some", lambda rows: [None if at < lost * len(rows) else truth[row["id"]] for at, row in enumerate(rows)]
    )
    result = audit(world, said, ["accuracy"], asking=Asking(allow_partial=True))["accuracy"]

    assert result.measure("accuracy", "plain").value == pytest.approx(1 - lost, abs=0.01)
    assert result.measure("accuracy, parsed only", "plain").value == 1
    assert result.measure("gain, parsed only", "plain").low > 0
    assert (result.measure("gain", "plain").low > 0) == (state == "yes")
    assert result.verdict.state == state
    assert (result.verdict.label == "too many answers lost") == (state == "cannot tell")


def test_a_run_can_be_kept(tiny: Dataset, tmp_path: Path) -> None:
    audit(tiny, Function("red", lambda rows: ["red"] * len(rows)), ["accuracy"], to=tmp_path / "run")

    assert (tmp_path / "run" / "results" / "red" / "accuracy" / "measures.parquet").is_file()


def test_without_a_train_split_all_is_judged_and_the_floor_learns_from_other_images(tiny: Dataset) -> None:
    """Two images say red, one blue: whoever guesses blue's colour by the others says red, and so on."""
    data = replace(tiny, examples=tiny.examples.drop("split"))
    result = audit(data, Function("red", lambda rows: ["red"] * len(rows)), ["accuracy"])["accuracy"]
    floor = dict(study(data, ["accuracy"])["accuracy"].rows.select("id", "floor").rows())

    assert (result.measure("accuracy", "plain").value, result.rows.height) == (3 / 8, 8)
    assert (floor["00"], floor["06"]) == (1.0, 0.0)
    assert result.headline == result.measure("gain", "plain")


def test_no_example_teaches_the_answer_to_its_own_image() -> None:
    """Every image has an answer of its own, asked about many times: by other images it cannot be known."""
    rows = pl.DataFrame({"image": [f"{at // 10}" for at in range(200)]})
    examples = rows.with_columns(
        pl.int_range(200).cast(pl.String).alias("id"), pl.lit("who?").alias("question"), pl.col("image").alias("answer")
    )
    found = study(Dataset("names", examples, Images.named(examples["image"])), ["accuracy"])["accuracy"]

    assert found.measure("floor", "plain").value == 0


def test_the_floor_is_the_best_of_the_guesses() -> None:
    """The usual train answer is always wrong here, so that a guess among the options scores more."""
    rows = [("train", "a", "red", ["red", "dog"])] * 9
    asked = [("test", "a", answer, ["red", "dog", "cat"]) for answer in ("dog", "cat") * 10]
    found = study(with_options([*rows, *asked]), ["accuracy"])["accuracy"]

    guesses = dict(found.tables["guesses"].select("guess", "value").rows())
    assert guesses == {"chance": pytest.approx(1 / 3), "option": 0, "majority": 0}
    assert found.measure("floor", "plain").value == pytest.approx(1 / 3)
    assert "Answering with a guess among the options" in found.verdict.sentence


def test_the_verdict_says_that_beating_guesses_is_not_looking() -> None:
    world = make_world(WorldSettings(images=200)).data
    truth = dict(world.examples.select("id", "answer").rows())
    seen = audit(world, Function("all", lambda rows: [truth[row["id"]] for row in rows]), ["accuracy"])["accuracy"]

    assert seen.verdict.state == "yes"
    assert "says nothing about looking" in seen.verdict.sentence


@pytest.mark.parametrize(
    ("splits", "judged"),
    [
        (["dev"] * 8, range(8)),
        (["train"] * 6 + ["dev"] * 2, range(6, 8)),
        (["train"] * 4 + ["val"] * 2 + ["test"] * 2, range(6, 8)),
    ],
)
def test_judged_is_test_or_val_or_the_only_split_there_is_beside_train(
    tiny: Dataset, splits: list[str], judged: range
) -> None:
    data = replace(tiny, examples=tiny.examples.with_columns(pl.Series("split", splits)))
    found = study(data, ["accuracy"])["accuracy"]

    assert found.rows["id"].to_list() == [f"0{at}" for at in judged]
    assert found.headline == found.measure("floor", "plain")


def test_what_is_learned_from_and_judged_is_that_of_the_run(tiny: Dataset) -> None:
    """Learned from test, whose answers are red, yes, blue, yes, the floor says blue (before red) and yes."""
    found = study(tiny.decide(learn=["test"], judge=["train"]), ["accuracy"])["accuracy"]

    assert dict(found.rows.select("id", "floor").rows()) == {"00": 0.0, "01": 1.0, "02": 0.0, "03": 0.0}


def test_examples_of_no_part_are_counted(tiny: Dataset) -> None:
    splits = pl.Series("split", ["train"] * 3 + ["val"] * 2 + [None] + ["test"] * 2)
    found = study(replace(tiny, examples=tiny.examples.with_columns(splits)), ["accuracy"])["accuracy"]

    counts = found.tables["counts"].select("status", "reason", "n").rows()
    assert counts == [("judged", None, 2), ("left out", "in another split", 3)]


def test_the_split_is_no_setting_any_more_and_one_line_says_what_to_do() -> None:
    with pytest.raises(SettingError, match="--judge") as caught:
        make_audit("accuracy", {"split": "val"})
    assert "\n" not in str(caught.value)


def test_a_verdict_rests_on_the_gain_and_its_margin(tiny: Dataset) -> None:
    result = audit(tiny, Function("red", lambda rows: ["red"] * len(rows)), [Accuracy(margin=0.02)])["accuracy"]

    assert result.headline == result.measure("gain", "plain")
    assert result.verdict.margin == 0.02
    assert set(result.measures["unit"]) == {"points"}
    assert set(result.measures["better"]) == {"higher"}
    assert set(study(tiny, ["accuracy"])["accuracy"].measures["better"]) == {"neither"}


def test_examples_without_a_reference_are_counted_and_not_asked(tiny: Dataset) -> None:
    examples = tiny.examples.with_columns(pl.when(pl.col("id") != "05").then("answer").alias("answer"))
    found = study(replace(tiny, examples=examples), ["accuracy"])["accuracy"]

    assert found.rows["id"].to_list() == ["04", "06", "07"]
    assert found.tables["counts"].select("status", "n").rows() == [("judged", 3), ("left out", 1)]


def test_an_answer_the_score_does_not_fit_is_counted(tiny: Dataset) -> None:
    numbers = tiny.examples.with_columns(pl.lit("2").alias("answer"))
    model = Function("numbers", lambda rows: ["2" if row["id"] < "06" else "many" for row in rows])
    result = audit(replace(tiny, examples=numbers), model, [Accuracy(score="one-minus-mape")])["accuracy"]

    assert dict(result.tables["counts"].select("status", "n").rows()) == {"ok": 2, "unscored": 2}


def test_several_draws_are_averaged_per_example(tiny: Dataset, tmp_path: Path) -> None:
    class Wavering:
        name = "wavering"

        def answer(self, probes, images):  # noqa: ANN001, ANN202
            draws = [
                probes.select("id", pl.lit(word).alias("answer"), pl.lit(n).alias("draw"))
                for n, word in enumerate(["red", "x"])
            ]
            return pl.concat(draws)

    result = audit(tiny, Wavering(), ["accuracy"])["accuracy"]

    assert dict(result.rows.select("id", "accuracy").rows())["04"] == 0.5
    assert result.measure("accuracy", "plain").n == 4


def test_groups_without_a_value_have_a_name(tiny: Dataset) -> None:
    examples = tiny.examples.with_columns(pl.when(pl.col("id") != "05").then("question_type").alias("question_type"))
    model = Function("red", lambda rows: ["red"] * len(rows))
    result = audit(replace(tiny, examples=examples), model, [Accuracy(by=("question_type",))])["accuracy"]

    assert result.measures.filter(pl.col("by").is_not_null())["group"].to_list() == ["(none)", "is it", "what color"]


@pytest.mark.parametrize(
    ("settings", "error"),
    [({"by": ("colour",)}, DataError), ({"by": ("answers",)}, SettingError), ({"score": "vqb"}, UnknownNameError)],
)
def test_settings_that_do_not_fit_are_one_clear_error(
    tiny: Dataset, settings: dict[str, object], error: type[Exception]
) -> None:
    data = replace(tiny, examples=tiny.examples.with_columns(pl.concat_list("answer").alias("answers")))

    with pytest.raises(error):
        audit(data, Function("red", lambda rows: ["red"] * len(rows)), [Accuracy(**settings)])


def test_unscored_answers_leave_the_count_of_their_own_status(tiny: Dataset) -> None:
    """A refusal that a score of numbers cannot take is no longer counted as a refusal, nor taken from the good ones."""

    class Shy:
        name = "shy"

        def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
            refuses = pl.col("id") == "04"
            return probes.select(
                "id",
                pl.when(~refuses).then(pl.lit("2")).alias("answer"),
                pl.when(refuses).then(pl.lit("refused")).otherwise(pl.lit("ok")).alias("status"),
            )

    numbers = replace(tiny, examples=tiny.examples.with_columns(pl.lit("2").alias("answer")))
    result = audit(numbers, Shy(), [Accuracy(score="one-minus-mape")])["accuracy"]

    assert dict(result.tables["counts"].select("status", "n").rows()) == {"ok": 3, "unscored": 1}
