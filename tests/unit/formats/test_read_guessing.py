"""Somebody who names the wrong format is told the likely one."""

import json
from pathlib import Path

import pytest

from eyechart.base.errors import FileFormatError, UnknownNameError
from eyechart.formats import descriptions, read
from eyechart.formats.description import guess_format
from eyechart.formats.sources import SourceFile

ANNOTATIONS = {
    "questions": [{"question_id": 1, "image_id": 1, "question": "what?"}],
    "annotations": [
        {
            "question_id": 1,
            "image_id": 1,
            "multiple_choice_answer": "cat",
            "answers": [{"answer": "cat", "answer_confidence": "yes", "answer_id": 1}],
        }
    ],
}


def test_the_format_is_known_by_its_words(tmp_path: Path) -> None:
    (tmp_path / "it.json").write_text(json.dumps(ANNOTATIONS))

    assert guess_format(tmp_path / "it.json", descriptions()) == "vqa2"


def test_an_unknown_format_is_answered_with_the_likely_one(tmp_path: Path) -> None:
    (tmp_path / "it.json").write_text(json.dumps(ANNOTATIONS))

    with pytest.raises(UnknownNameError, match="it looks like format 'vqa2'"):
        read("official", tmp_path / "it.json")


def test_a_file_that_looks_like_nothing_is_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "it.json").write_text('{"colour": "red"}')

    assert guess_format(tmp_path / "it.json", descriptions()) is None
    assert guess_format(tmp_path / "nowhere.json", descriptions()) is None
    with pytest.raises(FileFormatError) as error:
        read("vqa2", tmp_path / "it.json")
    assert "looks like" not in str(error.value)


def test_every_format_shows_what_it_needs_and_two_lines_of_it() -> None:
    for name, told in descriptions().items():
        assert told.needs, name
        assert told.sample.count("\n") == 1, name


@pytest.mark.parametrize("size", [1, 7, 64, 10_000])
def test_blocks_are_whole_lines_and_lose_nothing(tmp_path: Path, size: int) -> None:
    text = "".join(f"line {n} {'x' * (n % 13)}\n" for n in range(50)) + "the last has no end"
    (tmp_path / "it.jsonl").write_text(text)
    source = SourceFile("it.jsonl", ".jsonl", (tmp_path / "it.jsonl").read_bytes, tmp_path / "it.jsonl")
    blocks = list(source.blocks(size))

    assert b"\n".join(blocks).decode() == text
