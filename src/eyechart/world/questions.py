"""Word the questions of a plan, and parse them again: the only module that knows their wording."""

import numpy as np
import polars as pl

from eyechart.world.plan import ANCHOR, COLORED, COUNTED, FIRST, JUDGED, SECOND, SOUGHT, TYPES, Ints, WorldPlan
from eyechart.world.shortcuts import OWN, PAIRED, RULE_TYPES, rule
from eyechart.world.vocabulary import (
    ACTORS,
    BIGGER,
    COLOR,
    COLORS,
    CONTROL_WORDS,
    DOING,
    FILLERS,
    IS,
    LEFT,
    MANY,
    PLURALS,
    QUESTION_TYPES,
    SIZES,
    THERE,
    THINGS,
    USED,
    with_article,
)

_NAMES = (*THINGS, *ACTORS, *COLORS, *SIZES)
_OF_THING = {COLOR: COLORED, MANY: COUNTED, THERE: SOUGHT, LEFT: ANCHOR, BIGGER: FIRST, IS: JUDGED}
_SINGULARS = {plural: label for label, plural in PLURALS.items()}
_NAMED_TWICE = tuple(name for name, kind in QUESTION_TYPES.items() if "{second}" in kind.template)
_STEM_KEYS = ("question_type", "first", "second")


def ask_questions(plan: WorldPlan) -> pl.DataFrame:
    """List (row, image_index, type_index, question_type, first, second, question)."""
    n, per_image = plan.asked.shape
    image_index, type_index = np.repeat(np.arange(n), per_image), plan.asked.ravel()
    rows = pl.DataFrame(
        {
            "image_index": image_index,
            "type_index": type_index,
            "question_type": pl.Series(TYPES).gather(type_index),
            "first": pl.Series(_NAMES).gather(_first(plan)[image_index, type_index]),
            "second": _second(plan, image_index, type_index),
            "fillers": _fillers(plan, image_index, type_index),
        }
    )
    return rows.select(
        pl.int_range(pl.len()).alias("row"), pl.exclude("fillers"), write_questions(rows).alias("question")
    )


def _first(plan: WorldPlan) -> Ints:
    """Return what each type of question names first, as indices into _NAMES."""
    named = {name: plan.things[:, part] for name, part in _OF_THING.items()}
    named[DOING] = plan.actors[:, 0] + len(THINGS)
    named[USED] = plan.tool_colors[:, 0] + len(THINGS) + len(ACTORS)
    return np.stack([named[name] for name in TYPES], axis=1)


def _second(plan: WorldPlan, image_index: Ints, type_index: Ints) -> pl.Series:
    thing, attribute = plan.things[image_index, SECOND], plan.attribute[image_index] + len(THINGS) + len(ACTORS)
    is_bigger, is_attribute = type_index == TYPES.index(BIGGER), type_index == TYPES.index(IS)
    index = pl.Series(np.select([is_bigger, is_attribute], [thing, attribute], -1))
    return pl.Series(_NAMES).gather(index.replace(-1, None))


def _fillers(plan: WorldPlan, image_index: Ints, type_index: Ints) -> pl.Series:
    """List the cue word of each question, unless it is a label, and then its control words."""
    cue = np.full(len(image_index), -1)
    for column, name in enumerate(RULE_TYPES):
        for state, kind in ((OWN, "word"), (PAIRED, "pair")):
            word = rule(kind, name).words[0]
            if word in FILLERS:
                planted = plan.words[image_index, column] == state
                cue[(type_index == TYPES.index(name)) & planted] = FILLERS.index(word)
    controls = np.array([FILLERS.index(word) for word in CONTROL_WORDS])
    indices = np.column_stack([cue, np.where(plan.control_words[image_index, type_index], controls, -1)])
    texts = pl.Series(FILLERS).gather(pl.Series(indices.ravel()).replace(-1, None))
    return texts.reshape(indices.shape).arr.to_list().list.drop_nulls()


def write_questions(parts: pl.DataFrame) -> pl.Series:
    """Word each row of (question_type, first, second, fillers), formatting each distinct stem only once."""
    distinct = parts.select(_STEM_KEYS).unique()
    stems = distinct.with_columns(pl.Series("stem", [_stem(*row) for row in distinct.iter_rows()], pl.String))
    worded = parts.join(stems, on=_STEM_KEYS, how="left", nulls_equal=True, validate="m:1", maintain_order="left")
    tail = pl.col("fillers").list.eval(" " + pl.element()).list.join("")
    return worded.select(question=pl.col("stem") + tail + "?").to_series()


def _stem(question_type: str, first: str, second: str | None) -> str:
    if question_type == MANY:
        first = PLURALS[first]
    elif question_type == THERE:
        first = with_article(first)
    return QUESTION_TYPES[question_type].template.format(first=first, second=second)


def parse_questions(questions: pl.Series) -> pl.DataFrame:
    """Parse each distinct question: its type (null where unknown), first and second name, and words."""
    table = pl.DataFrame({"question": questions.cast(pl.String).drop_nulls().unique().sort()})
    matched = table.with_columns(
        pl.col("question").str.extract_groups(_pattern(name)).alias(name) for name in QUESTION_TYPES
    )
    firsts = {name: pl.col(name).struct.field("first") for name in QUESTION_TYPES}
    return matched.select(
        "question",
        question_type=pl.coalesce(pl.when(first.is_not_null()).then(pl.lit(name)) for name, first in firsts.items()),
        first=pl.coalesce(firsts[MANY].replace(_SINGULARS), *firsts.values()),
        second=pl.coalesce(pl.col(name).struct.field("second") for name in _NAMED_TWICE),
        words=pl.col("question").str.replace_all(r"[,?]", "").str.split(" "),
    )


def _pattern(name: str) -> str:
    """Convert a template to the regular expression that parses it, followed by any fillers."""
    article = "an? " if name == THERE else ""
    stem = QUESTION_TYPES[name].template.format(first=rf"{article}(?<first>[a-z]+)", second=r"(?<second>[a-z]+)")
    return rf"^{stem}(?: (?:{'|'.join(FILLERS)}))*\?$"
