"""HTML for notebooks: small pieces with styles of their own, readable on light and on dark paper.

Text has the colour of the notebook; only badges of verdicts have a background, of the report's palette, and their own
colour on it. Everything that comes from data is escaped.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from eyechart.data.dataset import Dataset
from eyechart.data.result import Result, State, Verdict, name_measure, speak
from eyechart.reporting.palette import variables
from eyechart.runs.comparison_frame import ComparisonFrame, speak_difference

FIRST = 3  # examples of a dataset to show
LONGEST = 120  # characters of a text in a cell
MOST_INLINE = 16 * 2**20  # bytes of a page; larger ones would make the notebook slow to open
TONES: dict[State, str] = {"yes": "good", "no": "bad", "cannot tell": "unsure", "not tested": "quiet"}
TEXT = ("id", "question", "choices", "answer")  # columns of an example to show

if TYPE_CHECKING:
    OwnPath = Path
else:
    OwnPath = type(Path())  # of this system: before Python 3.12 only that can be subclassed


class WrittenPage(OwnPath):
    """The path of a page, which shows the page itself in a notebook."""

    def _repr_html_(self) -> str | None:
        if not self.is_file():  # such as a parent folder
            return None
        name, size = escape(str(self)), self.stat().st_size
        link = f'<p><a href="{escape(os.path.relpath(self))}" target="_blank">{name}</a></p>'
        if size > MOST_INLINE:
            return link
        page = escape(self.read_text(encoding="utf-8"))
        style = f"width:100%;height:700px;border:1px solid {FAINT}"
        sandbox = "allow-scripts allow-popups allow-downloads"  # of models' answers nothing can reach the notebook
        return f'{link}<iframe title="{name}" sandbox="{sandbox}" style="{style}" srcdoc="{page}"></iframe>'


FAINT = "rgba(128,128,128,.35)"  # of a line, on any paper


def show_dataset(data: Dataset) -> str:
    """Show the size of a dataset and its first examples."""
    names = [name for name in TEXT if name in data.columns]
    rows = data.kept.lazy().select(names).head(FIRST).collect().rows()
    title, _, about = repr(data).partition(": ")
    return _section(title, [about], _table(names, [[_shorten(value) for value in row] for row in rows]))


def show_result(result: Result) -> str:
    """Show the verdicts of a result with their numbers, and its measures over all examples."""
    rows = [
        [escape(name_measure(row)), escape(speak(row)), f"{row['n']:,}"]
        for row in result.measures.filter(pl.col("by").is_null()).iter_rows(named=True)
    ]
    verdicts = [f"{_badge(each)} {escape(each.sentence)}" for each in result.verdicts]
    table = _table(("measure", "value [interval]", "n"), rows)
    return _section(f"{result.audit} of {result.subject}", (), *map(_paragraph, verdicts), table)


def show_results(results: Mapping[str, Result]) -> str:
    """Show the verdicts of several results, one line each."""
    rows = []
    for result in results.values():
        for verdict, measure in zip(result.verdicts, result.headlines, strict=True):
            value = "" if measure is None else f"{measure.name} {speak(vars(measure))}"
            rows.append([escape(result.audit), escape(verdict.question), _badge(verdict), escape(value)])
    subjects = dict.fromkeys(result.subject for result in results.values())
    return _section(", ".join(subjects) or "No results", (), _table(("audit", "question", "verdict", "value"), rows))


def show_comparison(table: ComparisonFrame) -> str:
    """Show the measures that models are ranked by, over all examples, with their differences from the base."""
    whole = table.ranked()
    rows = [
        [escape(row["model"]), escape(name_measure(row)), escape(speak(row)), speak_difference(row), _chance(row["q"])]
        for row in whole.iter_rows(named=True)
    ]
    bases = whole["base"].drop_nulls().unique().sort()
    head = ("model", "measure", "value [interval]", f"difference from {', '.join(bases) or 'the base'}", "q")
    rest = f"{table.height - whole.height} more rows of the table: groups, and measures that nothing is ranked by."
    return _section(" and ".join(table["audit"].unique().sort()), [rest], _table(head, rows))


def _section(title: str, about: Iterable[str], *parts: str) -> str:
    head = f'<div style="font-weight:600">{escape(title)}</div>'
    return f"<div>{head}{''.join(_paragraph(escape(line)) for line in about)}{''.join(parts)}</div>"


def _paragraph(content: str) -> str:
    return f'<p style="margin:.4em 0;max-width:60em">{content}</p>'


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table, whose cells are HTML already."""
    cell = f"text-align:left;vertical-align:top;padding:.25em .8em .25em 0;border-bottom:1px solid {FAINT}"
    top = "".join(f'<th scope="col" style="{cell}">{escape(name)}</th>' for name in head)
    body = "".join("<tr>" + "".join(f'<td style="{cell}">{text}</td>' for text in row) + "</tr>" for row in rows)
    return f'<table style="border-collapse:collapse"><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>'


def _badge(verdict: Verdict) -> str:
    """Write a verdict in the report's colours, which carry their own background."""
    tone, colors = TONES[verdict.state], variables()
    style = f"background:{colors[f'{tone}-back']};color:{colors[tone]};padding:.1em .5em;border-radius:.3em"
    text = f"{verdict.state}: {verdict.label}" if verdict.label else verdict.state
    return f'<span style="{style};white-space:nowrap">{escape(text)}</span>'


def _shorten(value: object) -> str:
    text = "" if value is None else "; ".join(map(str, value)) if isinstance(value, list) else str(value)
    return escape(text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…")


def _chance(q: float | None) -> str:
    return "" if q is None else f"{q:.2g}"
