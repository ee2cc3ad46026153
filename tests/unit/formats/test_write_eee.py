"""Answers written in the Every Eval Ever form are read back as they were, and hold all that the form asks for."""

import hashlib
import json
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.errors import DataError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.predictions import Predictions
from eyechart.data.tables import ANSWERS, STATUSES
from eyechart.formats.eee import write_eee
from eyechart.formats.predictions import read_predictions

KEPT = ("id", "condition", "draw", "answer", "raw", "status")
IDS = [f"0{n}" for n in range(8)]
TEXTS = st.none() | st.sampled_from(["", " ", "red", "null", '"', "a\nb"]) | st.text(max_size=5)
KEYS = st.tuples(st.sampled_from(IDS), st.sampled_from(["plain", "image#1", "rest"]), st.integers(0, 3))


def predictions(rows: list[tuple[Any, ...]]) -> Predictions:
    table = pl.DataFrame(rows, schema={name: ANSWERS.columns[name].dtype for name in KEPT}, orient="row")
    return Predictions("org/model", table.with_columns(pl.lit(None, pl.String).alias("probe")))


def written(rows: list[tuple[Any, ...]], data: Dataset, folder: Path) -> list[dict[str, Any]]:
    write_eee(predictions(rows), data, folder / "x_samples.jsonl")
    return [json.loads(line) for line in (folder / "x_samples.jsonl").read_text().splitlines()]


def eight() -> Dataset:
    examples = pl.DataFrame({"id": IDS, "image": ["a"] * 8, "question": ["q?"] * 8, "answer": ["red", None] * 4})
    return Dataset("eight", examples, Images.named(examples["image"]))


@given(st.dictionaries(KEYS, st.tuples(TEXTS, TEXTS, st.sampled_from(STATUSES)), min_size=1, max_size=12))
@settings(deadline=None, max_examples=100)
def test_what_is_written_is_read_back_the_same(answers: dict[Any, Any]) -> None:
    given_answers = predictions([(*key, *value) for key, value in answers.items()])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x_samples.jsonl"

        assert write_eee(given_answers, eight(), path) == len(answers)
        found = read_predictions(path)

    assert found.answers.select(KEPT).sort(ANSWERS.key).equals(given_answers.answers.select(KEPT))


def test_a_line_says_what_the_form_asks_for(tiny: Dataset, tmp_path: Path) -> None:
    (line,) = written([("03", "image#2", 1, "no", "No.", "ok")], tiny, tmp_path)

    assert line == {
        "schema_version": "0.3.0",
        "evaluation_id": "tiny/org/model",
        "model_id": "org/model",
        "evaluation_name": "tiny",
        "sample_id": "03",
        "sample_hash": hashlib.sha256(b"is it big?no").hexdigest(),
        "interaction_type": "single_turn",
        "input": {"raw": "is it big?", "reference": ["no"], "choices": None},
        "output": {"raw": ["No."]},
        "answer_attribution": [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": "no",
                "extraction_method": "custom",
                "is_terminal": True,
            }
        ],
        "evaluation": {"score": 1.0, "is_correct": True},
        "error": None,
        "metadata": line["metadata"],
    }
    told = {"condition": "image#2", "draw": "1", "status": "ok", "image": "b", "score": "exact"}
    assert told.items() <= line["metadata"].items()
    assert all(isinstance(value, str) for value in line["metadata"].values())


@pytest.mark.parametrize(
    ("status", "error"), [("failed", "no answer obtained"), ("unparsed", "no answer found in the text")]
)
def test_a_missing_answer_is_an_error_without_attribution(
    status: str, error: str, tiny: Dataset, tmp_path: Path
) -> None:
    (line,) = written([("00", "plain", 0, None, None, status)], tiny, tmp_path)

    assert (line["error"], line["answer_attribution"], line["output"]) == (error, [], {"raw": []})
    assert line["evaluation"] == {"score": 0.0, "is_correct": False}


def test_several_human_answers_are_references_and_score_softly(tmp_path: Path) -> None:
    examples = pl.DataFrame(
        {"id": ["1"], "image": [None], "question": ["q?"], "answer": ["a"], "answers": [["a"] * 2 + ["b"] * 8]},
        schema_overrides={"image": pl.String},
    )
    data = Dataset("soft", examples, Images.named(examples["image"]))

    (line,) = written([("1", "plain", 0, "a", "a", "ok")], data, tmp_path)

    assert line["input"]["reference"] == ["a"] * 2 + ["b"] * 8
    assert line["evaluation"] == {"score": pytest.approx(0.6), "is_correct": True}
    assert line["metadata"]["score"] == "vqa"
    assert line["metadata"]["image"] == ""


def test_a_question_without_a_reference_says_that_its_score_is_none(tmp_path: Path) -> None:
    (line,) = written([("01", "plain", 0, "a", "a", "ok")], eight(), tmp_path)

    assert (line["input"]["reference"], line["metadata"]["score"]) == ([], "none: no reference")


def test_answers_to_other_questions_are_refused(tiny: Dataset, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="1 to others, the first to 'nine'"):
        written([("00", "plain", 0, "a", "a", "ok"), ("nine", "plain", 0, "a", "a", "ok")], tiny, tmp_path)
