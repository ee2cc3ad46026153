"""Choose what the questions of each image are about: the things, the actor, the tool and the attribute."""

from dataclasses import dataclass

import numpy as np

from eyechart.world.plan import Flags, Ints, Plan
from eyechart.world.shortcuts import OWN, RULE_TYPES
from eyechart.world.vocabulary import ACTORS, COLOR, COLORS, DOING, QUESTION_TYPES, SIZES, THINGS, TOOLS, USED

SPARE_THINGS = 2
# Columns of Cast.things: one different thing for each purpose.
COLORED, COUNTED, SOUGHT, ANCHOR, FIRST, SECOND, JUDGED = range(7)
SPARE = slice(JUDGED + 1, JUDGED + 1 + SPARE_THINGS)
ABSENT = slice(SPARE.stop, SPARE.stop + 2)  # never in the image: further options of "which is bigger"
_BANANA, _CAT = THINGS.index("banana"), ACTORS.index("cat")
_TYPES = tuple(QUESTION_TYPES)


@dataclass(frozen=True)
class Cast:
    """Who plays: places in THINGS by part, in ACTORS and TOOLS (asked, other), and the words the questions use."""

    things: Ints
    actors: Ints
    tools: Ints
    tool_colors: Ints
    attribute: Ints  # asked of the thing of "is the": a colour, or beyond them a size
    first_is_bigger: Flags


def draw_cast(plan: Plan, rng: np.random.Generator) -> Cast:
    """Choose the labels that are asked about; the cue labels occur in their type exactly where the plan says so."""
    n = len(plan.split)
    things = np.argsort(rng.random((n, len(THINGS))), axis=1).astype(np.int64)
    _place_banana(things, plan.words[:, RULE_TYPES.index(COLOR)] == OWN)
    cat = plan.words[:, RULE_TYPES.index(DOING)] == OWN
    tool = plan.answers[:, _TYPES.index(USED)]
    colors = np.argsort(rng.random((n, len(COLORS))), axis=1)[:, :2].astype(np.int64)
    return Cast(
        things,
        actors=_withother(np.where(cat, _CAT, other(np.full(n, _CAT), len(ACTORS), rng)), len(ACTORS), rng),
        tools=_withother(tool, len(TOOLS), rng),
        tool_colors=colors,
        attribute=_draw_attributes(n, rng),
        first_is_bigger=rng.random(n) < 0.5,
    )


def _place_banana(things: Ints, wanted: Flags) -> None:
    """Move the banana into the first column where it is wanted, and out of it into the last where it is not."""
    rows = np.arange(len(things))
    at = np.argmax(things == _BANANA, axis=1)
    to = np.where(wanted, COLORED, np.where(at == COLORED, len(THINGS) - 1, at))
    things[rows, at] = things[rows, to]
    things[rows, to] = _BANANA


def other(values: Ints, n: int, rng: np.random.Generator) -> Ints:
    """Draw another of n values, each with the same chance."""
    return (values + rng.integers(1, n, len(values))) % n


def _withother(values: Ints, n: int, rng: np.random.Generator) -> Ints:
    return np.stack([values, other(values, n, rng)], axis=1)


def _draw_attributes(n: int, rng: np.random.Generator) -> Ints:
    color, size = rng.integers(len(COLORS), size=n), len(COLORS) + rng.integers(len(SIZES), size=n)
    return np.where(rng.random(n) < 0.5, color, size)
