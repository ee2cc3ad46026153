"""A comparison as a table of text for a page, Markdown or LaTeX, with a row per measure and a column per model."""

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import polars as pl

from eyechart.data.result import Better, name_measure, speak

LATEX = str.maketrans(
    {character: f"\\{character}" for character in "&%$#_{}"}
    | {"~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "\\": r"\textbackslash{}"}
)

# Brackets of intervals and underscores inside words mean nothing; the dots and colons are those of addresses.
_MARKUP = re.compile(
    r"[\\`*~$|]|\[(?![-\u2212\d., %]*\])|&(?=#?\w+;)|(?<!\w)_|_(?!\w)|(?<=http):(?=//)|(?<=https):(?=//)|(?<=www)\.",
    re.IGNORECASE,
)
PART = "; "  # between a value, its difference and its rank


class TextGrid(NamedTuple):
    """A title, the names of the columns, and rows of text."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def lay_out(comparison: pl.DataFrame) -> TextGrid:
    """Lay out measures with their better direction and, for each model, the value, paired difference and rank."""
    models = comparison["model"].unique(maintain_order=True).to_list()
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for row in comparison.iter_rows(named=True):
        rows.setdefault((name_measure(row), _way(row["better"])), {})[row["model"]] = _cell(row)
    bases = comparison["base"].drop_nulls().unique().to_list()
    suffix = f", differences from {bases[0]}" if bases else ""
    audits = " and ".join(comparison["audit"].unique(maintain_order=True).to_list())
    parts = " by group" if comparison.height and comparison["by"].is_not_null().all() else ""
    cells = tuple((*measure, *(texts.get(model, "") for model in models)) for measure, texts in rows.items())
    return TextGrid(f"{audits}{parts}: {len(models)} models{suffix}", ("measure", "better", *models), cells)


def with_way(name: str, better: Better) -> str:
    """Append the better direction to a name, unless there is none."""
    return name if better == "neither" else f"{name} ({better} is better)"


def order_sentence(better: Better) -> str:
    """Describe the order in which values are sorted."""
    return "The highest comes first." if better == "neither" else f"{better.capitalize()} is better and comes first."


def _way(better: Better) -> str:
    """Return the better direction; empty if there is none."""
    return "" if better == "neither" else better


def to_markdown(grid: TextGrid) -> str:
    """Format a table as Markdown, for a README or an issue."""
    lines = [grid.columns, tuple("---" for _ in grid.columns), *grid.rows]
    escaped = ["| " + " | ".join(map(escape, line)) + " |" for line in lines]
    return "\n".join([f"**{escape(grid.title)}**", "", *escaped, ""])


def escape(text: str) -> str:
    """Escape everything that Markdown could take for markup, in a text inside a line."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(text.split())).replace("<", "&lt;")


def as_code(text: str) -> str:
    """Write a text as code inside a line, whatever backticks it has."""
    line = " ".join(text.split())
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    return f"{fence} {line} {fence}" if "`" in line else f"{fence}{line}{fence}"


def to_latex(grid: TextGrid) -> str:
    """Format a table as LaTeX for the package booktabs."""
    lines = [" & ".join(cell.translate(LATEX) for cell in row) + r" \\" for row in (grid.columns, *grid.rows)]
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{grid.title.translate(LATEX)}}}",
            rf"\begin{{tabular}}{{{'l' * len(grid.columns)}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


TEXTS: dict[str, Callable[[TextGrid], str]] = {"markdown": to_markdown, "latex": to_latex}


def format_difference(row: Mapping[str, Any]) -> str | None:
    """Format the difference from the base with its interval; None if there is none."""
    if row["delta"] is None:
        return None
    delta = {"unit": row["unit"], "value": row["delta"], "low": row["delta_low"], "high": row["delta_high"]}
    return f"{'+' if row['delta'] >= 0 else ''}{speak(delta)}"


def _cell(row: Mapping[str, Any]) -> str:
    """Format a value with its interval and n, the difference likewise with q, and the rank with its probability."""
    parts = [f"{speak(row)}, n={row['n']:,}"]
    if (difference := format_difference(row)) is not None:
        parts.append(f"{difference}, n={row['common']:,}, q={row['q']:.2g}")
    if row["rank"] is not None and row["first"] is not None:
        parts.append(f"rank {row['rank']}, leads in {100 * row['first']:.0f} %")
    return PART.join(parts)
