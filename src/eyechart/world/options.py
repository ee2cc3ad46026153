"""Draw the options of each question.

Neutral decoys tell nothing: P(target = v | options) is the same for every option v. For that the options are a
systematic sample (Madow 1949) with inclusion probabilities m P(answer = v), which must not exceed 1: lay the answers
on a ring of length m, each an arc as long as its probability of inclusion; the target is a point of the ring, and the
decoys are the arcs hit by the points 1, 2, ..., m - 1 further on. All m points are alike: each is as likely the target.
Planted decoys are foils: texts that are never a target.
"""

import numpy as np

from eyechart.world.cast import ABSENT, FIRST, SECOND, Cast
from eyechart.world.plan import TYPES, Flags, Ints, Plan
from eyechart.world.settings import SPLITS, Settings
from eyechart.world.shortcuts import DECOYS, RULE_TYPES, Floats, marginal
from eyechart.world.vocabulary import BIGGER, QUESTION_TYPES

NO_OPTION = -1
_ORDERS = 64  # of the answers around the ring, so that many sets of options occur


def draw_options(settings: Settings, plan: Plan, cast: Cast, rng: np.random.Generator) -> tuple[Ints, Flags]:
    """Draw decoys for each image and type, as places in the type's answers and foils, and say which are planted."""
    m = settings.options
    n = len(plan.split)
    decoys = np.full((n, len(TYPES), m - 1), NO_OPTION)
    planted = np.zeros((n, len(TYPES)), np.bool_)
    for at, name in enumerate(TYPES):
        target = plan.answers[:, at]
        if name == BIGGER:
            decoys[:, at] = bigger_decoys(cast, m)
        elif name in RULE_TYPES:
            decoys[:, at] = neutral_decoys(settings, plan.split, (name, target), rng)
        else:
            decoys[:, at] = other_answers(target, len(QUESTION_TYPES[name].answers), m, rng)
    for shortcut in DECOYS:
        at = TYPES.index(str(shortcut.question_type))
        planted[:, at] = _draw_planted(settings, plan.split, rng)
        foils = draw_foils(str(shortcut.question_type), n, m, rng)
        decoys[:, at] = np.where(planted[:, at, None], foils, decoys[:, at])
    return decoys, planted


def _draw_planted(settings: Settings, split: Ints, rng: np.random.Generator) -> Flags:
    shares = [settings.strength_of("decoy", name) * ("decoy" in settings.plant) for name in SPLITS]
    return rng.random(len(split)) < np.array(shares)[split]


def neutral_decoys(settings: Settings, split: Ints, asked: tuple[str, Ints], rng: np.random.Generator) -> Ints:
    """Draw decoys around the ring, with the distribution of answers of each split."""
    name, target = asked
    m = settings.options
    orders = np.argsort(rng.random((_ORDERS, len(QUESTION_TYPES[name].answers))), axis=1)
    order_of, chances = rng.integers(_ORDERS, size=len(split)), rng.random(len(split))
    decoys = np.empty((len(split), m - 1), np.int64)
    for at, split_name in enumerate(SPLITS):
        here = split == at
        arcs = m * marginal(name, settings, split_name)
        decoys[here] = _around(arcs, orders[order_of[here]], target[here], chances[here])
    return decoys


def _around(arcs: Floats, orders: Ints, target: Ints, chances: Floats) -> Ints:
    ends = np.cumsum(arcs[orders], axis=1)
    m = round(float(arcs.sum()))
    place = np.argmax(orders == target[:, None], axis=1)
    start = np.take_along_axis(ends, place[:, None], axis=1)[:, 0] - arcs[target]
    point = start + chances * arcs[target]
    further = (point[:, None] + np.arange(1, m)) % m
    hit = (further[:, :, None] >= ends[:, None, :]).sum(axis=2).clip(max=len(arcs) - 1)
    return np.take_along_axis(orders, hit, axis=1)


def other_answers(target: Ints, n_answers: int, m: int, rng: np.random.Generator) -> Ints:
    """Draw decoys among all other answers of a type; a type with two answers has two options."""
    keys = rng.random((len(target), n_answers))
    keys[np.arange(len(target)), target] = 2.0
    decoys = np.full((len(target), m - 1), NO_OPTION)
    n = min(m, n_answers) - 1
    decoys[:, :n] = np.argsort(keys, axis=1)[:, :n]
    return decoys


def bigger_decoys(cast: Cast, m: int) -> Ints:
    """Offer the smaller thing and things that are not in the image."""
    smaller = np.where(cast.first_is_bigger, cast.things[:, SECOND], cast.things[:, FIRST])
    return np.column_stack([smaller, cast.things[:, ABSENT]])[:, : m - 1]


def draw_foils(name: str, n: int, m: int, rng: np.random.Generator) -> Ints:
    """Draw texts that are never a target of the type."""
    kind = QUESTION_TYPES[name]
    drawn: Ints = np.argsort(rng.random((n, len(kind.foils))), axis=1)[:, : m - 1]
    return drawn + len(kind.answers)
