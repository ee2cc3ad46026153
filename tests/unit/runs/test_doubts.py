"""What makes a model's answers doubtful is told before anything is asked or judged."""

import json
import warnings
from pathlib import Path

import polars as pl
import pytest

from eyechart.base.errors import ReadingWarning
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.formats import read
from eyechart.models import load
from eyechart.runs.doubts import warn_of_doubts

COLORS = [f"colour {n}" for n in range(25)]


def asked(n: int) -> Dataset:
    examples = pl.DataFrame(
        {"id": [str(k) for k in range(n)], "question": "what color?", "answer": [COLORS[k % 25] for k in range(n)]}
    )
    examples = examples.with_columns(image="id")
    return Dataset("colours", examples, Images.named(examples["image"]))


def doubts(model: object, data: Dataset) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_doubts([model], data)  # type: ignore[list-item]
    return [str(one.message) for one in caught if issubclass(one.category, ReadingWarning)]


def answers(folder: Path, data: Dataset, wrong: int) -> object:
    rows = [
        {"id": key, "answer": "another" if place < wrong else answer}
        for place, (key, answer) in enumerate(data.examples.select("id", "answer").iter_rows())
    ]
    (folder / "answers.json").write_text(json.dumps(rows))
    return load(f"predictions:{folder / 'answers.json'}")


@pytest.mark.parametrize(("n", "wrong", "told"), [(200, 0, True), (200, 2, True), (200, 3, False), (49, 0, False)])
def test_answers_that_are_the_references_themselves_are_doubted(tmp_path: Path, n: int, wrong: int, told: bool) -> None:  # noqa: FBT001
    """From fifty answers on, of which 99 % are the reference letter by letter."""
    data = asked(n)

    found = doubts(answers(tmp_path, data, wrong), data)

    assert [f"{n - wrong:,} of {n:,} that are the reference letter by letter" in doubt for doubt in found] == [
        True
    ] * told


@pytest.mark.parametrize(("file", "told"), [("quiz.json", True), ("answers.json", False)])
def test_the_references_of_the_data_are_not_taken_for_a_models_answers(
    file: str,
    told: bool,  # noqa: FBT001
    tmp_path: Path,
) -> None:
    """A conversation holds the right answers as if a model had given them."""
    turns = [f"What is {n}?\nA. x{n}\nB. y{n}" for n in range(60)]
    rows = [
        {"id": str(n), "conversations": [{"from": "human", "value": turn}, {"from": "gpt", "value": "AB"[n % 2]}]}
        for n, turn in enumerate(turns)
    ]
    for name in ("quiz.json", file):
        (tmp_path / name).write_text(json.dumps(rows))

    found = doubts(load(f"predictions:{tmp_path / file}"), read(tmp_path / "quiz.json"))

    assert ["60 of 60 that are the reference" in doubt for doubt in found] == [True] * told


def test_a_few_different_answers_may_all_be_right(tmp_path: Path) -> None:
    data = asked(200)
    few = Dataset("colours", data.examples.with_columns(answer=pl.lit("red")), data.images)

    assert doubts(answers(tmp_path, few, 0), few) == []


def test_a_model_that_must_see_is_not_asked_about_pictures_that_are_not_there() -> None:
    [told] = doubts(load("openai:some-model,base_url=http://127.0.0.1:1/v1"), asked(3))

    assert "none of 3" in told
    assert "--set images=FOLDER" in told


def test_planted_models_are_never_doubted() -> None:
    assert doubts(load("world:seer"), asked(200)) == []


def test_ids_that_repeat_in_answers_are_told_with_the_columns_that_tell_them_apart(tmp_path: Path) -> None:
    rows = [{"video": f"v{k // 4}", "question_id": k % 4, "prediction": COLORS[k % 25]} for k in range(40)]
    (tmp_path / "answers.json").write_text(json.dumps(rows))

    [told] = doubts(load(f"predictions:{tmp_path / 'answers.json'}"), asked(4))

    assert "36 of 40 rows dropped" in told
    assert "as in FILE,id=video,question_id" in told


@pytest.mark.parametrize(("repeats", "told"), [(1, False), (2, True)])
def test_one_lost_row_alone_is_no_doubt_however_small_the_file(repeats: int, told: bool, tmp_path: Path) -> None:  # noqa: FBT001
    rows = [{"id": str(k), "answer": "red"} for k in (0, 1, 2, *range(repeats))]
    (tmp_path / "answers.json").write_text(json.dumps(rows))

    found = doubts(load(f"predictions:{tmp_path / 'answers.json'}"), asked(3))

    assert bool(found) == told
