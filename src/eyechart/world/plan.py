"""Decide, before any scene exists, what is asked of each image, which cues are there, and what the answers shall be.

Every array has one row an image and, where it has a second axis, one column a question type (or a rule type, in the
order of the constants). All draws have a fixed size, so a strength changes answers and nothing else.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from eyechart.world.settings import SPLITS, Settings
from eyechart.world.shortcuts import (
    CONTROL_OBJECT_SHARE,
    CONTROL_WORD_SHARE,
    PRIORS,
    RULE_TYPES,
    Floats,
    base,
    design_of,
    fired,
    rules_of,
)
from eyechart.world.vocabulary import CONTROL_OBJECTS, CONTROL_WORDS, QUESTION_TYPES

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

TYPES = tuple(QUESTION_TYPES)
_RULE_TYPE_WEIGHT = 4.0  # so that rule types are asked of about 80 % of the images, the others of about 45 %


@dataclass(frozen=True)
class Plan:
    """What is decided; `fires` is a place in `rules_of` the type or NO_RULE, `answers` are places in the type's."""

    split: Ints
    asked: Ints
    props: Ints
    words: Ints
    fires: Ints
    answers: Ints
    control_objects: Flags
    control_words: Flags


def draw_plan(settings: Settings, rng: np.random.Generator) -> Plan:
    """Draw types, cues and answers of all images."""
    n = settings.images
    split = draw_splits(settings, rng)
    asked = draw_types(settings, rng)
    design = design_of(settings)
    props = np.stack([choose(np.array(design.props), rng.random(n)) for _ in RULE_TYPES], axis=1)
    words = np.stack([draw_words(design.words, props[:, at], rng.random(n)) for at in range(len(RULE_TYPES))], axis=1)
    fires = np.array(design.fires)[words, props]
    return Plan(
        split,
        asked,
        props,
        words,
        fires,
        answers=draw_answers(settings, split, fires, rng),
        control_objects=rng.random((n, len(CONTROL_OBJECTS))) < CONTROL_OBJECT_SHARE,
        control_words=rng.random((n, len(TYPES), len(CONTROL_WORDS))) < CONTROL_WORD_SHARE,
    )


def choose(shares: Floats, chances: Floats) -> Ints:
    """Turn uniform numbers into places of a distribution, by its inverse."""
    edges = np.cumsum(shares)
    return np.searchsorted(edges / edges[-1], chances, side="right").clip(max=len(shares) - 1).astype(np.int64)


def draw_splits(settings: Settings, rng: np.random.Generator) -> Ints:
    """Deal the images out to the splits, in the wanted shares up to rounding."""
    ranks = rng.permutation(settings.images)
    edges = np.round(np.cumsum(settings.shares) * settings.images)
    return np.searchsorted(edges[:-1], ranks, side="right").astype(np.int64)


def draw_types(settings: Settings, rng: np.random.Generator) -> Ints:
    """Choose different types for the questions of an image, rule types more often (weighted, by Gumbel keys)."""
    weights = np.array([_RULE_TYPE_WEIGHT if name in RULE_TYPES else 1.0 for name in TYPES])
    keys = np.log(weights) + rng.gumbel(size=(settings.images, len(TYPES)))
    return np.argsort(-keys, axis=1)[:, : settings.questions].astype(np.int64)


def draw_words(shares_by_prop: tuple[tuple[float, ...], ...], props: Ints, chances: Floats) -> Ints:
    """Draw the cue word of each question of a rule type, given the prop in its image."""
    by_prop = [choose(np.array(shares), chances) for shares in shares_by_prop]
    return np.choose(props, by_prop).astype(np.int64)


def draw_answers(settings: Settings, split: Ints, fires: Ints, rng: np.random.Generator) -> Ints:
    """Draw the answer of every type from its distribution given the cue that fires."""
    chances = rng.random((len(split), len(TYPES)))
    columns = []
    for at, name in enumerate(TYPES):
        if name in RULE_TYPES:
            columns.append(_rule_answers(settings, split, fires[:, RULE_TYPES.index(name)], (name, chances[:, at])))
        else:
            columns.append(_prior_answers(settings, split, name, chances[:, at]))
    return np.stack(columns, axis=1)


def _rule_answers(settings: Settings, split: Ints, fires: Ints, draw: tuple[str, Floats]) -> Ints:
    name, chances = draw
    answers = choose(base(name), chances)
    for rule_at, each in enumerate(rules_of(name, settings)):
        for split_at, split_name in enumerate(SPLITS):
            here = (fires == rule_at) & (split == split_at)
            answers[here] = choose(fired(each, settings, split_name), chances[here])
    return answers


def _prior_answers(settings: Settings, split: Ints, name: str, chances: Floats) -> Ints:
    answers = choose(base(name), chances)
    for prior in PRIORS:
        for split_at, split_name in enumerate(SPLITS):
            if prior.question_type == name:
                here = split == split_at
                answers[here] = choose(fired(prior, settings, split_name), chances[here])
    return answers
