"""The charts and tables of a study and a judgement, names and colours of conditions, and exports."""

import re

import polars as pl

from eyechart.audits.decoys.settings import DONOR, IOU, JUDGED, ORIG, QOU, RANDOM, REPAIRED
from eyechart.base.hashing import hash_text
from eyechart.data.furniture import Furniture, Hiding, Look
from eyechart.data.result import Unit, View

BARS = {"x": "accuracy", "y": "solver", "low": "low", "high": "high", "chance": "chance", "n": "n", "label": "picks"}
POINTS: Unit = "points"
ACCURACIES = dict.fromkeys(("accuracy", "low", "high", "chance"), POINTS)
MOST_SHOWN = 12


def study_views(tables: dict[str, pl.DataFrame]) -> tuple[View, ...]:
    """List the views of the tables that have rows."""
    by_set = [_solvers_of(name) for name in tables["solvers"]["options"].unique(maintain_order=True)]
    return (*(view for view in STUDY if tables[view.table].height), *by_set)


def judge_views(tables: dict[str, pl.DataFrame], by: tuple[str, ...]) -> tuple[View, ...]:
    """List the views of the accuracies by what is visible, and by each group."""
    views = tuple(view for view in JUDGE if tables[view.table].height)
    return (*views, *(_accuracy_by(column) for column in by))


def shown_table(examples: pl.DataFrame, decoys: pl.DataFrame) -> pl.DataFrame:
    """Choose a few judged examples by a hash of their ids, with all their options (Fig. 2 and 3 of the paper)."""
    judged = examples.filter((pl.col("part") == JUDGED).fill_null(value=False))
    chosen = judged.with_columns(pl.Series("order", hash_text(judged["id"]))).sort("order").head(MOST_SHOWN).sort("id")
    choices = pl.col("choices") if "choices" in chosen.columns else pl.lit(None, pl.List(pl.String)).alias("choices")
    table = chosen.select("id", "image", "question", "answer", choices)
    for source in (IOU, QOU):
        drawn = decoys.filter(pl.col("source") == source).sort("id", "place")
        lists = drawn.group_by("id", maintain_order=True).agg(pl.col("decoy").alias(source))
        table = table.join(lists, on="id", how="left", validate="1:1", maintain_order="left")
    return table


def _solvers_of(name: str) -> View:
    reading = (
        "The vertical line is chance on the same examples; a bar beyond it is a way to the answer without "
        "understanding the question. Whiskers are 95 % intervals."
    )
    return View("bars", "solvers", f"What solves the options {name!r}", reading, BARS, {"options": name}, ACCURACIES)


def _accuracy_by(column: str) -> View:
    channels = {"x": "value", "y": "group", "color": "condition", "low": "low", "high": "high", "n": "n"}
    return View("bars", "measures", f"Accuracy by {column}", "Whiskers are 95 % intervals.", channels, {"by": column})


STUDY = (
    View(
        "matrix",
        "solvers",
        "Accuracy by what is used, on every set of options",
        "Before and after the repair (the paper's Table 3); answers alone should be near chance, all together highest.",
        {"x": "options", "y": "solver", "color": "accuracy", "low": "low", "high": "high", "n": "n"},
        units=dict.fromkeys(("accuracy", "low", "high"), POINTS),
    ),
    View(
        "matrix",
        "solvers",
        "The same, as distance from chance",
        "Chance differs between sets, since they differ in their numbers of options.",
        {"x": "options", "y": "solver", "color": "over_chance", "low": "over_low", "high": "over_high", "n": "n"},
        units=dict.fromkeys(("over_chance", "over_low", "over_high"), POINTS),
    ),
    View(
        "table",
        "neutrality",
        "Is each text the target as often as chance would make it?",
        "Imbalance is the share of targets that would have to change; next to it are the mean and the middle 95 % for "
        "redrawn targets.",
        units=dict.fromkeys(("imbalance", "imbalance_by_chance", "chance_low", "chance_high"), POINTS),
    ),
    View(
        "table",
        "usage",
        "Texts that are the target more or less often than expected",
        "A text that is offered often and hardly ever right can be ruled out without looking, and the reverse.",
        units=dict.fromkeys(("prior", "share", "low", "high", "expected_share"), POINTS),
    ),
    View(
        "bars",
        "kinds",
        "Which kinds of decoys give themselves away",
        "How often the target is scored above a decoy of the kind; guessing gives 50.",
        {"x": "value", "y": "kind", "color": "solver", "low": "low", "high": "high", "n": "n"},
        units=dict.fromkeys(("value", "low", "high"), POINTS),
    ),
    View(
        "table",
        "repairs",
        "Which made options can replace those of the data",
        "Exports write the first sound set. One that is easier than the data's own, or mostly has fillers, "
        "is written only if the setting `repair` names it.",
    ),
    View("table", "filters", "Candidates that each filter removed", "Filters are applied in this order."),
    View(
        "gallery",
        "shown",
        "Examples with their decoys",
        "choices: as given; iou: right for another question on the image; qou: right for a similar question.",
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
    View(
        "table",
        "named",
        "What the answers name",
        "A refusal, or an answer that names no option, is counted here and is neither above nor below chance. Under a "
        "condition with a donor, image and question are those of another example, to which no option is an answer.",
    ),
)


SET_NAMES = {
    ORIG: "own options",
    IOU: "decoys from the image",
    QOU: "decoys from similar questions",
    REPAIRED: "decoys from both",
    "all": "own options and decoys from both",
    RANDOM: "random decoys",
}
HIDDEN_NAMES = {  # suffix of a set's name -> what that leaves, and the colour of what is taken away
    "": ("", "options"),
    "-image": (" without the image", "image"),
    "-question": (" without the question", "question"),
    "-image-question": (" alone", "both"),
}
VISIBLE_NAMES = {  # what is visible, in the words of the paper and of the charts
    "I+Q+A": ("image, question and options", "plain"),
    "Q+A": ("question and options", "image"),
    "I+A": ("image and options", "question"),
    "A": ("options alone", "both"),
    "Random": ("chance", "other"),
}
LOOKS = (
    *(
        Look(re.escape(name + hidden), words + left, color)
        for name, words in SET_NAMES.items()
        for hidden, (left, color) in HIDDEN_NAMES.items()
    ),
    *(
        Look(re.escape(f"{name}@{DONOR}"), f"{words}, another's image and question", "both")
        for name, words in SET_NAMES.items()
    ),
    *(Look(f"rotate#{by}", f"options shifted by {by}", "options") for by in range(1, 10)),
    Look(r"rotate(#\d+)?", "options shifted", "options"),
    *(Look(re.escape(letters), words, color) for letters, (words, color) in VISIBLE_NAMES.items()),
)
EXPORTS = {
    "decoys-qavg": "eyechart.audits.decoys.exports:export_qavg",
    "decoys-vqa": "eyechart.audits.decoys.exports:export_vqa",
    "decoys-vlmeval": "eyechart.audits.decoys.exports:export_vlmeval",
    "decoys-lmms-eval": "eyechart.audits.decoys.exports:export_lmms_eval",
    "decoys-inspect": "eyechart.audits.decoys.exports:export_inspect",
}
HIDINGS = tuple(
    Hiding(name + hidden, name, tuple(hidden.split("-")[1:]), name == ORIG)
    for name in SET_NAMES
    for hidden in HIDDEN_NAMES
)
FURNITURE = Furniture(about="looking", looks=LOOKS, hidings=HIDINGS, exports=EXPORTS)
