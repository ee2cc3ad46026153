"""Let ten people answer each question.

At least six say the intended answer, so it is the majority and scores 1 by the official measure. Nobody who errs gives
a planted answer: where a rule misleads, its answer scores exactly 0.
"""

import numpy as np
import polars as pl

from eyechart.world.plan import Ints
from eyechart.world.shortcuts import PRIORS, RULES
from eyechart.world.vocabulary import BIGGER, QUESTION_TYPES, SYNONYMS, UNSURE

PEOPLE = 10
MOST_WRONG = 4
_SYNONYM_SHARE = 0.5


def ask_people(intended: pl.Series, question_type: Ints, noise: float, rng: np.random.Generator) -> pl.Series:
    """Give ten answers a question, each with the chance `noise` another word for the intended one or another answer."""
    n = len(intended)
    wrong = rng.random((n, PEOPLE)) < noise
    wrong &= np.cumsum(wrong, axis=1) <= MOST_WRONG
    row, person = np.nonzero(wrong)
    truth = intended.gather(row)
    synonym = truth.replace_strict(SYNONYMS, default=None, return_dtype=pl.String)
    mistake = _mistakes(truth, question_type[row], rng.random(len(row)))
    said = (
        pl.when(pl.Series(rng.random(len(row)) < _SYNONYM_SHARE)).then(pl.coalesce(synonym, mistake)).otherwise(mistake)
    )
    answers = intended.gather(np.repeat(np.arange(n), PEOPLE)).scatter(
        row * PEOPLE + person, pl.select(said).to_series()
    )
    return answers.reshape((n, PEOPLE)).arr.to_list()


def _mistakes(
    truth: pl.Series, question_type: Ints, chances: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> pl.Series:
    """Draw a wrong answer of the type: the first choice or, where that is the truth, the next one."""
    pools = [wrong_answers(name) for name in QUESTION_TYPES]
    starts = np.cumsum([0, *map(len, pools)])
    sizes = np.array([len(pool) for pool in pools])[question_type]
    at = (chances * sizes).astype(np.int64)
    texts = pl.Series([text for pool in pools for text in pool])
    first, second = (texts.gather(starts[question_type] + (at + step) % sizes) for step in (0, 1))
    return first.zip_with(first != truth, second)


def wrong_answers(question_type: str) -> tuple[str, ...]:
    """List what an erring person may say: the answers of the type that are not planted, or doubts."""
    planted = {shortcut.answer for shortcut in (*RULES, *PRIORS) if shortcut.question_type == question_type}
    kind = QUESTION_TYPES[question_type]
    if kind.answer_type == "yes/no":
        return UNSURE
    if question_type == BIGGER:
        return ("neither", "both")
    return tuple(answer for answer in kind.answers if answer not in planted)
