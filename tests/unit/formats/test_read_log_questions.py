"""Logs are read as data: questions, options and references, by the ids that their answers have."""

import json
from pathlib import Path

import polars as pl
import pytest

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.formats import read
from eyechart.formats.predictions import read_predictions

# Of files this small one row is a large share, so that losing it makes the reading doubtful.
pytestmark = pytest.mark.filterwarnings("ignore::eyechart.base.errors.ReadingWarning")

Record = dict[str, object]
RED = "iVBORw0KGgoAAAANSUhEUgAAAAgAAAAICAIAAABLbSncAAAAEklEQVR4nGP8z4AdMOEQH6QSAM1BAQ/oQeJvAAAAAElFTkSuQmCC"
PICTURE = f"data:image/png;base64,{RED}"
OPTIONS = "Which bus?\n\nA) red\nB) blue"


def fates(data: Dataset) -> dict[tuple[str, str | None], int]:
    return {(status, reason): n for status, reason, n in data.counts.select("status", "reason", "n").iter_rows()}


def evalscope(index: int, target: object, text: str = OPTIONS, group: int = 0) -> Record:
    parts = [{"type": "text", "text": "Answer: [LETTER].\n\n"}, {"type": "image", "image": PICTURE}]
    asked = {"role": "user", "content": [*parts, {"type": "text", "text": text}]}
    score = {"score": {"extracted_prediction": "A", "prediction": "A"}, "group_id": group}
    return {"index": index, "target": target, "messages": [asked], "sample_score": score}


def helm(key: str, right: str, *others: str, split: str = "test") -> Record:
    references = [{"output": {"text": text}, "tags": ["correct"] * (text == right)} for text in (right, *others)]
    media = {"media_objects": [{"content_type": "image/png", "location": "a.png"}]}
    content = {"text": "<image>Which bus?", "multimedia_content": media}
    return {"instance": {"id": key, "input": content, "references": references, "split": split}}


def details(*docs: Record) -> pl.DataFrame:
    said = {"text": ["x"], "text_post_processed": None, "logprobs": []}
    return pl.DataFrame([{"doc": doc, "metric": {"acc": 0}, "model_response": said} for doc in docs])


LOGS: dict[str, object] = {
    "evalscope": [evalscope(0, ["B"]), evalscope(1, ["B"])],
    "helm": {"adapter_spec": {}, "request_states": [helm("0", "blue", "red")]},
    "opencompass": {"0": {"origin_prompt": f"<image 1>{OPTIONS}", "prediction": "x", "gold": "B"}},
    "inspect": {
        "version": 2,
        "status": "success",
        "eval": {"model": "m"},
        "samples": [
            {"id": 0, "epoch": epoch, "input": "Which bus?", "choices": ["red", "blue"], "target": "B"}
            for epoch in (1, 2)
        ],
    },
    "lighteval": details({"query": OPTIONS, "choices": [" A", " B"], "gold_index": 1, "id": "0", "specific": None}),
}


def write(folder: Path, name: str) -> Path:
    content = LOGS[name]
    path = folder / {"evalscope": "it.jsonl", "lighteval": "details_a|0_x.parquet"}.get(name, "it.json")
    if isinstance(content, pl.DataFrame):
        content.write_parquet(path)
    elif isinstance(content, list):
        path.write_text("\n".join(map(json.dumps, content)))
    else:
        path.write_text(json.dumps(content))
    return path


@pytest.mark.parametrize("name", LOGS)
def test_questions_have_their_options_and_the_text_of_the_right_one(name: str, tmp_path: Path) -> None:
    data = read(name, write(tmp_path, name))

    told = data.examples.select("id", "question", pl.col("choices").list.sort(), "answer").rows()
    assert told == [("0", "Which bus?", ["blue", "red"], "blue")]


@pytest.mark.parametrize("name", LOGS)
def test_questions_have_the_ids_of_the_answers_in_the_same_log(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, name)

    assert set(read(name, path).examples["id"]) == set(read_predictions(path).answers["id"])


@pytest.mark.parametrize("name", LOGS)
def test_a_file_of_something_else_is_one_clear_error(name: str, tmp_path: Path) -> None:
    (tmp_path / "it.json").write_text('[{"question": "what?", "answer": "cat"}]')

    with pytest.raises(FileFormatError, match=f"a log of {name}"):
        read(name, tmp_path / "it.json")


def test_a_letter_whose_options_cannot_be_read_drops_its_row(tmp_path: Path) -> None:
    lines = [evalscope(0, ["B"], "A) red\nC) blue"), evalscope(1, ["a bus"], "What?", group=1)]
    (tmp_path / "it.jsonl").write_text("\n".join(map(json.dumps, lines)))

    data = read("evalscope", tmp_path / "it.jsonl")

    assert data.examples.select("id", "question", "answer").rows() == [("1", "What?", "a bus")]
    assert fates(data)["dropped", "row whose answer is a letter, but whose options cannot be read"] == 1


def test_several_accepted_answers_are_answers(tmp_path: Path) -> None:
    (tmp_path / "it.jsonl").write_text(json.dumps(evalscope(0, ["bus", "a bus", "bus"], "What?")))

    assert read("evalscope", tmp_path / "it.jsonl").examples["answers"].to_list() == [["bus", "a bus"]]


def test_pictures_inside_a_log_are_written_once(tmp_path: Path) -> None:
    path = write(tmp_path, "evalscope")

    data = read("evalscope", path, pictures=tmp_path / "pictures")

    (image,) = data.images.table["image"]
    (picture,) = (tmp_path / "pictures").iterdir()
    assert (data.examples["image"].to_list(), picture.name) == ([image], f"{image}.png")
    assert fates(data)["noted", "question that was asked again"] == 1


def test_instances_of_helm_keep_their_split_and_where_their_picture_is(tmp_path: Path) -> None:
    data = read("helm", write(tmp_path, "helm"))

    assert data.splits() == ("test",)
    assert data.examples["image"].to_list() == ["a.png"]
    assert data.images.table["path"].to_list() == ["a.png"]


def test_result_files_of_real_models_have_their_published_accuracy(real_data: Path) -> None:
    folder = real_data / "scienceqa"
    gold = read("table", folder / "bunny_test_CQM-A.json.gz").examples.select("id", "choices", gold="answer")
    for name, published in {"gpt3": 75.17, "test_sqa_llava_13b": 90.92, "test_sqa_llava_lcs": 91.09}.items():
        (file,) = (folder / "predictions").glob(f"{name}*")
        joined = gold.join(read_predictions(file).answers, on="id", how="left", validate="1:1")
        place = pl.col("answer").replace_strict(list("ABCDE"), list(range(5)), default=None, return_dtype=pl.Int64)
        right = pl.col("choices").list.get(place, null_on_oob=True) == pl.col("gold")
        accuracy = joined.select(right.fill_null(value=False).mean() * 100).item()
        assert (joined.height, abs(accuracy - published) < 0.1) == (4241, True)
