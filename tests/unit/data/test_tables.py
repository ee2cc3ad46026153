"""The check of tables names the column and the first bad row."""

import polars as pl
import pytest

from eyechart.base.errors import TableError
from eyechart.data.tables import ANSWERS, EVIDENCE, EXAMPLES, IMAGES, MEASURES, OBJECT, check, empty

GOOD = pl.DataFrame({"id": ["1", "2"], "image": ["a", None], "question": ["q", "q"], "answer": ["x", None]})


def with_evidence(*boxes: list[float] | None) -> pl.DataFrame:
    evidence = [[{"label": "cat", "box": box}] for box in boxes]
    return GOOD.with_columns(pl.Series("evidence", evidence, dtype=pl.List(EVIDENCE), strict=False))


def test_a_good_table_comes_back_unchanged() -> None:
    assert check(GOOD, EXAMPLES) is GOOD


@pytest.mark.parametrize("schema", [EXAMPLES, IMAGES, ANSWERS, MEASURES])
def test_an_empty_table_of_each_schema_passes(schema: object) -> None:
    assert check(empty(schema), schema).height == 0


def test_a_missing_column_is_named() -> None:
    with pytest.raises(TableError, match=r"a column 'question' in examples; found columns id"):
        check(GOOD.select("id", "image"), EXAMPLES)


def test_ids_must_be_text() -> None:
    """Numbers would lose the leading zeros of GQA's ids."""
    with pytest.raises(TableError, match=r"'id' of examples to hold String; found Int64, first value 1"):
        check(GOOD.with_columns(pl.col("id").cast(pl.Int64)), EXAMPLES)


def test_the_first_repeated_id_is_named_with_its_row() -> None:
    table = pl.concat([GOOD, GOOD])

    with pytest.raises(TableError, match=r"each id once in column 'id' of examples; found '1' in row 2 .* and 1 more"):
        check(table, EXAMPLES)


def test_a_null_id_is_named_with_its_row() -> None:
    table = GOOD.with_columns(pl.Series("id", ["1", None]))

    with pytest.raises(TableError, match=r"a value in every row in column 'id' of examples; found None in row 1"):
        check(table, EXAMPLES)


@pytest.mark.parametrize(
    "box",
    [
        [0.0, 0.0, float("nan"), 1.0],
        [0.0, float("inf"), 1.0, float("inf")],
        [5.0, 0.0, 1.0, 1.0],
        [0.0, 5.0, 1.0, 1.0],
    ],
)
def test_a_box_that_is_not_finite_or_turned_round_is_refused(box: list[float]) -> None:
    with pytest.raises(
        TableError, match=r"finite boxes .* column 'evidence' of examples; found .* in row 1 \(id='2'\)"
    ):
        check(with_evidence([0, 0, 1, 1], box), EXAMPLES)


def test_boxes_may_be_missing_or_without_area() -> None:
    assert check(with_evidence(None, [1, 1, 1, 1]), EXAMPLES).height == 2


def test_objects_need_sound_boxes_too() -> None:
    objects = [
        [{"label": "cat", "box": [0, 0, 1, 1], "score": None}, {"label": "dog", "box": [3, 0, 1, 1], "score": 1}]
    ]
    table = pl.DataFrame({"image": ["a"], "objects": pl.Series(objects, dtype=pl.List(OBJECT), strict=False)})

    with pytest.raises(TableError, match=r"column 'objects' of images; found .* in row 0 \(image='a'\)"):
        check(table, IMAGES)


def test_options_must_hold_the_answer() -> None:
    table = GOOD.with_columns(pl.Series("choices", [["y", "z"], ["x", "y"]]))

    with pytest.raises(TableError, match=r"options that include the answer .* \['y', 'z'\] in row 0"):
        check(table, EXAMPLES)


def test_relevance_must_fit_the_options() -> None:
    table = GOOD.with_columns(pl.Series("choices", [["x", "y"], None]), pl.Series("relevance", [[1.0], None]))

    with pytest.raises(TableError, match="one relevance for each option"):
        check(table, EXAMPLES)


def test_a_status_nobody_knows_is_refused() -> None:
    row = {"id": "1", "condition": "plain", "draw": 0, "probe": None, "answer": "x", "raw": "x", "status": "fine"}

    with pytest.raises(TableError, match=r"one of ok, refused, unparsed, failed in column 'status'"):
        check(pl.DataFrame([row], schema=empty(ANSWERS).schema), ANSWERS)


def test_further_columns_are_welcome() -> None:
    assert check(GOOD.with_columns(pl.lit(1).alias("category")), EXAMPLES).width == 5
