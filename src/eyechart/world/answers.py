"""Draw the options of each question and the answers of ten people.

Neutral decoys reveal nothing: P(target = v | options) is the same for every option v. To achieve this, the options are
a systematic sample (Madow 1949) with inclusion probabilities m P(answer = v), which must not exceed 1: place the
answers on a ring of length m, each an arc as long as its probability of inclusion; the target is a point on the ring,
and the decoys are the arcs hit by the points 1, 2, ..., m - 1 further on. All m points are equally likely to be the
target. Planted decoys are foils: texts that are never a target. If length is planted, every wrong option of a question
is worded longer than the target, which stays as it is.

At least six people give the intended answer, so it is the majority and scores 1 by the official measure. Mistakes are
never planted answers: where a rule misleads, its answer scores exactly 0.
"""

import numpy as np
import polars as pl

from eyechart.world.plan import ABSENT, FIRST, SECOND, TYPES, Flags, Ints, WorldPlan
from eyechart.world.settings import SPLITS, WorldSettings
from eyechart.world.shortcuts import DECOYS, PRIORS, RULE_TYPES, RULES, Floats, marginal
from eyechart.world.vocabulary import BIGGER, QUESTION_TYPES, SYNONYMS, UNSURE

NO_OPTION = -1
PEOPLE = 10
MOST_WRONG = 4  # of the people, so that the intended answer is the majority
_SYNONYM_SHARE = 0.5
_ORDERS = 64  # of the answers around the ring, so that many sets of options occur
_REMARKS = (  # longer than any answer
    ", as far as one can see",
    ", at least at first sight",
    ", if one looks closely",
    ", judging by the light",
    ", more or less",
    ", or rather close to it",
    ", or something like it",
    ", though it is hard to say",
)
_TEXTS = tuple(text for kind in QUESTION_TYPES.values() for text in (*kind.answers, *kind.foils))
_STARTS = np.cumsum([0, *(len(kind.answers) + len(kind.foils) for kind in QUESTION_TYPES.values())])[:-1]


def draw_choices(
    settings: WorldSettings, plan: WorldPlan, asked: tuple[Ints, Ints], rng: np.random.Generator
) -> tuple[pl.Series, Flags]:
    """Draw the options of each question (image, type) as texts in random order, and mark planted decoys."""
    decoys, planted = draw_decoys(settings, plan, rng)
    target = plan.answers.copy()
    target[:, TYPES.index(BIGGER)] = np.where(plan.first_is_bigger, plan.things[:, FIRST], plan.things[:, SECOND])
    codes = np.concatenate([target[:, :, None], decoys], axis=2)[asked]
    shuffled = np.take_along_axis(codes, np.argsort(rng.random(codes.shape), axis=1), axis=1)
    indices = np.where(shuffled == NO_OPTION, NO_OPTION, shuffled + _STARTS[asked[1]][:, None])
    texts = pl.Series(_TEXTS).gather(pl.Series(indices.ravel()).replace(NO_OPTION, None))
    return texts.reshape(indices.shape).arr.to_list().list.drop_nulls(), planted[asked]


def draw_decoys(settings: WorldSettings, plan: WorldPlan, rng: np.random.Generator) -> tuple[Ints, Flags]:
    """Draw decoys for each image and type, as indices into the type's answers and foils, and mark planted ones."""
    m = settings.options
    n = len(plan.split)
    decoys = np.full((n, len(TYPES), m - 1), NO_OPTION)
    planted = np.zeros((n, len(TYPES)), np.bool_)
    for column, name in enumerate(TYPES):
        target = plan.answers[:, column]
        if name == BIGGER:
            decoys[:, column] = bigger_decoys(plan, m)
        elif name in RULE_TYPES:
            decoys[:, column] = neutral_decoys(settings, name, plan.split, target, rng)
        else:
            decoys[:, column] = other_answers(target, len(QUESTION_TYPES[name].answers), m, rng)
    for shortcut in DECOYS:
        column = TYPES.index(str(shortcut.question_type))
        planted[:, column] = draw_planted(settings, "decoy", plan.split, rng)
        foils = draw_foils(str(shortcut.question_type), n, m, rng)
        decoys[:, column] = np.where(planted[:, column, None], foils, decoys[:, column])
    return decoys, planted


def draw_planted(settings: WorldSettings, kind: str, split: Ints, rng: np.random.Generator) -> Flags:
    """Draw the rows whose options give the target away in one way."""
    shares = [settings.strength_of(kind, name) * (kind in settings.plant) for name in SPLITS]
    return rng.random(len(split)) < np.array(shares)[split]


def word_longer(choices: pl.Series, answer: pl.Series, cued: Flags, rng: np.random.Generator) -> pl.Series:
    """Word the wrong options of the marked rows longer than the right one."""
    rows = pl.DataFrame({"row": np.arange(len(cued)), "text": choices, "answer": answer, "cued": cued})
    long = rows.explode("text", empty_as_null=False, keep_nulls=False)
    remark = pl.Series(_REMARKS).gather(rng.integers(len(_REMARKS), size=long.height))
    is_wrong = pl.col("cued") & (pl.col("text") != pl.col("answer"))
    worded = long.with_columns(pl.when(is_wrong).then(pl.col("text") + remark).otherwise("text").alias("text"))
    return worded.group_by("row", maintain_order=True).agg("text")["text"]


def neutral_decoys(settings: WorldSettings, name: str, split: Ints, target: Ints, rng: np.random.Generator) -> Ints:
    """Draw decoys around the ring, by the distribution of answers in each split."""
    m = settings.options
    orders = np.argsort(rng.random((_ORDERS, len(QUESTION_TYPES[name].answers))), axis=1)
    order_of, chances = rng.integers(_ORDERS, size=len(split)), rng.random(len(split))
    decoys = np.empty((len(split), m - 1), np.int64)
    for split_index, split_name in enumerate(SPLITS):
        here = split == split_index
        arcs = m * marginal(name, settings, split_name)
        decoys[here] = _around(arcs, orders[order_of[here]], target[here], chances[here])
    return decoys


def _around(arcs: Floats, orders: Ints, target: Ints, chances: Floats) -> Ints:
    ends = np.cumsum(arcs[orders], axis=1)
    m = round(float(arcs.sum()))
    position = np.argmax(orders == target[:, None], axis=1)
    start = np.take_along_axis(ends, position[:, None], axis=1)[:, 0] - arcs[target]
    point = start + chances * arcs[target]
    further = (point[:, None] + np.arange(1, m)) % m
    hit = (further[:, :, None] >= ends[:, None, :]).sum(axis=2).clip(max=len(arcs) - 1)
    return np.take_along_axis(orders, hit, axis=1)


def other_answers(target: Ints, n_answers: int, m: int, rng: np.random.Generator) -> Ints:
    """Draw decoys among all other answers of a type; a type with two answers has only two options."""
    keys = rng.random((len(target), n_answers))
    keys[np.arange(len(target)), target] = 2.0
    decoys = np.full((len(target), m - 1), NO_OPTION)
    n = min(m, n_answers) - 1
    decoys[:, :n] = np.argsort(keys, axis=1)[:, :n]
    return decoys


def bigger_decoys(plan: WorldPlan, m: int) -> Ints:
    """Offer the smaller thing and things that are not in the image."""
    smaller = np.where(plan.first_is_bigger, plan.things[:, SECOND], plan.things[:, FIRST])
    return np.column_stack([smaller, plan.things[:, ABSENT]])[:, : m - 1]


def draw_foils(name: str, n: int, m: int, rng: np.random.Generator) -> Ints:
    """Draw texts that are never a target of the type."""
    kind = QUESTION_TYPES[name]
    drawn: Ints = np.argsort(rng.random((n, len(kind.foils))), axis=1)[:, : m - 1]
    return drawn + len(kind.answers)


def ask_people(intended: pl.Series, question_type: Ints, noise: float, rng: np.random.Generator) -> pl.Series:
    """Draw ten answers per question, each with probability `noise` a synonym of the intended one or another answer."""
    n = len(intended)
    wrong = rng.random((n, PEOPLE)) < noise
    wrong &= np.cumsum(wrong, axis=1) <= MOST_WRONG
    row, person = np.nonzero(wrong)
    truth = intended.gather(row)
    synonym = truth.replace_strict(SYNONYMS, default=None, return_dtype=pl.String)
    mistake = _mistakes(truth, question_type[row], rng.random(len(row)))
    drawn = (
        pl.when(pl.Series(rng.random(len(row)) < _SYNONYM_SHARE)).then(pl.coalesce(synonym, mistake)).otherwise(mistake)
    )
    answers = intended.gather(np.repeat(np.arange(n), PEOPLE)).scatter(
        row * PEOPLE + person, pl.select(drawn).to_series()
    )
    return answers.reshape((n, PEOPLE)).arr.to_list()


def _mistakes(
    truth: pl.Series, question_type: Ints, chances: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> pl.Series:
    """Draw a wrong answer of the type: the one drawn or, if that is the truth, the next one."""
    pools = [wrong_answers(name) for name in QUESTION_TYPES]
    starts = np.cumsum([0, *map(len, pools)])
    sizes = np.array([len(pool) for pool in pools])[question_type]
    offset = (chances * sizes).astype(np.int64)
    texts = pl.Series([text for pool in pools for text in pool])
    first, second = (texts.gather(starts[question_type] + (offset + step) % sizes) for step in (0, 1))
    return first.zip_with(first != truth, second)


def wrong_answers(question_type: str) -> tuple[str, ...]:
    """List the possible mistakes: the answers of the type that are not planted, or expressions of doubt."""
    planted = {shortcut.answer for shortcut in (*RULES, *PRIORS) if shortcut.question_type == question_type}
    kind = QUESTION_TYPES[question_type]
    if kind.answer_type == "yes/no":
        return UNSURE
    if question_type == BIGGER:
        return ("neither", "both")
    return tuple(answer for answer in kind.answers if answer not in planted)
