"""Whatever models, groups and audits are called, a summary in Markdown is text, headings and tables of ours."""

import re
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from eyechart.audits import make_audit
from eyechart.data.dataset import Dataset
from eyechart.data.store import Store
from eyechart.models.function import Function
from eyechart.reporting import collect
from eyechart.reporting.comparison_table import as_code, escape
from eyechart.reporting.page import summarise, summarise_standings
from eyechart.reporting.standings import collect_standings
from eyechart.runs.run import Run

HOSTILE = "![x](http://evil.example) **b** _i_ ~~s~~ `c` <img src=x> | \\[z](u)\n# big"
MARKUP = re.compile(r"<(a|img|em|strong|code|s|h[1-6]|script|b)\b[^>]*>")
OTHERS = ("a`", "\\", "www.evil.example", "[a]: http://evil", "&#60;b&#62; &lt;", "$x$", "[y](http://evil.example)")
READABLE = ("61.0 [58.1, 63.9]", "accuracy, parsed only", "question_type = is it", "image#2", "-")


def rendered(text: str) -> str:
    return str(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(text))


@pytest.mark.parametrize("text", [HOSTILE, *OTHERS])
def test_an_escaped_text_is_read_as_itself(text: str) -> None:
    html = rendered(f"| {escape(text)} |\n| --- |\n| {escape(text)} |")

    assert MARKUP.findall(html) == []
    assert html.count("<td>") == 1


@pytest.mark.parametrize("text", READABLE)
def test_what_is_no_markup_is_left_readable(text: str) -> None:
    assert escape(text) == text


@pytest.mark.parametrize("text", ["eyechart judge run", "a `b` c", "``", "`"])
def test_code_ends_where_it_should(text: str) -> None:
    assert rendered(f"x {as_code(text)} y") == f"<p>x <code>{text}</code> y</p>\n"


@pytest.fixture(scope="module")
def summaries(tmp_path_factory: pytest.TempPathFactory, tiny: Dataset) -> dict[str, str]:
    """Summarise a run whose data, command and models are called something that is markup."""
    folder: Path = tmp_path_factory.mktemp("hostile") / "run"
    named = Dataset(f"data {HOSTILE}", tiny.examples, tiny.images)
    run = Run(Store(folder)).start(named, f"eyechart audit\n```\n{HOSTILE}")
    run.study([make_audit("accuracy")])
    for name in (HOSTILE, f"m {HOSTILE}"):
        run.audit(Function(name, lambda rows: ["red"] * len(rows)))
    standings = collect_standings([run.store], (), None, f"eyechart compare\n```\n{HOSTILE}")
    return {"report": summarise(collect(run.store)), "compare": summarise_standings(standings)}


@pytest.mark.parametrize("page", ["report", "compare"])
def test_a_name_adds_no_heading_link_picture_or_markup(summaries: dict[str, str], page: str) -> None:
    html = rendered(summaries[page])

    assert "evil.example" in html, "the name is shown"
    assert re.findall(r"<(?:a|img|script|em|s)\b[^>]*>", html) == []
    assert html.count("<h1>") == 1
    assert "<h2>" not in html
