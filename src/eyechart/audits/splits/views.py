"""The figures of the paper, as views of tables."""

import polars as pl

from eyechart.audits.splits.tables import SHARES
from eyechart.data.result import Unit, View

SHARE: dict[str, Unit] = {"share": "points"}
ACCURACY: dict[str, Unit] = {"accuracy": "points"}
INTERVAL: dict[str, Unit] = {"low": "points", "high": "points"}
SETS: dict[str, Unit] = dict.fromkeys(SHARES, "points")
BARS = {"x": "value", "y": "group", "low": "low", "high": "high", "n": "n"}


def study_views(tables: dict[str, pl.DataFrame]) -> tuple[View, ...]:
    """Return the views of tables that have rows, and of the answers of the first groups that are listed."""
    drawn = [view for view in VIEWS if tables[view.table].height]
    first = tables["answers"].select("concept", "group").unique("concept", keep="first", maintain_order=True)
    return (*drawn, *(_answers_of(concept, group) for concept, group in first.head(3).iter_rows()))


def _answers_of(concept: str, group: str) -> View:
    return View(
        "bars",
        "answers",
        f"Answers of the {concept} group '{group}'",
        "Train and judged examples share their frequent answers; the OOD set holds those below the cut (tail).",
        {"x": "share", "y": "answer", "color": "part", "low": "low", "high": "high", "n": "n", "label": "side"},
        {"concept": concept, "group": group},
        units=SHARE | INTERVAL,
    )


VIEWS = (
    View(
        "table",
        "concepts",
        "Groups, heads and tails of each shortcut",
        "Imbalanced groups have a normalised entropy below the threshold; tail is the OOD test set. Low imbalance (E) "
        "means that the concept says much about the answer.",
    ),
    View(
        "matrix",
        "jaccard",
        "How alike the heads of the shortcuts are",
        "Jaccard similarity of two heads: 100 where two shortcuts are carried by the same examples.",
        {"x": "with", "y": "of", "color": "share", "n": "n", "among": "among"},
        units=SHARE,
    ),
    View(
        "matrix",
        "coincidence",
        "How much the OOD test sets overlap",
        "The share of the set on the left that is also in the set above.",
        {"x": "with", "y": "of", "color": "share", "n": "n", "among": "among"},
        units=SHARE,
    ),
    View("table", "shown", "Examples with their concepts", "The concepts that an example is grouped by."),
)


def judge_views(tables: dict[str, pl.DataFrame], by: tuple[str, ...]) -> tuple[View, ...]:
    """Return the views of accuracy on heads and tails, the drops, imbalance against accuracy, and the worst groups."""
    drawn = [view for view in JUDGE_VIEWS if tables.get(view.table, pl.DataFrame()).height]
    return (*drawn, *(_accuracy_by(name) for name in by))


def _accuracy_by(column: str) -> View:
    reading = "A bar is an accuracy; whiskers are 95 % intervals."
    return View("bars", "measures", f"Accuracy by {column}", reading, BARS, {"by": column, "name": "accuracy"})


JUDGE_VIEWS = (
    View(
        "bars",
        "sides",
        "Accuracy on the head and the tail of each shortcut",
        "A model that follows a shortcut is right on its head and wrong on its tail; whiskers are 95 % intervals.",
        {"x": "accuracy", "y": "concept", "color": "side", "low": "low", "high": "high", "n": "n"},
        units=ACCURACY | INTERVAL,
    ),
    View(
        "bars",
        "sets",
        "Head minus tail within the same groups",
        "How much worse the model is on rare answers of the same group and question type; whiskers are 95 % intervals.",
        {"x": "gap", "y": "concept", "low": "gap_low", "high": "gap_high", "n": "n_tail"},
        units=SETS,
    ),
    View(
        "bars",
        "sets",
        "What is lost on each OOD test set",
        "Accuracy on all judged examples minus accuracy on the tail; whiskers are 95 % intervals.",
        {"x": "drop", "y": "concept", "low": "drop_low", "high": "drop_high", "n": "n_tail"},
        units=SETS,
    ),
    View(
        "scatter",
        "sets",
        "Imbalance of the data against accuracy on the OOD test set",
        "A low imbalance (E) marks an imbalanced shortcut; in the paper such shortcuts have harder OOD test sets.",
        {"x": "imbalance", "y": "tail", "low": "tail_low", "high": "tail_high", "n": "n_tail", "label": "concept"},
        units=SETS,
    ),
    View(
        "table",
        "sets",
        "All sets",
        "Gap compares head and tail of one group and question type; matched, of one question type and answer.",
        units=SETS,
    ),
    View(
        "table",
        "worst",
        "Worst groups",
        "Groups whose tail accuracy is surely far below that of their head come first.",
        units=dict.fromkeys(("head", "low", "tail", "high_tail", "drop", "surely"), "points"),
    ),
)
