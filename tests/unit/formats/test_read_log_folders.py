"""OpenCompass, chat messages and result files are read; of several runs in a folder the newest counts."""

import json
from pathlib import Path

import polars as pl
import pytest

from eyechart.base.errors import FileFormatError, SettingError
from eyechart.data.images import Images
from eyechart.formats.predictions import PredictionFile, read_predictions
from eyechart.models import load

Record = dict[str, object]
TIMES = ("20260101_120000", "T20260818-032032", "2026-11-19T21-27-38.303634")


def write(path: Path, content: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = path.suffix == ".jsonl" and isinstance(content, list)
    path.write_text("\n".join(map(json.dumps, content)) if lines else json.dumps(content))  # type: ignore[arg-type]
    return path


def fates(found: PredictionFile) -> dict[tuple[str, str | None], int]:
    return {(status, reason): n for status, reason, n in found.counts.select("status", "reason", "n").iter_rows()}


def said(*predictions: object, prompt: object = "what?") -> dict[str, Record]:
    """Write the predictions of OpenCompass."""
    return {str(n): {"origin_prompt": prompt, "prediction": one} for n, one in enumerate(predictions)}


def test_the_predictions_of_opencompass_are_read_by_the_number_of_the_row(tmp_path: Path) -> None:
    prompt = [
        {"role": "HUMAN", "prompt": "what?\nA. red\nB. blue\nAnswer:"},
        {"role": "BOT", "prompt": "A. no\nB. none"},
    ]
    content = said("B", ["a", "b"], None, prompt=prompt)
    content["3"] = {"origin_prompt": [], "prediction": ["a", "b"], "gold": ["a", "b"]}
    write(tmp_path / "predictions" / "m" / "quiz.json", content)
    write(tmp_path / "results" / "m" / "quiz.json", {"accuracy": 50.0, "details": {}})
    (tmp_path / "summary.csv").write_text("dataset,version,metric,mode,m\nquiz,a1,accuracy,gen,50.0\n")

    found = read_predictions(tmp_path)

    assert found.answers.select("id", "draw", "answer", "status").rows() == [
        ("0", 0, "blue", "ok"),
        ("1", 0, "red", "ok"),
        ("1", 1, "blue", "ok"),
        ("2", 0, None, "failed"),
    ]
    assert fates(found)["dropped", "conversation of several rounds"] == 1
    assert fates(found)["noted", "file of aggregates next to the answers, skipped"] == 2


def test_the_parts_of_a_dataset_of_opencompass_are_one_again(tmp_path: Path) -> None:
    for part in range(11):
        write(tmp_path / f"quiz_{part}.json", said(f"{part}a", f"{part}b"))

    answers = dict(read_predictions(tmp_path).answers.select("id", "answer").rows())

    assert (answers["1"], answers["4"], answers["20"], answers["21"]) == ("0b", "2a", "10a", "10b")


def test_two_datasets_of_opencompass_are_told_apart(tmp_path: Path) -> None:
    for name in ("quiz", "test"):
        write(tmp_path / f"{name}.json", said(name))

    ids = read_predictions(tmp_path).answers["id"].to_list()

    assert [Path(key).name for key in ids] == ["quiz-0", "test-0"]


@pytest.mark.parametrize("time", TIMES)
def test_the_newest_run_of_a_work_folder_counts_and_is_told(time: str, tmp_path: Path) -> None:
    older = time.replace("2026", "2025")
    for stamp, answer in ((time, "new"), (older, "old")):
        write(tmp_path / "outputs" / stamp / "predictions" / "m" / "quiz.json", said(answer))
    write(tmp_path / "outputs" / older / "predictions" / "m" / "other.json", said("kept"))

    found = read_predictions(tmp_path / "outputs")

    assert sorted(found.answers["answer"]) == ["kept", "new"]
    digits = "".join(filter(str.isdigit, time))
    assert fates(found)["noted", f"file of an older run, skipped: the newest is {digits}"] == 1


def test_the_newest_log_of_a_task_counts_whatever_the_id_of_its_run(tmp_path: Path) -> None:
    """The conditions of a run that eyechart exported are tasks of their own, each with a log."""
    for time, run, condition, answer in (
        ("2026-11-19T21-27-38+00-00", "vpAwJ3Bk8mbdDS3aNoRtYc", "plain", "old"),
        ("2026-11-19T21-27-39+00-00", "aaaaJ3Bk8mbdDS3aNoRtYc", "rest", "other task"),
        ("2026-11-20T01-00-00+00-00", "zzzzJ3Bk8mbdDS3aNoRtYc", "plain", "new"),
    ):
        sample = {"id": 1, "epoch": 1, "output": {"completion": answer}, "metadata": {"eyechart": condition}}
        log = {"version": 2, "status": "success", "eval": {"model": "m"}, "samples": [sample]}
        write(tmp_path / f"{time}_ask-{condition}_{run}.json", log)

    answers = read_predictions(tmp_path).answers

    assert sorted(answers.select("condition", "answer").rows()) == [("plain", "new"), ("rest", "other task")]


def test_tables_whose_names_hold_times_are_all_read(tmp_path: Path) -> None:
    for number, time in enumerate(("20260101_120000", "20250101_120000")):
        write(tmp_path / f"part_{time}.json", {str(number): "x"})

    assert read_predictions(tmp_path).answers.height == 2


def test_a_file_with_the_fields_of_two_tools_is_refused(tmp_path: Path) -> None:
    lines = [{"index": 0, "prediction": "a"}, {"instance_id": "id0", "predicted_text": "b"}]

    with pytest.raises(SettingError, match="vlmeval and helm") as caught:
        read_predictions(write(tmp_path / "it.jsonl", lines))
    assert "format=vlmeval" in caught.value.advice


CHATS = {
    "openai": {"id": 7, "messages": [{"role": "user", "content": "what?"}, {"role": "assistant", "content": "red"}]},
    "sharegpt": {"id": 7, "conversations": [{"from": "human", "value": "what?"}, {"from": "gpt", "value": "red"}]},
    "parts": {"id": 7, "messages": [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "image_url"}, {"type": "text", "text": "what?"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "red"}]},
    ]},
    "batch": {"custom_id": "7", "error": None, "response": {"body": {"choices": [{"message": {"content": "red"}}]}}},
}  # fmt: skip


@pytest.mark.parametrize("form", CHATS)
@pytest.mark.parametrize("suffix", [".json", ".jsonl"])
def test_chat_messages_are_read_in_every_form(form: str, suffix: str, tmp_path: Path) -> None:
    found = read_predictions(write(tmp_path / f"it{suffix}", [CHATS[form]]))

    assert found.answers.select("id", "answer", "raw", "status").rows() == [("7", "red", "red", "ok")]


def test_conversations_without_ids_are_numbered(tmp_path: Path) -> None:
    talks = [[{"role": "user", "content": "A) x\nB) y"}, {"role": "assistant", "content": "B"}]] * 2

    found = read_predictions(write(tmp_path / "it.json", talks))

    assert found.answers.select("id", "answer").rows() == [("0", "y"), ("1", "y")]
    assert fates(found)["noted", "id is the number of the conversation"] == 2


def test_rounds_have_the_id_of_their_conversation_and_a_number(tmp_path: Path) -> None:
    turns = [
        ("user", "a?"),
        ("user", "b?"),
        ("assistant", "red"),
        ("user", "c?"),
        ("assistant", "blue"),
        ("user", "d?"),
    ]
    talk = {"id": "x", "messages": [{"role": role, "content": text} for role, text in turns]}

    found = read_predictions(write(tmp_path / "it.json", [talk, {"id": "y", "messages": []}, 3]))

    assert found.answers.select("id", "answer", "status").rows() == [
        ("x-0", "red", "ok"), ("x-1", "blue", "ok"), ("x-2", None, "failed"),
    ]  # fmt: skip
    assert fates(found)["dropped", "entry without a question"] == 2


def test_refusals_and_failures_of_a_batch_are_no_answers(tmp_path: Path) -> None:
    refused = {"custom_id": "1", "response": {"body": {"choices": [{"message": {"content": None, "refusal": "No."}}]}}}
    failed = {"custom_id": "2", "response": {"status_code": 429, "body": {}}, "error": None}

    found = read_predictions(write(tmp_path / "it.jsonl", [refused, failed]))

    assert found.answers.select("id", "answer", "status").rows() == [("1", "No.", "refused"), ("2", None, "failed")]


def test_result_files_of_scienceqa_name_options_by_their_index(tmp_path: Path) -> None:
    results = {
        "acc": 0.5,
        "results": {"7": 1, "8": -1, "9": 0},
        "outputs": {"7": "The answer is B.", "8": "Hm.", "9": "A"},
    }

    found = read_predictions(write(tmp_path / "it.json", results))

    assert found.answers.select("id", "answer", "raw", "status").rows() == [
        ("7", "B", "The answer is B.", "ok"), ("8", None, "Hm.", "unparsed"), ("9", "A", "A", "ok"),
    ]  # fmt: skip


@pytest.mark.parametrize("extract", ["yes", "no"])
def test_letters_mean_what_the_log_showed_where_the_data_list_the_options_otherwise(
    extract: str, tmp_path: Path
) -> None:
    talk = {"id": "1", "messages": [{"role": "user", "content": "what?\nA) red\nB) blue"}]}
    talk["messages"].append({"role": "assistant", "content": "B"})  # type: ignore[attr-defined]
    path = write(tmp_path / "it.json", [talk])
    probes = pl.DataFrame({"id": ["1"], "condition": ["plain"], "question": ["what?"], "choices": [["blue", "red"]]})

    answers = load(f"predictions:{path},extract={extract}").answer(probes, Images.named(pl.Series([], dtype=pl.String)))

    assert answers["answer"].to_list() == ["blue"]


@pytest.mark.parametrize(
    ("prompt", "answer"),
    [
        ("A) no\nB) never\n\nWhich?\nA) red\nB) blue", "blue"),  # examples come before the question
        ("(A) red\n(B) blue\nThe letter, please.", "blue"),
        ("A: red\nB: blue", "blue"),
        ("A. red\nlike a rose\nB. blue", "blue"),
        ("A. red\n\nB. blue\nas the sky\nC. no\none\nof\nthem", "B"),  # where the last option ends is not told
        ("A. red\nC. blue", "B"),
        ("B. blue", "B"),
        ("A. B\nB. A", "A"),  # a letter is first of all a label
    ],
)  # fmt: skip
def test_options_are_read_from_the_prompt_only_where_they_are_sure(prompt: str, answer: str, tmp_path: Path) -> None:
    talk = [{"role": "user", "content": prompt}, {"role": "assistant", "content": "B"}]

    assert read_predictions(write(tmp_path / "it.json", [talk])).answers["answer"].to_list() == [answer]


def test_an_archive_of_messages_that_hold_nothing_is_empty(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError):
        read_predictions(write(tmp_path / "it.json", "text"))
