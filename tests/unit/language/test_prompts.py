"""Templates and the texts they make."""

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.errors import FileFormatError, SettingError, UnknownNameError
from eyechart.language.prompts import TEMPLATES, Template, choose_template, list_labels, write_prompts

QUESTION = "what color is it?"
SHORT = "Answer the question using a single word or phrase."
LETTER = "Answer with the option's letter from the given choices directly."


def probe(**columns: object) -> pl.DataFrame:
    return pl.DataFrame({"id": ["1"], "question": [QUESTION], **{name: [value] for name, value in columns.items()}})


def write(name: str | None = None, **columns: object) -> str:
    return str(write_prompts(probe(**columns), choose_template(name)).item())


def test_an_open_question_asks_for_a_short_answer() -> None:
    assert write() == f"{QUESTION}\n{SHORT}"


def test_options_are_listed_with_letters() -> None:
    assert write(choices=["red", "blue"]) == f"{QUESTION}\nA. red\nB. blue\n{LETTER}"


def test_more_options_than_letters_are_numbered() -> None:
    options = [f"o{n}" for n in range(27)]
    lines = write(choices=options).split("\n")

    assert lines[1:28] == [f"{n + 1}. {option}" for n, option in enumerate(options)]
    assert list_labels(probe(choices=options), choose_template(None)).to_list()[0][-1] == "27"


def test_a_template_without_options_keeps_them_to_itself() -> None:
    """Even so, what may be said is known: the texts themselves."""
    table = probe(choices=["red", "blue"])

    assert write("short", choices=["red", "blue"]) == f"{QUESTION}\n{SHORT}"
    assert list_labels(table, choose_template("short")).to_list() == [["red", "blue"]]
    assert list_labels(table, choose_template("choice")).to_list() == [["A", "B"]]
    assert list_labels(table, choose_template("numbered")).to_list() == [["1", "2"]]


def test_each_probe_of_a_batch_gets_what_fits_it() -> None:
    table = pl.DataFrame({"id": ["1", "2"], "question": ["a?", "b?"], "choices": [["x", "y"], None]})

    assert write_prompts(table, choose_template(None)).to_list() == [f"a?\nA. x\nB. y\n{LETTER}", f"b?\n{SHORT}"]


@pytest.mark.parametrize("missing", [None, ""])
def test_what_a_probe_lacks_leaves_no_line(missing: str | None) -> None:
    assert write(caption="a dog", history=missing, hint="look") == f"a dog\nlook\n{QUESTION}\n{SHORT}"
    assert (
        write_prompts(probe().with_columns(question=pl.lit(missing, pl.String)), choose_template(None)).item() == SHORT
    )


def test_blind_prompts_tell_or_do_not_tell() -> None:
    """`guess` says that there is no image; `as-if` and `none` are word for word what is said with one."""
    assert write(removal="image=guess") == f"There is no image. Guess the most likely answer without it.\n{write()}"
    assert write(removal="image=as-if") == write(removal="image=none") == write()


def test_braces_in_a_question_are_only_braces() -> None:
    table = probe().with_columns(question=pl.lit("what is {choices} and {0}?"))

    assert write_prompts(table, choose_template("bare")).item() == "what is {choices} and {0}?"


def test_names_carry_versions() -> None:
    assert [each.identity for each in TEMPLATES.values()] == [f"{name}@1" for name in TEMPLATES]
    assert choose_template("short@1") is TEMPLATES["short"]
    with pytest.raises(SettingError, match="short@1"):
        choose_template("short@2")
    with pytest.raises(UnknownNameError, match="did you mean 'short'"):
        choose_template("shrt")


def test_changed_words_change_the_digest() -> None:
    assert Template("mine", open="{question}").digest != Template("mine", open="{question}!").digest


def test_a_file_overrides_the_words(tmp_path: Path) -> None:
    (tmp_path / "polite.yaml").write_text("version: 3\nopen: |-\n  Please:\n  {question}\nexpects: yes/no\n")
    (tmp_path / "same.json").write_text(json.dumps({"name": "polite", "version": 3, "open": "Please:\n{question}"}))
    (tmp_path / "text.txt").write_text("{question}\n{options}\nLetter:\n")

    assert choose_template(str(tmp_path / "polite.yaml")).identity == "polite@3"
    assert write(str(tmp_path / "polite.yaml")) == write(str(tmp_path / "same.json")) == f"Please:\n{QUESTION}"
    assert write(str(tmp_path / "text.txt"), choices=["x"]) == f"{QUESTION}\nA. x\nLetter:"


@pytest.mark.parametrize(
    ("content", "error", "words"),
    [
        ("open: [", FileFormatError, "a template in"),
        ("- a list", FileFormatError, "found list"),
        ("opne: it", SettingError, "did you mean 'open'"),
        ("expects: song", SettingError, "expects as one of"),
    ],
)
def test_a_bad_file_is_one_clear_error(tmp_path: Path, content: str, error: type[Exception], words: str) -> None:
    (tmp_path / "bad.yaml").write_text(content)
    with pytest.raises(error, match=words):
        choose_template(str(tmp_path / "bad.yaml"))


def test_a_field_no_probe_has_is_an_error_not_a_silent_gap() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'question'"):
        write_prompts(probe(), Template("mine", open="{qestion}"))
    with pytest.raises(SettingError, match="a valid text"):
        write_prompts(probe(), Template("mine", open="{question"))


@settings(deadline=None)
@given(st.lists(st.lists(st.text(min_size=1, max_size=5), max_size=4), min_size=1, max_size=6))
def test_labels_and_options_are_as_many_and_in_order(choices: list[list[str]]) -> None:
    """Compared with a loop over probes and options."""
    table = pl.DataFrame(
        {"id": list(map(str, range(len(choices)))), "question": "?", "choices": choices},
        schema_overrides={"choices": pl.List(pl.String)},
    )
    expected = [["ABCD"[at] for at in range(len(each))] or None for each in choices]
    prompts = write_prompts(table, choose_template(None)).to_list()

    assert list_labels(table, choose_template(None)).to_list() == expected
    for prompt, options in zip(prompts, choices, strict=True):
        listed = "".join(f"{'ABCD'[at]}. {option}\n" for at, option in enumerate(options))
        assert prompt == (f"?\n{listed}{LETTER}" if options else f"?\n{SHORT}")
