"""Thresholds are read as they are spoken, and crossed by what is on the wrong side of them."""

import pytest

from eyechart.base.errors import SettingError, UnknownNameError
from eyechart.reporting.contents import Page
from eyechart.reporting.page import summarise
from eyechart.reporting.sections import MeasureRow
from eyechart.reporting.thresholds import Threshold, crossed, read_threshold


def lines(page: Page, text: str) -> list[str]:
    return list(crossed(page, [read_threshold(text)]))


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("perception.image < 20", ("perception", "image", None, None, None, "value", "<", 20)),
        ("a.matched gap>=-1.5", ("a", "matched gap", None, None, None, "value", ">=", -1.5)),
        ("a.b.low > 3", ("a", "b", None, None, None, "low", ">", 3)),
        ("a.b@image#1[kind=easy one].high <= 0", ("a", "b", "image#1", "kind", "easy one", "high", "<=", 0)),
    ],
)
def test_a_threshold_is_read(text: str, parts: tuple[object, ...]) -> None:
    assert read_threshold(f" {text} ") == Threshold(text, *parts)


@pytest.mark.parametrize("text", ["", "image < 20", "a.b = 3", "a.b < many", "a.b 3", "a.b[kind] < 3"])
def test_what_is_no_threshold_is_answered_by_what_one_looks_like(text: str) -> None:
    with pytest.raises(SettingError, match=r"perception\.image < 20"):
        read_threshold(text)


def gains(page: Page) -> dict[str, MeasureRow]:
    """Find the measure `gain` of every model."""
    models = [section for section in page.sections if section.role == "result"]
    return {section.subject: row for section in models for row in section.measures if row.name == "gain"}


def test_models_on_the_wrong_side_are_named(page: Page) -> None:
    found = lines(page, "accuracy.gain < 60")
    expected = [subject for subject, row in gains(page).items() if row.value * 100 < 60]

    assert 0 < len(expected) < len(gains(page))
    assert [line.split(" of ", 1)[1].split(" is ")[0] for line in found] == expected
    assert lines(page, "accuracy.gain < -100") == []


def test_a_condition_stands_for_the_measure_of_the_verdict_under_it(page: Page) -> None:
    short, full = lines(page, "accuracy.plain < 60"), lines(page, "accuracy.gain@plain < 60")

    assert len(short) > 0
    assert [line.split(": ", 1)[1] for line in short] == [line.split(": ", 1)[1] for line in full]
    with pytest.raises(UnknownNameError):
        lines(page, "accuracy.plain@plain < 60")


def test_the_ends_of_an_interval_can_be_held(page: Page) -> None:
    row = next(iter(gains(page).values()))
    between = 50 * (row.low + row.value)

    assert row.text in "".join(lines(page, f"accuracy.gain.low < {between}"))
    assert row.text not in "".join(lines(page, f"accuracy.gain.high < {between}"))


def test_what_is_not_known_crosses_every_threshold(page: Page) -> None:
    assert lines(page, "accuracy.ratio.low > 1000000")


def test_a_threshold_about_nothing_is_an_error(page: Page) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'accuracy'"):
        lines(page, "acuracy.accuracy < 3")
    with pytest.raises(UnknownNameError, match="did you mean 'gain'"):
        lines(page, "accuracy.gian < 3")
    with pytest.raises(UnknownNameError, match=r"accuracy\[type="):
        lines(page, "accuracy.accuracy < 3")


def test_the_summary_in_markdown_has_every_verdict_and_no_html(page: Page, nasty: str) -> None:
    text = summarise(page)
    rows = [line for line in text.splitlines() if line.startswith("| ") and " caught " in line]

    assert len(rows) == sum(row.state == "caught" for row in page.summary)
    assert nasty not in "\n".join(line for line in text.splitlines() if line.startswith("|"))
