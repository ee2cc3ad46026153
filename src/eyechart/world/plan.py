"""Decide, before any scene exists, what to ask about each image, which cues it has, and what the answers will be.

Every array has one row per image and, if it has a second axis, one column per question type (or rule type, in the order
of the constants). All draws have a fixed size, so a strength changes answers and nothing else.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eyechart.world.settings import SPLITS, WorldSettings
from eyechart.world.shortcuts import (
    CONTROL_OBJECT_SHARE,
    CONTROL_WORD_SHARE,
    OWN,
    RULE_TYPES,
    Floats,
    base,
    design_of,
    fired,
    priors_of,
    rules_of,
)
from eyechart.world.vocabulary import (
    ACTORS,
    COLOR,
    COLORS,
    CONTROL_OBJECTS,
    CONTROL_WORDS,
    DOING,
    QUESTION_TYPES,
    SIZES,
    THINGS,
    TOOLS,
    USED,
)

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

TYPES = tuple(QUESTION_TYPES)
_RULE_TYPE_WEIGHT = 4.0  # asks rule types about roughly 80 % of the images, the others about 45 %

# Columns of WorldPlan.things: a different thing for each purpose.
COLORED, COUNTED, SOUGHT, ANCHOR, FIRST, SECOND, JUDGED = range(7)
SPARE_THINGS = 2
SPARE = slice(JUDGED + 1, JUDGED + 1 + SPARE_THINGS)
ABSENT = slice(SPARE.stop, SPARE.stop + 2)  # never in the image: further options of "which is bigger"
_BANANA, _CAT = THINGS.index("banana"), ACTORS.index("cat")


@dataclass(frozen=True)
class WorldPlan:
    """All decisions; `fires` is an index into `rules_of` the type or NO_RULE, `answers` are indices into the type's.

    Subjects of the questions: `things` are indices into THINGS by purpose, `actors` and `tools` are indices into ACTORS
    and TOOLS (the one asked about, another).
    """

    split: Ints
    asked: Ints
    props: Ints
    words: Ints
    fires: Ints
    answers: Ints
    control_objects: Flags
    control_words: Flags
    things: Ints
    tool_colors: Ints
    actors: Ints
    tools: Ints
    attribute: Ints  # asked of the thing of "is the": a colour, or beyond them a size
    first_is_bigger: Flags


def draw_plan(settings: WorldSettings, rng: np.random.Generator, subject_rng: np.random.Generator) -> WorldPlan:
    """Draw types, cues and answers of all images and, from a separate stream, the subjects of the questions."""
    n = settings.images
    split = draw_splits(settings, rng)
    asked = draw_types(settings, rng)
    design = design_of(settings)
    props = np.stack([choose(np.array(design.props), rng.random(n)) for _ in RULE_TYPES], axis=1)
    words = np.stack(
        [draw_words(design.words, props[:, column], rng.random(n)) for column in range(len(RULE_TYPES))], axis=1
    )
    fires = np.array(design.fires)[words, props]
    answers = draw_answers(settings, split, fires, rng)
    return WorldPlan(
        split,
        asked,
        props,
        words,
        fires,
        answers,
        control_objects=rng.random((n, len(CONTROL_OBJECTS))) < CONTROL_OBJECT_SHARE,
        control_words=rng.random((n, len(TYPES), len(CONTROL_WORDS))) < CONTROL_WORD_SHARE,
        things=_draw_things(words[:, RULE_TYPES.index(COLOR)] == OWN, subject_rng),
        tool_colors=np.argsort(subject_rng.random((n, len(COLORS))), axis=1)[:, :2].astype(np.int64),
        actors=_draw_actors(words[:, RULE_TYPES.index(DOING)] == OWN, subject_rng),
        tools=_with_other(answers[:, TYPES.index(USED)], len(TOOLS), subject_rng),
        attribute=_draw_attributes(n, subject_rng),
        first_is_bigger=subject_rng.random(n) < 0.5,
    )


def choose(shares: Floats, chances: Floats) -> Ints:
    """Draw from a distribution by inverting it at uniform numbers, and return indices."""
    edges = np.cumsum(shares)
    return np.searchsorted(edges / edges[-1], chances, side="right").clip(max=len(shares) - 1).astype(np.int64)


def draw_splits(settings: WorldSettings, rng: np.random.Generator) -> Ints:
    """Assign the images to the splits, in the requested shares up to rounding."""
    ranks = rng.permutation(settings.images)
    edges = np.round(np.cumsum(settings.shares) * settings.images)
    return np.searchsorted(edges[:-1], ranks, side="right").astype(np.int64)


def draw_types(settings: WorldSettings, rng: np.random.Generator) -> Ints:
    """Choose different types for the questions of an image, rule types more often (weighted, by Gumbel keys)."""
    weights = np.array([_RULE_TYPE_WEIGHT if name in RULE_TYPES else 1.0 for name in TYPES])
    keys = np.log(weights) + rng.gumbel(size=(settings.images, len(TYPES)))
    return np.argsort(-keys, axis=1)[:, : settings.questions].astype(np.int64)


def draw_words(shares_by_prop: tuple[tuple[float, ...], ...], props: Ints, chances: Floats) -> Ints:
    """Draw the cue word of each question of a rule type, given the prop in its image."""
    by_prop = [choose(np.array(shares), chances) for shares in shares_by_prop]
    return np.choose(props, by_prop).astype(np.int64)


def draw_answers(settings: WorldSettings, split: Ints, fires: Ints, rng: np.random.Generator) -> Ints:
    """Draw the answer of every type from its distribution given the cue that fires."""
    chances = rng.random((len(split), len(TYPES)))
    columns = []
    for column, name in enumerate(TYPES):
        if name in RULE_TYPES:
            columns.append(_rule_answers(settings, name, split, fires[:, RULE_TYPES.index(name)], chances[:, column]))
        else:
            columns.append(_prior_answers(settings, name, split, chances[:, column]))
    return np.stack(columns, axis=1)


def _rule_answers(settings: WorldSettings, name: str, split: Ints, fires: Ints, chances: Floats) -> Ints:
    answers = choose(base(name), chances)
    for rule_index, each in enumerate(rules_of(name, settings)):
        for split_index, split_name in enumerate(SPLITS):
            here = (fires == rule_index) & (split == split_index)
            answers[here] = choose(fired(each, settings, split_name), chances[here])
    return answers


def _prior_answers(settings: WorldSettings, name: str, split: Ints, chances: Floats) -> Ints:
    answers = choose(base(name), chances)
    for prior in priors_of(settings):
        for split_index, split_name in enumerate(SPLITS):
            if prior.question_type == name:
                here = split == split_index
                answers[here] = choose(fired(prior, settings, split_name), chances[here])
    return answers


def _draw_things(banana: Flags, rng: np.random.Generator) -> Ints:
    """Draw a thing for each purpose; the banana, which is a cue, comes first exactly where the plan says so."""
    things = np.argsort(rng.random((len(banana), len(THINGS))), axis=1).astype(np.int64)
    rows = np.arange(len(things))
    before = np.argmax(things == _BANANA, axis=1)
    after = np.where(banana, COLORED, np.where(before == COLORED, len(THINGS) - 1, before))
    things[rows, before] = things[rows, after]
    things[rows, after] = _BANANA
    return things


def _draw_actors(cat: Flags, rng: np.random.Generator) -> Ints:
    """Draw the actor asked about and another; the cat, which is a cue, is asked about exactly where planned."""
    asked = np.where(cat, _CAT, other(np.full(len(cat), _CAT), len(ACTORS), rng))
    return _with_other(asked, len(ACTORS), rng)


def other(values: Ints, n: int, rng: np.random.Generator) -> Ints:
    """Draw another of n values, each with the same probability."""
    return (values + rng.integers(1, n, len(values))) % n


def _with_other(values: Ints, n: int, rng: np.random.Generator) -> Ints:
    return np.stack([values, other(values, n, rng)], axis=1)


def _draw_attributes(n: int, rng: np.random.Generator) -> Ints:
    color, size = rng.integers(len(COLORS), size=n), len(COLORS) + rng.integers(len(SIZES), size=n)
    return np.where(rng.random(n) < 0.5, color, size)
