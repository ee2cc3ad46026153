"""Settings that do not fit are refused in plain words, from the command line and from Python alike."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest

from eyechart.base.errors import SettingError
from eyechart.base.settings import check_choices, fit_settings, replace_setting

Way = Literal["near", "far"]


@pytest.mark.parametrize(
    ("wanted", "given", "expected"),
    [
        (int, "many", "as a whole number"),
        (int | None, "1.5", "as a whole number"),
        (float, "high", "as a number"),
        (bool, "perhaps", "as yes or no"),
        (str, 3, "as text"),
        (Path | None, 3, "as a path"),
        (tuple[int, ...], "1,b", "as a list of whole numbers"),
        (list[list[int]], "1", "as a list of values"),
        (tuple[float, float, float], "1", "as 3 numbers"),
        (float | dict[str, float], "high", "as a number or pairs of NAME=VALUE"),
        (Way, "ner", "as one of near, far"),
        (Way | None, "ner", "as one of near, far"),
        (tuple[Way, ...], "far,ner", "as one of near, far"),
        (complex, "x", "as complex"),
    ],
)
def test_a_value_that_does_not_fit_says_what_does(wanted: Any, given: object, expected: str) -> None:  # noqa: ANN401
    with pytest.raises(SettingError) as caught:
        fit_settings("this", {"size": wanted}, {"size": given})

    assert caught.value.expected == f"size {expected}"


def test_the_nearest_choice_is_suggested_from_text_and_from_python() -> None:
    @dataclass
    class Chosen:
        way: Way = "near"
        ways: tuple[Way, ...] = ()

    same = r"as one of near, far; found 'ner'; did you mean 'near'\?"
    with pytest.raises(SettingError, match=f"way {same}"):
        check_choices(Chosen(way="ner"))  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=f"ways {same}"):
        check_choices(Chosen(ways=("far", "ner")))  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=f"way {same}"):
        fit_settings("this", {"way": Way}, {"way": "ner"})


def test_a_former_setting_is_renamed_with_its_value() -> None:
    values = {"old": "new"}

    assert replace_setting({"a": "old", "b": 1}, "a", "c", values) == {"c": "new", "b": 1}
    assert replace_setting({"a": "other"}, "a", "a", values) == {"a": "other"}
    assert replace_setting({"b": 1}, "a", "c", values) == {"b": 1}
