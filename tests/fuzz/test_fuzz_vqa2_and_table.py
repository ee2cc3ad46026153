"""However rows are damaged: rows in = rows read + rows dropped, or one clear error."""

import json
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.errors import EyechartError
from eyechart.data.dataset import Dataset
from eyechart.formats import read
from eyechart.formats.predictions import read_predictions

# Damaged files lose rows, and reading them says so.
pytestmark = pytest.mark.filterwarnings("ignore::eyechart.base.errors.ReadingWarning")
SCALARS = (
    st.none() | st.booleans() | st.integers(-5, 5) | st.sampled_from(["", "1", "2", "yes", "A", "[1]"]) | st.just(0.5)
)
VALUES = SCALARS | st.lists(SCALARS, max_size=2) | st.fixed_dictionaries({"answer": SCALARS})
KEYS = st.none() | st.integers(1, 6) | st.integers(1, 6).map(str)
WORDS = st.none() | st.sampled_from(["", "yes", "no", "a"])
LISTS = st.none() | st.lists(st.sampled_from(["yes", "no", "a"]), max_size=3)


def records(fields: dict[str, st.SearchStrategy[Any]], *, wild: bool) -> st.SearchStrategy[list[Any]]:
    """Draw lists of records with fields missing, null or repeated, and where wild of any type and among strays."""
    drawn = {name: (values | VALUES if wild else values) for name, values in fields.items()}
    record = st.fixed_dictionaries(drawn) | st.fixed_dictionaries({}, optional=drawn)
    return st.lists(record | SCALARS if wild else record, max_size=10)


def both(fields: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[list[Any]]:
    return records(fields, wild=False) | records(fields, wild=True)


QUESTIONS = both({"question_id": KEYS, "image_id": KEYS, "question": WORDS, "multiple_choices": LISTS})
ANNOTATIONS = both(
    {
        "question_id": KEYS,
        "multiple_choice_answer": WORDS,
        "answers": st.none() | st.lists(st.fixed_dictionaries({"answer": WORDS}), max_size=3),
    }
)
ROWS = both(
    {
        "id": KEYS,
        "image": KEYS,
        "question": WORDS,
        "answer": WORDS,
        "choices": LISTS,
        "answers": LISTS,
        "objects": LISTS,
    }
)
FILES = st.none() | st.sampled_from(["", "a.png", "b.png", "c.jpg", "7"])
BOXES = st.lists(st.integers(-3, 9), min_size=3, max_size=5) | st.none()
PARTS = st.fixed_dictionaries({"label": WORDS, "box": BOXES, "picture": st.none() | st.integers(-1, 3)})
PICTURED = both(
    {
        "question": WORDS,
        "answer": WORDS,
        "images": st.none() | st.lists(FILES, max_size=3) | st.sampled_from(["['a.png', 'b.png']", "[]", "["]),
        "evidence": st.none() | st.lists(PARTS, max_size=3),
    }
)
NUMBERED = both({"question": WORDS, "image": FILES, "image_1": FILES, "image_2": FILES, "image_3": FILES})
SOUND = {
    "question_id": 0,
    "image_id": 1,
    "question": "a?",
    "multiple_choice_answer": "yes",
    "answers": [{"answer": "yes"}],
}


def total(data: Dataset, status: str, about: str = "") -> int:
    rows = data.counts.filter((pl.col("status") == status) & pl.col("reason").fill_null("").str.starts_with(about))
    return int(rows["n"].sum())


def read_files(name: str, files: dict[str, object]) -> Dataset | None:
    """Read files with this content, or nothing where the reader says clearly that it cannot."""
    with tempfile.TemporaryDirectory() as folder:
        for file, content in files.items():
            (Path(folder) / file).write_text(json.dumps(content))
        try:
            return read(name, folder)
        except EyechartError:
            return None


@given(QUESTIONS, ANNOTATIONS)
@settings(deadline=None)
def test_every_question_is_read_or_dropped_and_every_annotation_joined_or_dropped(
    questions: list[Any], annotations: list[Any]
) -> None:
    questions, annotations = [SOUND, *questions], [SOUND, *annotations]
    keys = ("question_id", "image_id", "question")
    asked = [{key: one[key] for key in keys} if one is SOUND else one for one in questions]
    said = [{key: one[key] for key in one if key != "question"} if one is SOUND else one for one in annotations]

    data = read_files("vqa2", {"q.json": {"questions": asked}, "a.json": {"annotations": said}})

    if data is not None:
        assert data.examples.height == total(data, "read")
        assert len(questions) == total(data, "read") + total(data, "dropped", "question")
        joined = total(data, "read") - total(data, "noted", "question without an annotation")
        assert len(annotations) == joined + total(data, "dropped", "annotation")


@given(ROWS)
@settings(deadline=None)
def test_every_row_of_a_table_is_read_or_dropped(rows: list[Any]) -> None:
    rows = [{"id": 0, "question": "a?"}, *rows]

    data = read_files("table", {"rows.json": rows})

    if data is not None:
        assert data.examples.height == total(data, "read")
        assert len(rows) == total(data, "read") + total(data, "dropped")


@given(PICTURED | NUMBERED)
@settings(deadline=None)
def test_every_row_with_several_pictures_is_read_or_dropped(rows: list[Any]) -> None:
    rows = [{"question": "a?"}, *rows]

    data = read_files("table", {"rows.json": rows})

    if data is not None:
        assert len(rows) == total(data, "read") + total(data, "dropped")
        assert data.images.unknown_pictures().is_empty()
        assert data.count_pictures().drop_nulls().ge(1).all()


@given(both({"id": KEYS, "question": WORDS, "split": WORDS}), both({"id": KEYS, "answer": WORDS | LISTS}))
@settings(deadline=None)
def test_every_row_with_annotations_elsewhere_is_read_or_dropped(rows: list[Any], annotations: list[Any]) -> None:
    rows, annotations = [{"id": 0, "question": "a?"}, *rows], [{"id": 0, "answer": "yes"}, *annotations]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "rows.json").write_text(json.dumps(rows))
        (Path(folder) / "gold.json").write_text(json.dumps(annotations))
        try:
            data = read("table", Path(folder) / "rows.json", annotations=Path(folder) / "gold.json")
        except EyechartError:
            return

    assert len(rows) == total(data, "read") + total(data, "dropped")
    assert not data.examples["id"].is_duplicated().any()


@given(records({"id": KEYS, "question": WORDS, "answer": WORDS}, wild=False))
@settings(deadline=None)
def test_rows_that_are_only_incomplete_never_stop_the_reading(rows: list[Any]) -> None:
    assert read_files("table", {"rows.json": [{"id": 0, "question": "a?"}, *rows]}) is not None


@given(both({"id": KEYS, "answer": WORDS | LISTS, "condition": st.sampled_from(["plain", "rest"])}))
@settings(deadline=None)
def test_every_prediction_is_read_or_dropped(rows: list[Any]) -> None:
    rows = [{"id": 0, "answer": "yes", "condition": "plain"}, *rows]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "p.json").write_text(json.dumps(rows))
        try:
            found = read_predictions(Path(folder))
        except EyechartError:
            return

    counts = found.counts.filter(pl.col("status").is_in(["read", "dropped"]))
    assert counts["n"].sum() == len(rows)
    assert not found.answers.select("id", "condition").is_duplicated().any()
