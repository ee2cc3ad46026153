"""Score single examples: how right one answer is, from 0 to 1.

There are several accuracies: papers use the official soft score with conditional normalisation, the same with
unconditional normalisation, min(count / 3, 1) on raw text, or plain equality. Each has a name here; report it.

`score` reads one row per example: the reference columns `answer` (text), `answers` (the human answers),
`choices` and their `relevance`, and a model's columns `given` (text; null: no usable answer) and `ranking`
(texts, best first). A row without a reference has no score (null); a row with a reference but no
usable answer scores 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import polars as pl

from eyechart.base.errors import DataError
from eyechart.base.registry import unknown_name
from eyechart.scoring.answers import (
    any_of,
    count3,
    exact,
    exact_normalized,
    mean_relative_accuracy,
    one_minus_mape,
    soft_accuracy,
    soft_labels,
)
from eyechart.scoring.options import by_index, by_letter, by_text, by_text_or_letter, compare, names_option
from eyechart.scoring.rankings import mrr, ndcg

__all__ = ["OPTION_SCORES", "SCORES", "Score", "auto_score", "chosen_score", "names_option", "score"]

_TYPES: dict[str, pl.DataType] = {
    "answer": pl.String(),
    "answers": pl.List(pl.String),
    "weights": pl.List(pl.Float64),
    "choices": pl.List(pl.String),
    "relevance": pl.List(pl.Float64),
    "given": pl.String(),
    "ranking": pl.List(pl.String),
}
_VOTES = 4  # with two or three humans, not even a unanimous answer scores 1 by the official formula


@dataclass(frozen=True)
class Score:
    """A named way to score, the columns it reads, and what it means in one line."""

    name: str
    needs: tuple[str, ...]
    about: str
    function: Callable[[pl.DataFrame], pl.Series]


def score(table: pl.DataFrame, how: str) -> pl.Series:
    """Score each row of examples joined with answers; the score is null only where a row cannot be scored."""
    chosen = _known(how)
    _check_columns(table, chosen)
    typed = table.select(pl.col(name).cast(_TYPES[name]) for name in chosen.needs)
    return chosen.function(typed).cast(pl.Float64).rename("score")


def auto_score(examples: pl.DataFrame) -> str:
    """Choose the score that fits the references.

    `number` where all references without options are declared numbers (`answer_type`); `choice` where at least half of
    the examples with an answer have options; `soft-labels` where answers have weights; else by the longest list:
    `vqa` for the votes of four humans or more, `any` for two or three accepted texts, `exact` for a single one.
    """
    if _declares_numbers(examples):
        return "number"
    if _mostly_options(examples):
        return "choice"
    if "weights" in examples.columns and examples["weights"].count():
        return "soft-labels"
    longest = _longest_answers(examples)
    return "vqa" if longest >= _VOTES else "any" if longest > 1 else "exact"


def chosen_score(how: str, examples: pl.DataFrame) -> str:
    """Resolve the setting `auto` to the score that fits the references."""
    return auto_score(examples) if how == "auto" else _known(how).name


def _known(how: str) -> Score:
    """Find a score by its name."""
    if how not in SCORES:
        raise unknown_name("score", how, tuple(SCORES))
    return SCORES[how]


def _check_columns(table: pl.DataFrame, chosen: Score) -> None:
    for name in chosen.needs:
        if name not in table.columns:
            raise DataError(
                f"a column {name!r} for the score {chosen.name}",
                f"the columns {', '.join(table.columns) or 'none'}",
                "join the examples with the answers, or choose a score that does not need it",
            )


def _mostly_options(examples: pl.DataFrame) -> bool:
    """Return whether at least half of the examples with a reference answer have options."""
    if "choices" not in examples.columns:
        return False
    sizes = examples["choices"].cast(_TYPES["choices"]).list.len().fill_null(0)
    if "answer" in examples.columns:
        sizes = sizes.filter(examples["answer"].is_not_null())
    return 2 * int((sizes > 0).sum()) >= max(len(sizes), 1)


def _declares_numbers(examples: pl.DataFrame) -> bool:
    """Return whether there are references without options, and all of them have the answer type `number`."""
    if not {"answer", "answer_type"} <= set(examples.columns) or _longest_answers(examples):
        return False
    is_open = pl.col("answer").is_not_null()
    if "choices" in examples.columns:
        is_open &= pl.col("choices").is_null()
    types = examples.filter(is_open)["answer_type"]
    return len(types) > 0 and bool((types == "number").fill_null(value=False).all())


def _longest_answers(examples: pl.DataFrame) -> int:
    """Count the answers in the longest list, 0 if there are none; a null is not an answer."""
    if "answers" not in examples.columns:
        return 0
    sizes = examples["answers"].cast(_TYPES["answers"]).list.drop_nulls().list.len()
    return int(sizes.max() or 0)  # type: ignore[arg-type]  # a whole number


def _number(table: pl.DataFrame) -> pl.Series:
    """Score numbers by mean relative accuracy, and rows with options as `choice` does."""
    by_option = compare(by_text_or_letter())(table)
    return by_option.zip_with(table["choices"].is_not_null(), mean_relative_accuracy(table))


_TEXT = ("answer", "given")
_HUMANS = ("answers", "given")
_WEIGHED = ("answers", "weights", "given")
_NUMBERED = ("answer", "choices", "given")
_OPTIONS = ("answer", "choices", "given")
_RANKED = ("choices", "relevance", "ranking")
_NORMALIZED = "the same text as the answer, both in the official normal form"
_ACCEPTED = "the same text as one of the answers, both in the official normal form"
_LETTERED = "names the right option by its letter: A, a, A., A) or (A)"

SCORES: dict[str, Score] = {
    each.name: each
    for each in (
        Score("exact", _TEXT, "the same text as the answer", exact),
        Score("exact-normalized", _TEXT, _NORMALIZED, exact_normalized),
        Score("any", _HUMANS, _ACCEPTED, any_of),
        Score("vqa", _HUMANS, "official soft accuracy", partial(soft_accuracy, always=False)),
        Score("vqa-always", _HUMANS, "soft accuracy, always normalised", partial(soft_accuracy, always=True)),
        Score("count3", _HUMANS, "min(count / 3, 1) of human answers with the same raw text", count3),
        Score("soft-labels", _WEIGHED, "the weight of the given answer among the soft labels", soft_labels),
        Score("number", _NUMBERED, "mean relative accuracy of a number; with options, names the right one", _number),
        Score("choice", _OPTIONS, "names the right option by text, else by letter", compare(by_text_or_letter())),
        Score("choice-text", _OPTIONS, "names the right option by its text", compare(by_text())),
        Score("choice-letter", _OPTIONS, _LETTERED, compare(by_letter())),
        Score("choice-index", _OPTIONS, "names the right option by its number, from 0", compare(by_index())),
        Score("mrr", ("answer", "ranking"), "1 / rank of the answer, 0 if it is not in the ranking", mrr),
        Score("ndcg", _RANKED, "discounted gain of the top k over that of the best ranking", ndcg),
        Score("one-minus-mape", _TEXT, "1 - |given - answer| / |answer|, for numbers", one_minus_mape),
    )
}
OPTION_SCORES = tuple(name for name in SCORES if name.startswith("choice"))
