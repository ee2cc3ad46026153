"""Answers written in the Every Eval Ever form are read back as they were, and hold all that the form asks for."""

import hashlib
import json
import re
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.audits.accuracy import Accuracy
from eyechart.base.errors import DataError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.predictions import Predictions
from eyechart.data.store import Store
from eyechart.data.tables import ANSWERS, STATUSES
from eyechart.formats.eee import export_eee, write_eee
from eyechart.formats.predictions import read_predictions
from eyechart.models import load
from eyechart.runs.run import Run

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
        "evaluation_result_id": "accuracy/image#2",
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


@pytest.fixture
def asked(tiny: Dataset, tmp_path: Path) -> Store:
    """Judge two models, one of which leaves a question unanswered; the data have the name that a store keeps back."""
    run = Run(Store(tmp_path / "run")).start(Dataset("data", tiny.examples, tiny.images))
    run.study([Accuracy()])
    run.probe()
    for name, answers in {"org/m:1": ["red", "yes", "red", None], "plain": ["red", "yes", "blue", "yes"]}.items():
        rows = [
            {"id": f"0{n}", "answer": said, "status": "ok" if said else "unparsed"} for n, said in enumerate(answers, 4)
        ]
        (tmp_path / "it.json").write_text(json.dumps(rows))
        run.audit(load(f"predictions:{tmp_path / 'it.json'},name={name}"))
    return run.store


def place(folder: Path, model: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Load the only aggregates and samples of a model, by the path at which a store looks for them."""
    (aggregate,) = (folder / "data" / "data_" / model).glob("*.json")
    samples = aggregate.with_name(f"{aggregate.stem}_samples.jsonl")
    return json.loads(aggregate.read_text()), list(map(json.loads, samples.read_text().splitlines()))


def test_a_run_is_written_where_a_store_looks_for_it(asked: Store, tmp_path: Path) -> None:
    written = export_eee(asked, tmp_path / "E")

    key = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    for model in ("org/m_1", "unknown/plain"):
        record, samples = place(tmp_path / "E", model)
        told = record["detailed_evaluation_results"]
        assert re.fullmatch(rf"data/data_/{model}/{key}_samples\.jsonl", told["file_path"])
        content = (tmp_path / "E" / told["file_path"]).read_bytes()
        assert (told["checksum"], told["total_rows"]) == (hashlib.sha256(content).hexdigest(), 4)
        assert {one["evaluation_id"] for one in samples} == {record["evaluation_id"]}
        assert {one["model_id"] for one in samples} == {record["model_info"]["id"]}
        assert written[told["file_path"]] == 4
    assert export_eee(asked, tmp_path / "E").keys() == written.keys()
    assert len(list((tmp_path / "E").rglob("*.json*"))) == 4


def test_aggregates_average_the_samples_and_count_what_was_lost_as_wrong(asked: Store, tmp_path: Path) -> None:
    export_eee(asked, tmp_path / "E")
    record, samples = place(tmp_path / "E", "org/m_1")

    own, *measures = record["evaluation_results"]
    assert {one["evaluation_result_id"] for one in samples} == {own["evaluation_result_id"]} == {"accuracy/plain"}
    assert own["score_details"]["score"] == sum(one["evaluation"]["score"] for one in samples) / 4 == 0.5
    assert own["score_details"]["details"] == {"unparsed, counted as wrong": "1"}
    interval = own["score_details"]["uncertainty"]["confidence_interval"]
    assert interval["lower"] < 0.5 < interval["upper"]
    judged = asked.results()["org/m:1"]["accuracy"].measure("accuracy", "plain")
    (accuracy,) = (one for one in measures if one["metric_config"]["metric_id"] == "eyechart.accuracy.accuracy")
    assert accuracy["score_details"]["score"] == judged.value
    assert not any(one["metric_config"]["lower_is_better"] for one in record["evaluation_results"])
    directed = pl.col("by").is_null() & (pl.col("better") != "neither") & pl.col("value").is_finite()
    assert len(measures) == asked.results()["org/m:1"]["accuracy"].measures.filter(directed).height


def test_aggregates_leave_out_questions_without_a_reference(tmp_path: Path) -> None:
    run = Run(Store(tmp_path / "run")).start(eight())
    run.study([Accuracy()])
    run.probe()
    (tmp_path / "it.json").write_text(json.dumps(dict.fromkeys(IDS, "red")))
    run.predict(load(f"predictions:{tmp_path / 'it.json'}"))
    export_eee(run.store, tmp_path / "E")

    (aggregate,) = (tmp_path / "E").rglob("*.json")
    (own,) = json.loads(aggregate.read_text())["evaluation_results"]
    assert (own["score_details"]["score"], own["score_details"]["uncertainty"]["num_samples"]) == (1.0, 4)
