"""A file of options cannot hang, fill the memory or break the parser."""

from collections.abc import Callable
from pathlib import Path

import pytest

from eyechart.base.yaml_text import parse_yaml

DOUBLED = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 40))
BROKEN = {
    "deep": ("[" * 3_000 + "]" * 3_000, "nested too deeply"),
    "dashes": ("- " * 600, "nested too deeply"),
    "doubled": (DOUBLED, "more than 100,000 values"),
    "endless": ("a: &a [*a]", "more than 100,000 values"),
    "impossible date": ("a: 2001-99-99", "month"),
    "unclosed": ('a: "b', "line 1"),
    "object": ("a: !!python/object/apply:os.system [ls]", "could not determine a constructor"),
    "tab": ("\ta: b", "line 1"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_wrong_is_one_short_line(name: str) -> None:
    text, reason = BROKEN[name]
    with pytest.raises(ValueError, match=reason) as error:
        parse_yaml(text)

    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 300


def test_sound_yaml_is_read_with_its_references() -> None:
    assert parse_yaml("a: &b [1, x]\nc: *b\nd: 2020-01-01 10:00\n") == {
        "a": [1, "x"],
        "c": [1, "x"],
        "d": "2020-01-01 10:00",
    }


@pytest.mark.parametrize("content", [b"[" * 600, b"\xff\xfe\x00a", DOUBLED.encode()])
@pytest.mark.parametrize("option", ["--config", "prompt"])
def test_options_and_prompts_in_broken_yaml_are_one_line(
    tmp_path: Path, content: bytes, option: str, eyechart: Callable[..., tuple[int, str, str]]
) -> None:
    (tmp_path / "it.yaml").write_bytes(content)
    words = (
        ("--config", tmp_path / "it.yaml")
        if option == "--config"
        else ("-m", f"openai:x,base_url=http://127.0.0.1:1/v1,prompt={tmp_path / 'it.yaml'}")
    )
    code, _, error = eyechart("predict", *words, tmp_path)

    assert (code, error.count("\n")) == (1, 1)
    assert "it.yaml" in error
