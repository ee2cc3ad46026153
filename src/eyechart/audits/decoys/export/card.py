"""The card of repaired data: what was drawn and how, and what solves the options before and after."""

import polars as pl

from eyechart.audits.decoys.recipes import Recipe
from eyechart.audits.decoys.sets import ORIG
from eyechart.division import Division
from eyechart.files import our_version
from eyechart.result import Result


def write_card(study: Result, options: str, examples: pl.DataFrame, division: Division | None) -> str:
    """Write the card as Markdown."""
    recipe = "\n".join(f"| `{name}` | {study.settings[name]} |" for name in Recipe._fields)
    filters = "\n".join(f"| {' | '.join(map(str, row))} |" for row in study.tables["filters"].iter_rows())
    divided = [] if division is None else [str(division)]
    notes = "\n".join(f"- {note}" for note in (*divided, *study.tables["notes"]["note"]))
    sizes = examples["choices"].list.len().value_counts(name="n").sort("choices")
    offered = ", ".join(f"{n:,} with {size} options" for size, n in sizes.iter_rows())
    return f"""# {study.subject}: repaired options

Options `{options}` drawn by eyechart {our_version()}, audit `decoys` (Chao, Hu and Sha 2018). Ids, questions and
answers are those of the data; the wrong options are answers to other questions of the same data.
{examples.height:,} examples: {offered}.{say_left_out(study.tables["counts"], options)}

## What solves the options, before and after

Accuracy in points, beside it the distance from chance with a 95 % interval. A: the options alone; I: the objects of the
image; Q: the question. `prior rule` is Eq. 2 of the paper; `control` learned from random targets and must be at chance.

{_before_and_after(study.tables["solvers"], options)}

## Recipe

| setting | value |
|---|---|
{recipe}

| {" | ".join(study.tables["filters"].columns)} |
|{"---|" * study.tables["filters"].width}
{filters}

{notes}

Decoys are drawn and checked by rules, not by people: some will be right for the image too. Look at a sample before use.
"""


def say_left_out(counts: pl.DataFrame, options: str) -> str:
    """Say how many examples have no such options, and why."""
    of_all_or_these = pl.col("condition").is_null() | (pl.col("condition") == options)
    lost = counts.filter((pl.col("status") == "left out") & (pl.col("n") > 0) & of_all_or_these)
    told = ", ".join(f"{n:,} ({reason})" for reason, n in lost.select("reason", "n").iter_rows())
    return f" Left out: {told}." if told else ""


def _before_and_after(solvers: pl.DataFrame, options: str) -> str:
    sets = [name for name in (ORIG, options) if name in solvers["options"].to_list()]
    head = f"| solver | {' | '.join(sets)} |\n|---|{'---|' * len(sets)}"
    lines = [
        f"| {solver} | {' | '.join(_cell(solvers, solver, name) for name in sets)} |"
        for solver in solvers["solver"].unique(maintain_order=True)
    ]
    return "\n".join([head, *lines])


def _cell(solvers: pl.DataFrame, solver: str, options: str) -> str:
    found = solvers.filter((pl.col("solver") == solver) & (pl.col("options") == options))
    if not found.height:
        return "-"
    row = found.row(0, named=True)
    accuracy, over, low, high = (100 * row[name] for name in ("accuracy", "over_chance", "over_low", "over_high"))
    return f"{accuracy:.1f} ({over:+.1f} [{low:.1f}, {high:.1f}])"
