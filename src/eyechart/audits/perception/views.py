"""The views of the tables of studies and judgements."""

from collections.abc import Sequence

import polars as pl

from eyechart.data.probes import Removal
from eyechart.data.result import Unit, View

BARS = {"x": "value", "y": "condition", "low": "low", "high": "high", "n": "n"}
MOVED = ("changed", "at most", "another answer")
BESIDE = ("low", "high", "margin", "n", "p", *MOVED, "ignored")
PERCEIVED: dict[str, Unit] = {"perception": "points", "low": "points", "high": "points"}
GROUP_BARS = {"x": "perception", "y": "group", "low": "low", "high": "high", "n": "n"}


def study_views(tables: dict[str, pl.DataFrame]) -> tuple[View, ...]:
    """Return the views of tables that have rows."""
    return tuple(view for view in STUDY if view.table in tables and tables[view.table].height)


def judge_views(tables: dict[str, pl.DataFrame], removals: Sequence[Removal], by: Sequence[str]) -> tuple[View, ...]:
    """Return the views of the scores, of their groups, and of the tables that have rows."""
    drawn = [view for view in JUDGED if view.table == "measures" or tables.get(view.table, pl.DataFrame()).height]
    grouped = [_by(column, each.name) for column in by for each in removals]
    return (*drawn[:1], *grouped, *drawn[1:])


def _by(column: str, removed: str) -> View:
    reading = "The groups that lose least without the modality come first; whiskers are 95 % intervals."
    where: dict[str, str | None] = {"by": column, "removed": removed}
    return View("bars", "groups", f"Perception of {removed} by {column}", reading, GROUP_BARS, where, PERCEIVED)


STUDY = (
    View("table", "donors", "Donor pools", "Fewest is the smallest number of donors of any example."),
    View(
        "bars",
        "sentiment",
        "Labels by the sentiment of the text",
        "Where the bars of a label differ between sentiments, the sentiment gives the label away.",
        {"x": "share", "y": "sentiment", "color": "label", "low": "low", "high": "high", "n": "n"},
        units={"share": "points", "low": "points", "high": "points"},
    ),
)
JUDGED = (
    View(
        "bars",
        "measures",
        "What is lost without each modality",
        "A bar is the perceptual score; near 0 the modality is not used. Whiskers are 95 % intervals.",
        BARS,
        {"name": "perception", "by": None},
    ),
    # Its numbers are points already, as in the paper.
    View("table", "table1", "The paper's Table 1", "Points; the groups with the lowest score come first."),
    View(
        "histogram",
        "samples",
        "Sample perceptual scores",
        "Examples at 0 score the same with and without the modality; those below 0 score better without it.",
        {"x": "from", "to": "to", "n": "n", "color": "removed"},
        units={"from": "points", "to": "points"},
    ),
    View(
        "table",
        "errors",
        "Where the error comes from",
        "Standard errors due to the choice of examples, of draws for each, and of the donors to draw from.",
        units={"examples_se": "points", "draws_se": "points", "donors_se": "points", "se": "points"},
    ),
    View(
        "table",
        "ignored",
        "Is it ignored?",
        "Ignored: shown to be within the margin of 0 at the 5 % level, or no answer changed and surely fewer than half "
        "as many can as have a donor with another reference answer.",
        {"y": "removed", "x": "perception", **dict(zip(BESIDE, BESIDE, strict=True))},
        units={**PERCEIVED, **dict.fromkeys(("margin", *MOVED), "points")},
    ),
    View(
        "gallery",
        "seen",
        "The least perceived examples, side by side",
        "What was shown and answered under each condition: an answer that never changes was not looked up.",
        {"group": "named", "title": "condition", "image": "image", "question": "question", "answer": "given"},
    ),
    View(
        "table",
        "least",
        "The least perceived examples",
        "The model's answers to the example as it is, and with the modality removed.",
        units={"accuracy": "points", "perception": "points"},
    ),
    View(
        "table",
        "proportions",
        "Answers by first word of the question, the least perceived first",
        "Shares among predictions, judged references and train references: a model that repeats train stands out.",
        units={
            f"{name}{end}": "points"
            for name in ("perception", "predicted", "judged", "train")
            for end in ("", " low", " high")
        },
    ),
    View(
        "lines",
        "repeats",
        "The score of each repeat",
        "The spread of the lines is the paper's standard deviation.",
        {"x": "repeat", "y": "perception", "low": "low", "high": "high", "color": "removed", "n": "n"},
        units=PERCEIVED,
    ),
)
