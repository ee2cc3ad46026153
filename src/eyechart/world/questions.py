"""Put the plan into words: one row a question, in the order of images."""

import numpy as np
import polars as pl

from eyechart.world.cast import ANCHOR, COLORED, COUNTED, FIRST, JUDGED, SECOND, SOUGHT, Cast
from eyechart.world.grammar import write_questions
from eyechart.world.plan import TYPES, Ints, Plan
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
    SIZES,
    THERE,
    THINGS,
    USED,
)

_NAMES = (*THINGS, *ACTORS, *COLORS, *SIZES)
_OF_THING = {COLOR: COLORED, MANY: COUNTED, THERE: SOUGHT, LEFT: ANCHOR, BIGGER: FIRST, IS: JUDGED}


def ask_questions(plan: Plan, cast: Cast) -> pl.DataFrame:
    """List (row, at, type_at, question_type, first, second, question); `at` is the place of the image."""
    n, per_image = plan.asked.shape
    at, type_at = np.repeat(np.arange(n), per_image), plan.asked.ravel()
    rows = pl.DataFrame(
        {
            "at": at,
            "type_at": type_at,
            "question_type": pl.Series(TYPES).gather(type_at),
            "first": pl.Series(_NAMES).gather(_first(cast)[at, type_at]),
            "second": _second(cast, at, type_at),
            "fillers": _fillers(plan, at, type_at),
        }
    )
    return rows.select(
        pl.int_range(pl.len()).alias("row"), pl.exclude("fillers"), write_questions(rows).alias("question")
    )


def _first(cast: Cast) -> Ints:
    """Give what each type of question names first, as places in _NAMES."""
    named = {name: cast.things[:, part] for name, part in _OF_THING.items()}
    named[DOING] = cast.actors[:, 0] + len(THINGS)
    named[USED] = cast.tool_colors[:, 0] + len(THINGS) + len(ACTORS)
    return np.stack([named[name] for name in TYPES], axis=1)


def _second(cast: Cast, at: Ints, type_at: Ints) -> pl.Series:
    thing, attribute = cast.things[at, SECOND], cast.attribute[at] + len(THINGS) + len(ACTORS)
    place = pl.Series(np.select([type_at == TYPES.index(BIGGER), type_at == TYPES.index(IS)], [thing, attribute], -1))
    return pl.Series(_NAMES).gather(place.replace(-1, None))


def _fillers(plan: Plan, at: Ints, type_at: Ints) -> pl.Series:
    """List the cue word of each question, if it is no label, and then its control words."""
    cue = np.full(len(at), -1)
    for place, name in enumerate(RULE_TYPES):
        for state, kind in ((OWN, "word"), (PAIRED, "pair")):
            word = rule(kind, name).words[0]
            if word in FILLERS:
                cue[(type_at == TYPES.index(name)) & (plan.words[at, place] == state)] = FILLERS.index(word)
    controls = np.array([FILLERS.index(word) for word in CONTROL_WORDS])
    places = np.column_stack([cue, np.where(plan.control_words[at, type_at], controls, -1)])
    texts = pl.Series(FILLERS).gather(pl.Series(places.ravel()).replace(-1, None))
    return texts.reshape(places.shape).arr.to_list().list.drop_nulls()
