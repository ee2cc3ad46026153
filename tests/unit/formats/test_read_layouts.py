"""Layouts as benchmarks document them: options and references are found without a map, or asked for."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from eyechart.base.errors import ReadingWarning, SettingError
from eyechart.data.dataset import Dataset
from eyechart.formats import read
from eyechart.formats.records import find_mappings
from eyechart.formats.rows import find_unique_id
from eyechart.formats.table import read_table

FRUIT = ["Apples.", "Candles.", "Berries."]
ASK = {"id": 1, "question": "what hangs there?"}
LETTERED = ["A. Apples.", "B. Candles.", "C. Berries."]


def load(folder: Path, rows: list[dict[str, Any]], **settings: Any) -> Dataset:  # noqa: ANN401 - of whichever setting
    path = folder / "rows.json"
    path.write_text(json.dumps(rows))
    return read_table(path, **settings)


# One row each: what stands beside id and question, where the answer is "Berries." among the three options.
OPTIONS: dict[str, dict[str, Any]] = {
    "letters as columns": {"A": FRUIT[0], "B": FRUIT[1], "C": FRUIT[2], "D": None, "answer": "C"},
    "small letters as columns": {"a": FRUIT[0], "b": FRUIT[1], "c": FRUIT[2], "answer": "c"},
    "a0 to a2, index by name": {"a0": FRUIT[0], "a1": FRUIT[1], "a2": FRUIT[2], "answer_idx": 2},
    "a1 to a3, text": {"a1": FRUIT[0], "a2": FRUIT[1], "a3": FRUIT[2], "answer": "Berries."},
    "option_a": {"option_a": FRUIT[0], "option_b": FRUIT[1], "option_c": FRUIT[2], "answer": "C"},
    "Option A": {"Option A": FRUIT[0], "Option B": FRUIT[1], "Option C": FRUIT[2], "Answer": "C"},
    "optionA": {"optionA": FRUIT[0], "optionB": FRUIT[1], "optionC": FRUIT[2], "answer": "(C)"},
    "choice_1": {"choice_1": FRUIT[0], "choice_2": FRUIT[1], "choice_3": FRUIT[2], "answer": "Berries."},
    "option1": {"option1": FRUIT[0], "option2": FRUIT[1], "option3": FRUIT[2], "answer": "C."},
    "opt_0": {"opt_0": FRUIT[0], "opt_1": FRUIT[1], "opt_2": FRUIT[2], "correct_idx": 2},
    "a list": {"options": FRUIT, "answer": "C"},
    "a list with a letter and a text as the answer": {"options": FRUIT, "answer": "C. Berries."},
    "a list with letters": {"options": LETTERED, "answer": "C"},
    "a list with letters, the answer with its own": {"options": LETTERED, "answer": "C. Berries."},
    "a list with letters, the answer without": {"options": LETTERED, "answer": "Berries."},
    "a list with letters in brackets": {"choices": ["(A) Apples.", "(B) Candles.", "(C) Berries."], "answer": "(C)"},
    "a list with half brackets": {"choices": ["a) Apples.", "b) Candles.", "c) Berries."], "answer": "c"},
    "a list with colons": {"candidates": ["A: Apples.", "B: Candles.", "C: Berries."], "answer": "C"},
    "a list with numbers from 1": {"options": ["1. Apples.", "2. Candles.", "3. Berries."], "answer": "3"},
    "text of a Python list": {"options": str(FRUIT), "answer": "C"},
    "text of a JSON list": {"options": json.dumps(FRUIT), "answer": "C"},
    "text of a list in a list": {"options": str([FRUIT]), "answer": "C"},
    "text of an array, without commas": {"options": "['Apples.' 'Candles.' 'Berries.']", "answer": "C"},
    "text of an array, in lines": {"options": "['Apples.'\n 'Candles.'\n 'Berries.']", "answer": "C"},
    "a list in a list": {"options": [FRUIT], "answer": "C"},
    "a mapping by letter": {"options": dict(zip("ABC", FRUIT, strict=True)), "answer": "C"},
    "a mapping by letter, out of order": {"choices": {"C": FRUIT[2], "A": FRUIT[0], "B": FRUIT[1]}, "answer": "C"},
    "a mapping by letter, under another name": {"index2ans": dict(zip("ABC", FRUIT, strict=True)), "answer": "C"},
    "a mapping by number": {"options": dict(zip("012", FRUIT, strict=True)), "answer": "Berries."},
    "text of a mapping": {"options": str(dict(zip("ABC", FRUIT, strict=True))), "answer": "C"},
    "labels and texts": {"choices": {"label": ["A", "B", "C"], "text": FRUIT}, "answerKey": "C"},
    "labels from 1 and texts": {"choices": {"label": ["1", "2", "3"], "text": FRUIT}, "answerKey": "3"},
    "records": {"choices": [{"id": k, "choice": v} for k, v in zip("ABC", FRUIT, strict=True)], "answer": "C"},
    "lines of text": {"options": "\n".join(LETTERED), "answer": "C"},
    "one line of text": {"options": " ".join(LETTERED), "answer": "C"},
}
INSIDE = {
    "in lines": "what hangs there?\nA. Apples.\nB. Candles.\nC. Berries.",
    "in lines with a hint after them": "what hangs there?\n(A) Apples.\n(B) Candles.\n(C) Berries.",
    "after a word": "what hangs there?\nOptions: A: Apples., B: Candles., C: Berries.",
    "after a word, in lines": "what hangs there?\nChoices:\n(A) Apples.\n(B) Candles.\n(C) Berries.",
    "in one line": "what hangs there? (A) Apples. (B) Candles. (C) Berries.",
}


@pytest.mark.parametrize("name", OPTIONS)
def test_options_are_found_wherever_they_stand(name: str, tmp_path: Path) -> None:
    data = load(tmp_path, [ASK | OPTIONS[name]])

    assert data.examples.select("question", "choices", "answer").row(0) == (ASK["question"], FRUIT, "Berries.")


@pytest.mark.parametrize("name", INSIDE)
def test_options_inside_the_question_are_taken_out(name: str, tmp_path: Path) -> None:
    data = load(tmp_path, [{"id": 1, "question": INSIDE[name], "answer": "C"}])

    assert data.examples.select("question", "choices", "answer").row(0) == (ASK["question"], FRUIT, "Berries.")
    assert data.layout["choices"] == "inside the question"


def test_a_list_in_the_question_that_answers_do_not_name_stays(tmp_path: Path) -> None:
    question = "which of these is larger? A. the moon B. the sun"
    data = load(tmp_path, [{"id": 1, "question": question, "answer": "Jupiter"}])

    assert data.examples.select("question", "answer").row(0) == (question, "Jupiter")
    assert "choices" not in data.columns


def test_instructions_after_the_options_stay_in_the_question(tmp_path: Path) -> None:
    question = INSIDE["in lines"] + "\nAnswer with the option's letter."
    data = load(tmp_path, [{"id": 1, "question": question, "answer": "C"}])

    assert data.examples["question"][0] == f"{ASK['question']}\nAnswer with the option's letter."
    assert data.examples["choices"][0].to_list() == FRUIT


def test_initials_are_no_letters_of_options(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "question": "who?", "options": ["A. Lincoln", "B. Obama"], "answer": "A. Lincoln"},
        *(
            {"id": n, "question": "who?", "options": ["C. Rice", "H. Clinton"], "answer": "C. Rice"}
            for n in range(2, 9)
        ),
    ]

    assert load(tmp_path, rows).examples["answer"].to_list() == ["A. Lincoln", *["C. Rice"] * 7]


def test_an_index_counts_from_where_the_file_shows(tmp_path: Path) -> None:
    def answers(indices: list[int]) -> list[str]:
        rows = [{"id": n, "question": "?", "options": FRUIT, "answer": index} for n, index in enumerate(indices)]
        return load(tmp_path, rows).examples["answer"].to_list()

    assert answers([0, 1, 2]) == FRUIT
    assert answers([1, 2, 3]) == FRUIT
    with pytest.raises(SettingError, match="answer_is=index or answer_is=index-from-1"):
        answers([1, 2, 1])


def test_the_map_lists_options_and_joins_ids(tmp_path: Path) -> None:
    row = {"question": "?", "video": "v", "n": 3, "first": "x", "second": "y", "answer": "B"}

    data = load(tmp_path, [row], map={"choices": "first,second", "id": "video,n"})

    assert data.examples.select("id", "choices", "answer").row(0) == ("v-3", ["x", "y"], "y")


def test_a_field_of_an_object_is_asked_for_and_mapped(tmp_path: Path) -> None:
    row = ASK | {"answer": {"value": "3", "unit": "m"}}

    with pytest.raises(SettingError, match=r"fields value, unit; say .* such as answer=answer\.value"):
        load(tmp_path, [row])
    assert load(tmp_path, [row], map={"answer": "answer.value"}).examples["answer"].to_list() == ["3"]


SOFT: dict[str, Any] = {
    "a mapping": {"label": {"riding": 0.667, "racing": 1}},
    "pairs": {"label": [["riding", 0.667], ["racing", 1]]},
    "records": {"label": [{"answer": "riding", "score": 0.667}, {"answer": "racing", "score": 1}]},
    "two lists": {"label": {"ids": ["riding", "racing"], "weights": [0.667, 1]}},
    "text": {"label": "{'riding': 0.667, 'racing': 1}"},
}


@pytest.mark.parametrize("name", SOFT)
def test_soft_labels_keep_their_weights(name: str, tmp_path: Path) -> None:
    data = load(tmp_path, [ASK | SOFT[name]])

    assert data.examples.select("answer", "answers", "weights").row(0) == ("racing", ["riding", "racing"], [0.667, 1.0])


def test_mappings_with_ever_new_keys_stay_small(tmp_path: Path) -> None:
    rows = [{"id": n, "question": "?", "label": {f"word {n}": 1, f"other {n}": 0.6}} for n in range(300)]

    data = load(tmp_path, rows)
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    lines = read_table(tmp_path / "rows.jsonl")

    assert find_mappings(rows) == {"label"}
    assert data.examples["answer"].to_list() == [f"word {n}" for n in range(300)]
    assert lines.examples.equals(data.examples)


@pytest.mark.parametrize("value", [["cat", "dog", "dog"], "['cat', 'dog', 'dog']"])
def test_several_references_are_counted(value: object, tmp_path: Path) -> None:
    data = load(tmp_path, [ASK | {"ground_truth": value}])

    assert data.examples.select("answer", "answers").row(0) == ("dog", ["cat", "dog", "dog"])


def test_a_reference_that_is_always_the_first_answer_is_voted_on_again(tmp_path: Path) -> None:
    people = [["a", "b", "b"], *[["c", "c", "d"]] * 20]
    rows = [{"id": n, "question": "?", "multiple_choice_answer": a[0], "answers": a} for n, a in enumerate(people)]

    assert load(tmp_path, rows).examples["answer"].to_list() == ["b", *["c"] * 20]


def test_one_and_zero_are_yes_and_no_where_questions_ask_for_it(tmp_path: Path) -> None:
    def answer(question: str) -> str:
        return str(load(tmp_path, [{"id": 1, "question": question, "gt_answer": "1"}]).examples["answer"][0])

    assert answer("Is it red?") == "yes"
    assert answer("According to the chart, does it rise?") == "yes"
    assert answer("How many are there?") == "1"


def test_measured_numbers_are_declared(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"id": 1, "question": "how far?", "ground_truth": "2.1", "options": None},
        {"id": 2, "question": "how many?", "ground_truth": "4", "options": None},
        {"id": 3, "question": "which?", "ground_truth": "A", "options": ["A. x", "B. y"]},
    ]

    assert load(tmp_path, rows).examples["answer_type"].to_list() == ["number", "number", None]
    counts = [row | {"ground_truth": "2"} for row in rows[:2]]
    assert "answer_type" not in load(tmp_path, counts).columns


def test_conversations_of_one_turn_are_questions_and_answers(tmp_path: Path) -> None:
    turns = [{"from": "human", "value": f"<image>\n{INSIDE['in lines']}"}, {"from": "gpt", "value": "C"}]

    data = load(tmp_path, [{"id": "7", "image": "7.png", "conversations": turns}])
    assert data.examples.select("image", "question", "answer").row(0) == ("7.png", ASK["question"], "Berries.")

    with pytest.raises(SettingError, match="several turns"):
        load(tmp_path, [{"id": "7", "conversations": turns * 2}])


def test_a_reference_beside_an_answer_that_differs_is_asked_for(tmp_path: Path) -> None:
    row = ASK | {"answer": "a bird", "ground_truth": "a plane"}

    with pytest.raises(SettingError, match="say which with map, such as answer=ground_truth"):
        load(tmp_path, [row])
    assert load(tmp_path, [row], map={"answer": "ground_truth"}).examples["answer"].to_list() == ["a plane"]


def test_columns_that_together_tell_rows_apart_are_proposed() -> None:
    table = pl.DataFrame(
        {"part": ["x", "x", "y"], "question_id": [0, 1, 0], "note": ["p", "q", "r"], "question": ["?"] * 3}
    )

    assert find_unique_id(table, "question_id") == ["part", "question_id"]
    assert find_unique_id(table.select("question_id", "question"), "question_id") == []


ODD: dict[str, tuple[list[dict[str, Any]], str]] = {
    "rows dropped": (
        [{"part": n // 3, "qid": n % 3, "question": f"{n}?", "answer": "x"} for n in range(9)],
        "6 of 9 rows dropped, most of them because of: row with an id seen before; .*--id part,qid",
    ),
    "a model beside": (
        [{"id": n, "question": "?", "answer": "x", "model_output": f"It is {n}."} for n in range(9)],
        "answer and model_output, of which one may be a model's",
    ),
    "a model beside under any name": (
        [{"id": n, "question": "?", "answer": f"x{n}", "run7": f"x{n % 30}"} for n in range(60)],
        "answer and run7, of which one may be a model's",
    ),
    "options unseen": (
        [{"id": n, "question": "?", "alt0": "x", "alt1": "y", "alt2": "z", "answer": n % 3} for n in range(9)],
        "unused columns alt0, alt1, alt2; .*--map choices=alt0,alt1,alt2",
    ),
    "options unread": (
        [{"id": n, "question": "?", "options": "x or y", "answer": "x"} for n in range(9)],
        "9 rows with others",
    ),
}


@pytest.mark.parametrize("name", ODD)
def test_a_doubtful_reading_is_told(name: str, tmp_path: Path) -> None:
    rows, expected = ODD[name]
    (tmp_path / "rows.json").write_text(json.dumps(rows))

    with pytest.warns(ReadingWarning, match=expected):
        read(tmp_path / "rows.json")


@pytest.mark.parametrize("other", [lambda n: "yes" if n % 2 else "no", lambda n: f"x{n}", lambda n: f"y{n}"])
def test_a_column_that_agrees_by_chance_always_or_never_is_no_models(
    other: Callable[[int], str], tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    rows = [{"id": n, "question": "?", "answer": "yes" if n % 3 else f"x{n}", "seen": other(n)} for n in range(60)]
    rows = [row | {"answer": f"x{n}"} for n, row in enumerate(rows)] if other(1) != "yes" else rows
    (tmp_path / "rows.json").write_text(json.dumps(rows))

    read(tmp_path / "rows.json")

    assert not recwarn.list


def test_a_folder_with_none_of_the_pictures_is_told(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text(json.dumps([ASK | {"image": "7.png", "answer": "x"}]))
    (tmp_path / "empty").mkdir()

    with pytest.warns(ReadingWarning, match="none of 1, such as '7.png'"):
        read("table", tmp_path / "rows.json", images=tmp_path / "empty")


def test_a_path_alone_is_read_as_the_format_that_all_its_signs_speak_for(tmp_path: Path) -> None:
    header = "video,frame_count,width,height,question,answer,qid,type,a0,a1,a2,a3,a4\n"
    (tmp_path / "mc.csv").write_text(header + "v,9,1,1,why,0,6,CH,p,q,r,s,t\nw,9,1,1,why,4,6,CH,p,q,r,s,t\n")

    data = read(tmp_path / "mc.csv")

    assert data.layout == {"format": "nextqa"}
    assert data.examples.select("id", "answer").rows() == [("v-6", "p"), ("w-6", "t")]
