"""Scores of single examples: how right one answer is, 0 to 1.

Accuracy is not one thing: papers use the official soft score with conditional normalisation, the same with
normalisation always, min(count / 3, 1) on raw text, or plain equality. Each has a name here; say which was used.

`score` reads one row per example: the reference columns `answer` (text), `answers` (the human answers),
`choices` and their `relevance`, and a model's columns `given` (text; null: no usable answer) and `ranking`
(texts, best first). A row that lacks its reference has no score (null); a row with a reference but nothing
usable given scores 0.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.errors import DataError
from eyechart.registry import unknown_name
from eyechart.text import clean_answer, normalize_answer

_TYPES: dict[str, pl.DataType] = {
    "answer": pl.String(),
    "answers": pl.List(pl.String),
    "choices": pl.List(pl.String),
    "relevance": pl.List(pl.Float64),
    "given": pl.String(),
    "ranking": pl.List(pl.String),
}
_LETTERS = {chr(ord("A") + index): index for index in range(26)}
_LETTER = r"^(?:\(([A-Za-z])\)|([A-Za-z])[.):]?)$"
_VOTES = 4  # of two or three humans, not even the answer of all scores 1 by the official formula


@dataclass(frozen=True)
class Score:
    """A named way to score, the columns it reads, and what it means in one line."""

    name: str
    needs: tuple[str, ...]
    about: str
    function: Callable[[pl.DataFrame], pl.Series]


def score(table: pl.DataFrame, how: str) -> pl.Series:
    """Score each row of a table of examples joined with answers; null exactly where a row cannot be scored."""
    chosen = _known(how)
    _check_columns(table, chosen)
    typed = table.select(pl.col(name).cast(_TYPES[name]) for name in chosen.needs)
    return chosen.function(typed).cast(pl.Float64).rename("score")


def auto_score(examples: pl.DataFrame) -> str:
    """Name the score that fits the references.

    `choice` where at least half of the examples with an answer have options; else by the longest list of answers:
    `vqa` for the votes of four humans or more, `any` for two or three accepted texts, `exact` for a single one.
    """
    if _mostly_options(examples):
        return "choice"
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
                "join the examples with the answers, or choose a score that does without it",
            )


def _mostly_options(examples: pl.DataFrame) -> bool:
    """Tell whether at least half of the examples that have a reference answer have options."""
    if "choices" not in examples.columns:
        return False
    sizes = examples["choices"].cast(_TYPES["choices"]).list.len().fill_null(0)
    if "answer" in examples.columns:
        sizes = sizes.filter(examples["answer"].is_not_null())
    return 2 * int((sizes > 0).sum()) >= max(len(sizes), 1)


def _longest_answers(examples: pl.DataFrame) -> int:
    """Count the answers of the longest list, 0 where there is none; a null is nobody's answer."""
    if "answers" not in examples.columns:
        return 0
    sizes = examples["answers"].cast(_TYPES["answers"]).list.drop_nulls().list.len()
    return int(sizes.max() or 0)  # type: ignore[arg-type]  # a whole number


# Lists are worked on flat: all elements under each other, each with the number of its row.


class _Flat(NamedTuple):
    rows: NDArray[np.int64]  # of each element, ascending
    places: NDArray[np.int64]  # of each element inside its list, from 0
    values: pl.Series
    sizes: NDArray[np.int64]  # of each list, 0 where it is null


def _flatten(lists: pl.Series) -> _Flat:
    sizes = lists.list.len().fill_null(0).cast(pl.Int64).to_numpy()
    rows = np.repeat(np.arange(len(sizes)), sizes)
    starts = np.cumsum(sizes) - sizes
    values = lists.filter(pl.Series(sizes > 0)).explode()
    return _Flat(rows, np.arange(len(rows)) - starts[rows], values, sizes)


def _count(flat: _Flat, holds: pl.Series) -> NDArray[np.int64]:
    """Count per row the elements for which `holds` is true; null is not."""
    return np.bincount(flat.rows[holds.fill_null(value=False).to_numpy()], minlength=len(flat.sizes))


def _or_null(values: NDArray[np.float64], has_score: NDArray[np.bool_]) -> pl.Series:
    return pl.Series(np.where(has_score, values, np.nan)).fill_nan(None)


# Equality


def _exact(table: pl.DataFrame) -> pl.Series:
    same = (pl.col("given") == pl.col("answer")).fill_null(value=False)
    return table.select(pl.when(pl.col("answer").is_not_null()).then(same.cast(pl.Float64))).to_series()


def _exact_normalized(table: pl.DataFrame) -> pl.Series:
    forms = _forms(pl.concat([table["given"], table["answer"]]))["normal"]
    given, answer = forms.head(len(table)).alias("given"), forms.tail(len(table)).alias("answer")
    return _exact(pl.DataFrame([given, answer]))


def _forms(texts: pl.Series) -> pl.DataFrame:
    """Give the clean and the normal form of each text; each distinct text is worked on once, for answers repeat."""
    texts = texts.alias("text")
    distinct = texts.unique().to_frame().with_columns(clean=clean_answer(pl.col("text")))
    distinct = distinct.with_columns(normal=normalize_answer(pl.col("clean")))
    return texts.to_frame().join(distinct, on="text", how="left", validate="m:1", maintain_order="left")


# Agreement with several humans


def _human_forms(table: pl.DataFrame) -> tuple[_Flat, pl.DataFrame, pl.DataFrame]:
    """Give the human answers flat, and the forms of what was given and of each human answer."""
    flat = _flatten(table["answers"].list.drop_nulls())
    forms = _forms(pl.concat([table["given"], flat.values.alias("given")]))
    return flat, forms.head(len(table)), forms.tail(len(flat.values))


def _any(table: pl.DataFrame) -> pl.Series:
    flat, given, human = _human_forms(table)
    matches = _count(flat, human["normal"] == given["normal"].gather(flat.rows))
    return _or_null(np.minimum(1.0, matches), flat.sizes > 0)


def _soft_accuracy(table: pl.DataFrame, *, always: bool) -> pl.Series:
    """Score as the official evaluation does since 2021-03: on normal forms only where the human answers differ.

    A lone human answer leaves no other to agree with, so the official mean over leave-one-out subsets would be 0
    whatever was given; such a row scores 1 for the same text and 0 for another. `always` compares normal forms
    even where all humans agree, as most evaluation harnesses do.
    """
    flat, given, human = _human_forms(table)
    normal = _count(flat, human["normal"] == given["normal"].gather(flat.rows))
    if always:
        return _leave_one_out(normal, flat.sizes)
    clean = _count(flat, human["clean"] == given["clean"].gather(flat.rows))
    first = human["clean"].gather(np.arange(len(flat.rows)) - flat.places)
    differ = _count(flat, human["clean"] != first) > 0
    return _leave_one_out(np.where(differ, normal, clean), flat.sizes)


def _leave_one_out(matches: NDArray[np.int64], humans: NDArray[np.int64]) -> pl.Series:
    """Average min(1, m / 3) over the subsets that leave one human out: m - 1 where that one matched, else m."""
    left_in = np.minimum(1, matches / 3) * (humans - matches)
    left_out = np.minimum(1, (matches - 1) / 3) * matches
    mean = (left_in + left_out) / np.maximum(humans, 1)
    return _or_null(np.where(humans == 1, matches, mean), humans > 0)


def _count3(table: pl.DataFrame) -> pl.Series:
    flat = _flatten(table["answers"].list.drop_nulls())
    matches = _count(flat, flat.values == table["given"].gather(flat.rows))
    return _or_null(np.minimum(1, matches / 3), flat.sizes > 0)


# Options. The target is the text of `answer`, which must be one of `choices`; a given answer names an option by
# its text, letter or index, and is right when that option's text is the target's, so a twin of the target counts.


def _names(option: pl.Expr) -> Callable[[pl.DataFrame], pl.Series]:
    """Score whether the option that was named is the target."""
    return partial(_compare_option, option=option)


def _compare_option(table: pl.DataFrame, option: pl.Expr) -> pl.Series:
    answer, choices = pl.col("answer"), pl.col("choices")
    texts = clean_answer(pl.col("answer", "given"))
    clean = table.with_columns(texts, choices.list.eval(clean_answer(pl.element())))
    has_target = answer.is_not_null() & choices.list.contains(answer)
    right = (option == answer).fill_null(value=False)
    return clean.select(pl.when(has_target).then(right.cast(pl.Float64))).to_series()


def names_option(table: pl.DataFrame) -> pl.Series:
    """Tell which answers name one of the options of their example, by its text or letter."""
    given = clean_answer(pl.col("given"))
    clean = table.select(given, pl.col("choices").list.eval(clean_answer(pl.element())))
    return clean.select(_text_or_letter().is_not_null()).to_series()


def _text() -> pl.Expr:
    return pl.when(pl.col("choices").list.contains(pl.col("given"))).then(pl.col("given"))


def _letter() -> pl.Expr:
    given = pl.col("given")
    letter = pl.coalesce(given.str.extract(_LETTER, 1), given.str.extract(_LETTER, 2)).str.to_uppercase()
    return _option_at(letter.replace_strict(_LETTERS, default=None, return_dtype=pl.Int64))


def _text_or_letter() -> pl.Expr:
    """Let text win: where "A" is the text of an option, it is not the letter of the first."""
    return pl.coalesce(_text(), _letter())


def _index() -> pl.Expr:
    return _option_at(pl.col("given").str.extract(r"^([0-9]{1,9})$").cast(pl.Int64))


def _option_at(index: pl.Expr) -> pl.Expr:
    return pl.col("choices").list.get(index, null_on_oob=True)


# Rankings


def _mrr(table: pl.DataFrame) -> pl.Series:
    flat = _flatten(table["ranking"])
    hits = (flat.values == table["answer"].gather(flat.rows)).fill_null(value=False).to_numpy()
    rows, first = np.unique(flat.rows[hits], return_index=True)
    reciprocal = np.zeros(len(table))
    reciprocal[rows] = 1 / (flat.places[hits][first] + 1)
    return _or_null(reciprocal, (flat.sizes > 0) & table["answer"].is_not_null().to_numpy())


def _ndcg(table: pl.DataFrame) -> pl.Series:
    """Score DCG@k / ideal DCG@k with DCG = sum of relevance / log2(rank + 1), k = candidates of relevance > 0."""
    relevant = _relevant_candidates(table)
    n = len(table)
    k = np.bincount(relevant["row"], minlength=n)
    ranked = _flatten(table["ranking"])
    seen = pl.DataFrame({"row": ranked.rows, "place": ranked.places, "text": ranked.values})
    top = seen.filter(pl.Series(ranked.places < k[ranked.rows])).with_columns(_nth_of_text())
    gained = top.join(relevant.drop("place"), on=["row", "text", "nth"], how="inner", validate="1:1")
    ratio = _discounted(gained, n) / np.where(k > 0, _discounted(relevant, n), 1)
    return _or_null(ratio, (k > 0) & (ranked.sizes > 0))


def _relevant_candidates(table: pl.DataFrame) -> pl.DataFrame:
    """List the candidates of positive relevance, best first in each row; equal texts are told apart by `nth`."""
    choices, relevance = _flatten(table["choices"]), _flatten(table["relevance"])
    _check_aligned(choices, relevance)
    long = pl.DataFrame({"row": choices.rows, "text": choices.values, "relevance": relevance.values})
    best_first = long.filter(pl.col("relevance") > 0).sort(
        "row", "relevance", descending=[False, True], maintain_order=True
    )
    return best_first.with_columns(place=pl.int_range(pl.len()).over("row")).with_columns(_nth_of_text())


def _check_aligned(choices: _Flat, relevance: _Flat) -> None:
    unequal = np.flatnonzero(choices.sizes != relevance.sizes)
    if len(unequal):
        row = unequal[0]
        raise DataError(
            "one relevance for each of the choices",
            f"{choices.sizes[row]} choices and {relevance.sizes[row]} relevances in row {row}",
            "align the two lists",
        )


def _nth_of_text() -> pl.Expr:
    return pl.int_range(pl.len()).over("row", "text").alias("nth")


def _discounted(gains: pl.DataFrame, n: int) -> NDArray[np.float64]:
    weights = gains["relevance"].to_numpy() / np.log2(gains["place"].to_numpy() + 2)
    return np.asarray(np.bincount(gains["row"], weights=weights, minlength=n), dtype=np.float64)


# Numbers


def _one_minus_mape(table: pl.DataFrame) -> pl.Series:
    given, answer = _number("given"), _number("answer")
    return table.select(pl.when(answer != 0).then(1 - (given - answer).abs() / answer.abs())).to_series()


def _number(column: str) -> pl.Expr:
    number = clean_answer(pl.col(column)).cast(pl.Float64, strict=False)
    return pl.when(number.is_finite()).then(number)


_TEXT = ("answer", "given")
_HUMANS = ("answers", "given")
_OPTIONS = ("answer", "choices", "given")
_RANKED = ("choices", "relevance", "ranking")
_NORMALIZED = "the same text as the answer, both in the official normal form"
_ACCEPTED = "the same text as one of the answers, both in the official normal form"
_LETTERED = "names the right option by its letter: A, a, A., A) or (A)"

SCORES: dict[str, Score] = {
    each.name: each
    for each in (
        Score("exact", _TEXT, "the same text as the answer", _exact),
        Score("exact-normalized", _TEXT, _NORMALIZED, _exact_normalized),
        Score("any", _HUMANS, _ACCEPTED, _any),
        Score("vqa", _HUMANS, "official soft accuracy", partial(_soft_accuracy, always=False)),
        Score("vqa-always", _HUMANS, "soft accuracy, always normalised", partial(_soft_accuracy, always=True)),
        Score("count3", _HUMANS, "min(count / 3, 1) of human answers with the same raw text", _count3),
        Score("choice", _OPTIONS, "names the right option by text, else by letter", _names(_text_or_letter())),
        Score("choice-text", _OPTIONS, "names the right option by its text", _names(_text())),
        Score("choice-letter", _OPTIONS, _LETTERED, _names(_letter())),
        Score("choice-index", _OPTIONS, "names the right option by its number, from 0", _names(_index())),
        Score("mrr", ("answer", "ranking"), "1 / rank of the answer, 0 if it is not in the ranking", _mrr),
        Score("ndcg", _RANKED, "discounted gain of the top k over that of the best ranking", _ndcg),
        Score("one-minus-mape", _TEXT, "1 - |given - answer| / |answer|, for numbers", _one_minus_mape),
    )
}
OPTION_SCORES = tuple(name for name, each in SCORES.items() if each.needs == _OPTIONS)
