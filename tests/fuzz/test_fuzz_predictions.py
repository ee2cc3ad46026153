"""However the samples of a log are damaged: samples in = answers read + dropped, or one clear error."""

import json
import tempfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.errors import EyechartError
from eyechart.data.predictions import Predictions, tidy
from eyechart.data.tables import COUNTS, check
from eyechart.formats.predictions import PredictionFile, read_predictions

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.sampled_from(["", "1", "yes", "\u2028é\x00", "[1]"])
    | st.just(0.5)
)
WILD = SCALARS | st.just({}) | st.fixed_dictionaries({"question_id": SCALARS, "answer": SCALARS}) | st.just([])
KEYS = st.none() | st.integers(1, 5) | st.integers(1, 5).map(str) | WILD
SAID = SCALARS | st.sampled_from(
    [[], ["a"], [["a"]], [["-1.0", "False"], ["-2.0", "True"]], {"a": 1}]
)  # one answer each
METADATA = WILD | st.fixed_dictionaries({}, optional={"draw": WILD, "epoch": WILD, "status": WILD, "condition": WILD})

OPTIONS = st.just([{"type": "text", "text": "A) a\nB) b"}])
TURN = WILD | st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", 1]), "content": WILD | OPTIONS})
SCORE = WILD | st.fixed_dictionaries({"extracted_prediction": WILD, "prediction": WILD})

FIELDS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "lmms-eval": {"doc_id": KEYS, "filtered_resps": SAID, "resps": SAID, "submission": WILD, "target": WILD},
    "lm-eval": {"doc_id": KEYS, "doc": WILD, "filtered_resps": SAID, "arguments": WILD, "filter": st.just("none")},
    "eee": {
        "sample_id": KEYS,
        "evaluation_id": WILD,
        "output": WILD | st.fixed_dictionaries({"raw": WILD}),
        "answer_attribution": WILD | st.lists(WILD, max_size=2),
        "error": SCALARS,
        "metadata": METADATA,
        "messages": WILD | st.lists(WILD, max_size=2),
    },
    "vlmeval": {"index": KEYS, "prediction": WILD, "extracted": WILD, "log": WILD, "g_index": WILD},
    "evalscope": {
        "index": KEYS,
        "sample_score": WILD | st.fixed_dictionaries({"group_id": WILD, "score": SCORE}),
        "model_output": WILD | st.fixed_dictionaries({"choices": WILD | st.lists(WILD, max_size=1), "error": WILD}),
        "messages": WILD | st.lists(TURN, max_size=2),
        "metadata": WILD,
    },
    "helm": {
        "instance_id": KEYS,
        "predicted_text": WILD,
        "train_trial_index": WILD,
        "output_mapping": WILD | st.fixed_dictionaries({"A": WILD, "B": WILD}),
        "instance": WILD | st.fixed_dictionaries({"id": KEYS, "perturbation": WILD}),
    },
    "opencompass": {
        "idx": KEYS,
        "origin_prompt": WILD | st.lists(WILD, max_size=2),
        "prediction": SCALARS | st.just(["a"]),
    },
    "chat": {
        "id": KEYS,
        "messages": WILD | st.lists(TURN, max_size=1),
        "custom_id": KEYS,
        "response": WILD | st.fixed_dictionaries({"body": WILD | st.fixed_dictionaries({"choices": WILD})}),
    },
    "llava": {"question_id": KEYS, "text": WILD, "answer_id": WILD, "round_id": WILD, "model_id": st.just("m")},
}
SAMPLE = {
    "id": KEYS,
    "epoch": WILD,
    "output": WILD | st.fixed_dictionaries({"completion": WILD, "choices": WILD | st.lists(WILD, max_size=1)}),
    "scores": WILD | st.fixed_dictionaries({"match": WILD}),
    "error": SCALARS,
}
SOUND: dict[str, dict[str, object]] = {
    "lmms-eval": {"doc_id": 0, "filtered_resps": "a"},
    "lm-eval": {"doc_id": 0, "doc": {"id": 0}, "filtered_resps": ["a"]},
    "eee": {"sample_id": "0", "evaluation_id": "e"},
    "vlmeval": {"index": 0, "prediction": "a"},
    "evalscope": {"index": 0, "sample_score": {}, "messages": [{"role": "user", "content": "A) a\nB) b"}]},
    "helm": {"instance_id": "id0", "predicted_text": "a"},
    "opencompass": {"idx": 0, "origin_prompt": "what?", "prediction": "a"},
    "chat": {"id": 0, "messages": [{"role": "user", "content": "what?"}]},
    "llava": {"question_id": 0, "text": "a", "answer_id": "x"},
}


def read_lines(entries: list[Any]) -> PredictionFile | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "it.json"
        path.write_text(json.dumps(entries))
        try:
            return read_predictions(path)
        except EyechartError:
            return None


def check_balance(found: PredictionFile | None, entries: int) -> None:
    if found is None:
        return
    check(found.counts, COUNTS)
    twice = pl.col("reason") == "prediction whose review is read"
    read_or_dropped = found.counts.filter(pl.col("status").is_in(["read", "dropped"]) | twice.fill_null(value=False))
    assert read_or_dropped["n"].sum() == entries
    assert found.answers.height == found.counts.filter(status="read")["n"].sum()
    parts = found.answers.partition_by("condition") if "condition" in found.answers.columns else [found.answers]
    for part in parts:
        asked = part.select(pl.col("id").unique(), condition=pl.lit("plain"), probe=pl.lit("x"))
        Predictions("m", tidy(part, asked, "m"))  # which checks the table of answers


@pytest.mark.parametrize("name", FIELDS)
@given(data=st.data())
@settings(deadline=None)
def test_every_entry_of_a_log_is_read_or_dropped(name: str, data: st.DataObject) -> None:
    record = st.fixed_dictionaries({}, optional=FIELDS[name])
    entries = [SOUND[name], *data.draw(st.lists(record | SCALARS, max_size=6))]

    check_balance(read_lines(entries), len(entries))


@given(st.lists(st.fixed_dictionaries({}, optional=SAMPLE) | SCALARS, max_size=6))
@settings(deadline=None)
def test_every_sample_of_inspect_is_read_or_dropped(samples: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.json"
        path.write_text(json.dumps({"version": 2, "status": "success", "eval": {}, "samples": samples}))
        found = read_predictions(path)

    check_balance(found, len(samples))


RESULTS = WILD | st.dictionaries(st.sampled_from(["1", "2"]), WILD)


@given(results=RESULTS, outputs=RESULTS)
@settings(deadline=None)
def test_every_result_of_scienceqa_is_read(results: Any, outputs: Any) -> None:  # noqa: ANN401 - any JSON
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "it.json"
        path.write_text(json.dumps({"acc": 0, "results": results, "outputs": outputs}))
        found = read_predictions(path, format="scienceqa")

    ids = {key for part in (results, outputs) if isinstance(part, dict) for key in part}
    check_balance(found, len(ids))


REQUEST = WILD | st.fixed_dictionaries(
    {
        "instance": WILD | st.fixed_dictionaries({"id": KEYS}),
        "result": WILD | st.fixed_dictionaries({"success": WILD, "completions": WILD | st.lists(WILD, max_size=1)}),
        "output_mapping": WILD,
    }
)


@given(st.lists(REQUEST, max_size=4))
@settings(deadline=None)
def test_every_request_of_helm_is_read_or_dropped(requests: list[Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scenario_state.json"
        path.write_text(json.dumps({"adapter_spec": {}, "request_states": requests}))
        found = read_predictions(path)

    check_balance(found, len(requests))
