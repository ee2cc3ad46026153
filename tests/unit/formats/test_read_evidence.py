"""Evidence is read in every form that people write it in."""

import json
from pathlib import Path

import polars as pl
import pytest

from eyechart.base.errors import FileFormatError
from eyechart.formats import read
from eyechart.formats.objects import as_evidence

BOX = [1.0, 2.0, 3.0, 4.0]


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([[[1, 2, 3, 4]], [], None]),
        pl.Series(["[[1, 2, 3, 4]]", "[]", None]),
        pl.Series([[{"box": [1, 2, 3, 4]}], [], None]),
        pl.Series([[[1.0, 2.0, 3.0, 4.0]], [], None], dtype=pl.List(pl.Array(pl.Float64, 4))),
    ],
    ids=lambda column: str(column.dtype)[:20],
)
def test_bare_boxes_have_no_label(column: pl.Series) -> None:
    found = as_evidence(column, "it").column.to_list()

    assert found == [[{"label": None, "box": BOX, "score": None}], [], None]


@pytest.mark.parametrize(
    "column",
    [
        pl.Series([[1, 2, 3, 4], None]),
        pl.Series(["[1,2,3,4]", None]),
        pl.Series([BOX, None], dtype=pl.Array(pl.Float64, 4)),
    ],
    ids=lambda column: str(column.dtype),
)
def test_a_single_box_is_a_list_of_one(column: pl.Series) -> None:
    assert as_evidence(column, "it").column.to_list() == [[{"label": None, "box": BOX, "score": None}], None]


def test_labels_are_kept_and_what_is_no_box_is_noted() -> None:
    named = as_evidence(pl.Series([[{"label": "cat", "box": [1, 2, 3, 4]}]]), "it")
    broken = as_evidence(pl.Series([[[9, 2, 3, 4], [1, 2, 3]]]), "it")

    assert named.column.to_list() == [[{"label": "cat", "box": BOX, "score": None}]]
    assert [thing["box"] for thing in broken.column[0]] == [None, None]
    assert broken.counts[0].n == 2


@pytest.mark.parametrize("column", [pl.Series([["cat", "cup"]]), pl.Series(['["cat", "cup"]'])], ids=["list", "text"])
def test_labels_alone_are_evidence_without_boxes(column: pl.Series) -> None:
    assert [(part["label"], part["box"]) for part in as_evidence(column, "it").column[0]] == [
        ("cat", None),
        ("cup", None),
    ]


@pytest.mark.parametrize("column", [pl.Series([[["left", "top"]]]), pl.Series(["[[1, 2"])], ids=["words", "cut short"])
def test_boxes_that_are_no_numbers_are_refused(column: pl.Series) -> None:
    with pytest.raises(FileFormatError, match="four numbers"):
        as_evidence(column, "it")


def test_a_table_with_bare_boxes_has_evidence(tmp_path: Path) -> None:
    row = {"id": "1", "image": "a", "question": "what?", "answer": "cat", "evidence": [[1, 2, 3, 4], [5, 6, 7, 8]]}
    (tmp_path / "it.jsonl").write_text(json.dumps(row), encoding="utf-8")
    data = read(tmp_path / "it.jsonl")

    assert [thing["box"] for thing in data.examples["evidence"][0]] == [BOX, [5, 6, 7, 8]]
