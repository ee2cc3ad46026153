"""What there is to look at in a study and in a judgement."""

import polars as pl

from eyechart.result import Unit, View

BARS = {"x": "accuracy", "y": "solver", "low": "low", "high": "high", "chance": "chance", "n": "n", "label": "picks"}
POINTS: Unit = "points"
ACCURACIES = dict.fromkeys(("accuracy", "low", "high", "chance"), POINTS)


def study_views(tables: dict[str, pl.DataFrame]) -> tuple[View, ...]:
    """Draw the tables that have rows."""
    by_set = [_solvers_of(name) for name in tables["solvers"]["options"].unique(maintain_order=True)]
    return (*(view for view in STUDY if tables[view.table].height), *by_set)


def judge_views(tables: dict[str, pl.DataFrame], by: tuple[str, ...]) -> tuple[View, ...]:
    """Draw the accuracies by what is visible, and by each group."""
    drawn = tuple(view for view in JUDGE if tables[view.table].height)
    return (*drawn, *(_accuracy_by(column) for column in by))


def _solvers_of(name: str) -> View:
    reading = (
        "The upright line is chance on the same examples; a bar beyond it is a way to the answer that does not go "
        "through understanding. Whiskers are 95 % intervals."
    )
    return View("bars", "solvers", f"What solves the options {name!r}", reading, BARS, {"options": name}, ACCURACIES)


def _accuracy_by(column: str) -> View:
    drawn = {"x": "value", "y": "group", "color": "condition", "low": "low", "high": "high", "n": "n"}
    return View("bars", "measures", f"Accuracy by {column}", "Whiskers are 95 % intervals.", drawn, {"by": column})


STUDY = (
    View(
        "matrix",
        "solvers",
        "Accuracy by what is used, on every set of options",
        "Before and after the repair (the paper's Table 3); answers alone should be near chance, everything highest.",
        {"x": "options", "y": "solver", "color": "accuracy", "low": "low", "high": "high", "n": "n"},
        units=dict.fromkeys(("accuracy", "low", "high"), POINTS),
    ),
    View(
        "matrix",
        "solvers",
        "The same, as distance from chance",
        "Chance differs between sets, for they have different numbers of options.",
        {"x": "options", "y": "solver", "color": "over_chance", "low": "over_low", "high": "over_high", "n": "n"},
        units=dict.fromkeys(("over_chance", "over_low", "over_high"), POINTS),
    ),
    View(
        "table",
        "neutrality",
        "Are texts as often target as their offers let expect?",
        "Imbalance is the share of targets that would have to change hands; beside it the mean and the middle 95 % of "
        "redrawn targets.",
        units=dict.fromkeys(("imbalance", "imbalance_by_chance", "chance_low", "chance_high"), POINTS),
    ),
    View(
        "table",
        "usage",
        "Texts that are target oftener or rarer than expected",
        "A text that is offered often and hardly ever right can be ruled out without looking, and the reverse.",
        units=dict.fromkeys(("prior", "share", "low", "high", "expected_share"), POINTS),
    ),
    View(
        "bars",
        "kinds",
        "Which kinds of decoys give themselves away",
        "How often the target is scored above a decoy of the kind; guessing has 50.",
        {"x": "value", "y": "kind", "color": "solver", "low": "low", "high": "high", "n": "n"},
        units=dict.fromkeys(("value", "low", "high"), POINTS),
    ),
    View("table", "filters", "Candidates that each filter took", "Filters work in this order."),
    View(
        "gallery",
        "shown",
        "Examples with their decoys",
        "choices: as given; iou: right on the image; qou: right for such a question.",
        {"image": "image", "title": "question", "answer": "answer", "choices": "choices", "iou": "iou", "qou": "qou"},
    ),
)
JUDGE = (
    View(
        "matrix",
        "visible",
        "Accuracy by what is visible, on every set of options",
        "The layout of the paper's Tables 3 to 5; Random is chance.",
        {"x": "options", "y": "visible", "color": "accuracy", "low": "low", "high": "high", "n": "n"},
        units=dict.fromkeys(("accuracy", "low", "high"), POINTS),
    ),
    View(
        "bars",
        "visible",
        "The same with intervals",
        "Whiskers are 95 % intervals.",
        {"x": "accuracy", "y": "options", "color": "visible", "low": "low", "high": "high", "n": "n"},
        units=dict.fromkeys(("accuracy", "low", "high"), POINTS),
    ),
)
