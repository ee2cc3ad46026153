"""What notebooks show: verdicts with their numbers, everything from data escaped, and the page itself."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.result import Key, Measure, Result, Verdict, measures_table
from eyechart.data.results import Results
from eyechart.data.tables import COUNTS, empty
from eyechart.reporting import report
from eyechart.reporting.notebook import MOST_INLINE, WrittenPage
from eyechart.runs.comparison import compare
from eyechart.runs.comparison_frame import ComparisonFrame

NASTY = "<script>alert(1)</script>"


def make_result(subject: str, *, audit: str = "accuracy", value: float = 0.61) -> Result:
    measures = [
        Measure("gain", value, value - 0.0321, value + 0.0321, 12, condition="plain", of="right", better="higher"),
        Measure("gain", 0.5, 0.4, 0.6, 6, by="type", group="type 1", of="right", better="higher"),
        Measure("floor", 0.3, 0.2, 0.4, 12, note=NASTY),
    ]
    verdict = Verdict("no", "Better than guessing?", "no better", f"{subject} is not.", Key("gain", "plain"), 0.01)
    other = Verdict("cannot tell", f"Free of {NASTY}?", NASTY, "It may be.", Key("floor"))
    counts = {"counts": empty(COUNTS)}
    rows = pl.DataFrame({"id": ["1", "2"], "cluster": ["a", "b"], "right": [value, value]})
    return Result(audit, subject, {}, measures_table(measures), rows, counts, (), verdict, further=(other,))


@pytest.fixture
def nasty() -> Result:
    return make_result(NASTY)


def html_of(shown: object) -> str:
    text = shown._repr_html_()  # type: ignore[attr-defined]
    assert isinstance(text, str)
    return text


def test_a_dataset_tells_its_size_and_shows_its_first_examples() -> None:
    examples = pl.DataFrame(
        {"id": [f"{n}" for n in range(9)], "image": ["a"] * 9, "question": [NASTY] * 9, "answer": ["x" * 500] * 9}
    )
    data = Dataset("mine", examples, Images.named(examples["image"]))

    assert repr(data) == "Dataset mine: 9 examples on 1 images; columns id, image, question, answer"
    shown = html_of(data)
    assert "Dataset mine" in shown
    assert shown.count("<tr>") == 1 + 3
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown
    assert "x" * 200 not in shown


def test_a_result_tells_its_verdict_and_value(nasty: Result) -> None:
    text = repr(nasty)

    assert text.startswith(f"accuracy of {NASTY}: ")
    assert nasty.verdict.state in text
    assert "gain 61.0 [57.8, 64.2]" in text
    assert "\n" not in text


def test_a_result_shows_its_verdict_in_words_and_escapes_what_comes_from_data(nasty: Result) -> None:
    shown = html_of(nasty)

    assert nasty.verdict.state in shown
    assert "61.0 [57.8, 64.2]" in shown
    assert "<script>" not in shown
    assert "type 1" not in shown  # groups are many


def test_badges_have_a_background_of_their_own_for_dark_notebooks(nasty: Result) -> None:
    badge = html_of(nasty).split("<span")[1].split(">")[0]

    assert "background:#" in badge
    assert ";color:#" in badge
    assert html_of(nasty).count(";color:#") == len(nasty.verdicts)  # all other text has the colour of the notebook


def test_results_are_a_dict_that_shows_a_line_for_each_verdict(nasty: Result) -> None:
    results = Results({"accuracy": nasty, "perception": make_result("m", audit="perception")})

    assert results == {"accuracy": results["accuracy"], "perception": results["perception"]}
    assert repr(results).splitlines() == [repr(result) for result in results.values()]
    shown = html_of(results)
    assert shown.count("<tr>") == 1 + sum(len(result.verdicts) for result in results.values())
    assert "<script>" not in shown
    assert repr(Results()) == "no results"


def test_a_comparison_shows_what_models_are_ranked_by() -> None:
    table = compare({name: make_result(name, value=value) for name, value in ((NASTY, 0.6), ("b", 0.5))})

    assert isinstance(table, ComparisonFrame)
    assert [line.partition(":")[0] for line in repr(table).splitlines()] == [
        f"accuracy, gain of {NASTY}",
        "accuracy, gain of b",
    ]
    shown = html_of(table)
    assert "60.0 [56.8, 63.2]" in shown
    assert "<script>" not in shown
    assert "type 1" not in shown


def test_a_report_is_a_path_that_shows_its_page(tmp_path: Path, nasty: Result) -> None:
    page = report(replace(nasty, subject="m"), tmp_path / "page.html")
    shown = html_of(page)

    assert isinstance(page, Path)
    assert page == tmp_path / "page.html"
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "<iframe" in shown
    assert 'sandbox="allow-scripts' in shown
    assert "allow-same-origin" not in shown  # answers of models reach nothing of the notebook
    assert shown.count("<script") == 0  # the page stands escaped in an attribute
    assert page.parent._repr_html_() is None


def test_a_page_too_large_for_a_notebook_is_linked(tmp_path: Path) -> None:
    page = WrittenPage(tmp_path / "large.html")
    with page.open("wb") as file:
        file.truncate(MOST_INLINE + 1)

    shown = html_of(page)

    assert "<iframe" not in shown
    assert "large.html</a>" in shown
