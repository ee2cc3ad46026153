"""What is wrong with data is counted or said in a clear line, and never breaks the study."""

import polars as pl
import pytest

from eyechart.audits.decoys import DecoysAudit
from eyechart.audits.decoys.options import offer
from eyechart.base.errors import TableError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.result import Result
from eyechart.engines import Local

AUDIT = DecoysAudit(folds=2)


def data_of(rows: list[tuple[str, str, str, list[str] | None]]) -> Dataset:
    """Make data out of (image, question, answer, choices), each three times over so that something is held out."""
    schema = {"image": pl.String, "question": pl.String, "answer": pl.String, "choices": pl.List(pl.String)}
    parts = [pl.DataFrame(rows, schema=schema, orient="row").with_columns(pl.col("image") + str(n)) for n in range(6)]
    examples = pl.concat(parts).select(pl.int_range(pl.len()).cast(pl.String).str.zfill(4).alias("id"), pl.all())
    return Dataset("bad", examples, Images.named(examples["image"]))


def study(rows: list[tuple[str, str, str, list[str] | None]]) -> Result:
    return AUDIT.study(data_of(rows), Local())


def reasons(result: Result, condition: str) -> dict[str | None, int]:
    counts = result.tables["counts"].filter(pl.col("condition") == condition)
    return dict(counts.select("reason", "n").iter_rows())


def test_an_image_with_one_question_has_fillers_for_its_iou_decoys_or_none() -> None:
    result = study([("a", "what color is it", "red", None), ("b", "what color is it", "blue", None)])
    decoys = result.tables["decoys"].filter(pl.col("source") == "iou")

    assert any("the only one of their image" in note for note in result.tables["notes"]["note"])
    assert decoys["filler"].all()


def test_one_answer_for_all_leaves_the_options_of_the_data_alone() -> None:
    result = study([("a", "what color is it", "red", ["red", "blue"]), ("a", "which one", "red", ["red", "green"])])

    assert result.tables["solvers"]["options"].unique().to_list() == ["orig"]
    assert result.tables["decoys"].is_empty()
    assert any("no options for" in note for note in result.tables["notes"]["note"])


def test_texts_that_wordnet_does_not_know_in_any_script_are_offered() -> None:
    texts = ["什么颜色", "xqzt", "ö-ß", "🙂", "нет"]
    result = study([("a", f"{text} qqq", text, None) for text in texts])

    offered = result.tables["decoys"].filter(pl.col("source") == "iou")
    assert set(offered["decoy"]) == set(texts)


def test_empty_and_repeated_options_are_counted_and_left_out() -> None:
    result = study([("a", "what", "red", ["red", "", "blue", "blue"]), ("a", "who", "Ann", ["Ann", "Bob"])])

    assert reasons(result, "orig") == {None: 12, "empty option left out": 6, "same option twice, kept once": 6}


def test_an_option_list_that_lacks_the_target_is_refused_with_the_row() -> None:
    with pytest.raises(TableError, match="options that include the answer"):
        data_of([("a", "what", "red", ["blue", "green"])])


def test_examples_without_a_reference_are_counted_and_left_out() -> None:
    data = data_of([("a", "what", "red", ["red", "blue"]), ("a", "who", "Ann", ["Ann", "Bob"])])
    silent = pl.when(pl.col("id") != "0000").then("answer").alias("answer")
    result = AUDIT.study(Dataset("silent", data.examples.with_columns(silent), data.images), Local())

    assert "0000" not in result.rows["id"]
    left_out = result.tables["counts"].filter(pl.col("reason") == "no reference answer")
    assert left_out["n"].to_list() == [1]


def test_without_a_split_to_learn_from_a_part_of_the_images_is_held_out_and_all_are_counted() -> None:
    result = study([("a", "what", "red", ["red", "blue"]), ("b", "who", "Ann", ["Ann", "Bob"])])

    counts = result.tables["counts"].filter(pl.col("condition").is_null())
    by_part = dict(counts.select("status", "n").iter_rows())
    assert set(by_part) == {"learned", "judged"}
    assert by_part["judged"] == result.rows.height
    assert sum(by_part.values()) == 12


def test_examples_of_a_split_that_is_neither_learned_nor_judged_are_counted_and_still_offered() -> None:
    data = data_of([("a", "what", "red", ["red", "blue"]), ("b", "who", "Ann", ["Ann", "Bob"])])
    splits = pl.Series("split", ["train", "val", "test"] * 4)
    result = AUDIT.study(Dataset("three", data.examples.with_columns(splits), data.images), Local())

    counts = dict(result.tables["counts"].filter(pl.col("condition").is_null()).select("status", "n").iter_rows())
    assert counts == {"learned": 4, "judged": 4, "neither learned nor judged": 4}
    offered = result.tables["counts"].filter(pl.col("condition") == "orig", pl.col("status") == "offered")
    assert offered["n"].to_list() == [12]
    assert result.rows.height == 4


def test_examples_without_options_among_others_with_some_are_in_the_made_sets() -> None:
    result = study([("a", "what color", "red", ["red", "blue"]), ("a", "who is it", "Ann", None)])

    assert reasons(result, "orig")["no wrong option"] == 6
    assert sum(reasons(result, "qou").values()) == 12


@pytest.mark.parametrize("name", ["iou", "qou", "iou+qou", "all"])
def test_no_decoy_is_an_accepted_answer_after_all(name: str) -> None:
    """Drawn decoys are checked where they are drawn; the sets hold the line once more."""
    data = data_of([("a", "what color", "red", ["red", "Red.", "blue"]), ("a", "what colour", "blue", ["blue", "red"])])
    people = pl.when(pl.col("answer") == "red").then(pl.lit(["red", "crimson"])).otherwise(pl.lit(["blue"]))
    data = Dataset("people", data.examples.with_columns(answers=people), data.images)
    decoys = pl.DataFrame({"id": ["0000"] * 3, "decoy": ["crimson", "Red", "green"], "place": [0, 1, 2]})
    drawn = pl.concat([decoys.with_columns(source=pl.lit(source)) for source in ("iou", "qou")])

    wrong = offer(data.examples, drawn, name, 0).filter(~pl.col("target"), pl.col("id") == "0000")["text"]

    assert set(wrong) == ({"green", "blue"} if name == "all" else {"green"})
