"""Score agreement with reference answers: with one, as text or as a number, or with those of several humans."""

from typing import NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.base.text import clean_answer, normalize_answer

THRESHOLDS = range(50, 100, 5)  # percent


class FlatLists(NamedTuple):
    """The elements of all lists of a column."""

    rows: NDArray[np.int64]  # of each element, ascending
    places: NDArray[np.int64]  # of each element inside its list, from 0
    values: pl.Series
    sizes: NDArray[np.int64]  # of each list, 0 where it is null

    @classmethod
    def flatten(cls, lists: pl.Series) -> Self:
        """Flatten lists; a null counts as an empty list."""
        sizes = lists.list.len().fill_null(0).cast(pl.Int64).to_numpy()
        rows = np.repeat(np.arange(len(sizes)), sizes)
        starts = np.cumsum(sizes) - sizes
        values = lists.filter(pl.Series(sizes > 0)).explode()
        return cls(rows, np.arange(len(rows)) - starts[rows], values, sizes)

    def count_where(self, holds: pl.Series) -> NDArray[np.int64]:
        """Count per row the elements for which `holds` is true; null counts as false."""
        return np.bincount(self.rows[holds.fill_null(value=False).to_numpy()], minlength=len(self.sizes))


def or_null(values: NDArray[np.float64], has_score: NDArray[np.bool_]) -> pl.Series:
    """Keep the values of rows that have a score, and set the others to null."""
    return pl.Series(np.where(has_score, values, np.nan)).fill_nan(None)


def exact(table: pl.DataFrame) -> pl.Series:
    """Score 1 for the same text."""
    same = (pl.col("given") == pl.col("answer")).fill_null(value=False)
    return table.select(pl.when(pl.col("answer").is_not_null()).then(same.cast(pl.Float64))).to_series()


def exact_normalized(table: pl.DataFrame) -> pl.Series:
    """Score 1 for the same normal form."""
    forms = forms_of(pl.concat([table["given"], table["answer"]]))["normal"]
    given, answer = forms.head(len(table)).alias("given"), forms.tail(len(table)).alias("answer")
    return exact(pl.DataFrame([given, answer]))


def forms_of(texts: pl.Series) -> pl.DataFrame:
    """Return the clean and the normal form of each text, normalising each distinct text once."""
    texts = texts.alias("text")
    distinct = texts.unique().to_frame().with_columns(clean=clean_answer(pl.col("text")))
    distinct = distinct.with_columns(normal=normalize_answer(pl.col("clean")))
    return texts.to_frame().join(distinct, on="text", how="left", validate="m:1", maintain_order="left")


def one_minus_mape(table: pl.DataFrame) -> pl.Series:
    """Score 1 - |given - answer| / |answer|; null where either is not a number, or the answer is 0."""
    given, answer = _number("given"), _number("answer")
    return table.select(pl.when(answer != 0).then(1 - (given - answer).abs() / answer.abs())).to_series()


def mean_relative_accuracy(table: pl.DataFrame) -> pl.Series:
    """Score the share of the thresholds .5, .55, ..., .95 with |given - answer| / |answer| < 1 - threshold.

    This is the metric of VSI-Bench. A given answer that is no number scores 0; a reference that is none, or 0, has no
    score.
    """
    given, answer = _number("given"), _number("answer")
    error = (given - answer).abs() / answer.abs()
    passed = pl.sum_horizontal((error < 1 - threshold / 100).fill_null(value=False) for threshold in THRESHOLDS)
    return table.select(pl.when(answer != 0).then(passed / len(THRESHOLDS))).to_series()


def _number(column: str) -> pl.Expr:
    number = clean_answer(pl.col(column)).cast(pl.Float64, strict=False)
    return pl.when(number.is_finite()).then(number)


def _human_forms(table: pl.DataFrame) -> tuple[FlatLists, pl.DataFrame, pl.DataFrame]:
    """Return the human answers laid out flat, and the forms of the given and of the human answers."""
    flat = FlatLists.flatten(table["answers"].list.drop_nulls())
    forms = forms_of(pl.concat([table["given"], flat.values.alias("given")]))
    return flat, forms.head(len(table)), forms.tail(len(flat.values))


def any_of(table: pl.DataFrame) -> pl.Series:
    """Score 1 where any human gave the same answer, by normal forms."""
    flat, given, human = _human_forms(table)
    matches = flat.count_where(human["normal"] == given["normal"].gather(flat.rows))
    return or_null(np.minimum(1.0, matches), flat.sizes > 0)


def soft_labels(table: pl.DataFrame) -> pl.Series:
    """Score the largest weight among the answers with the same normal form, 0 if there are none.

    Without a weight for every answer there is no score.
    """
    paired = pl.col("answers").list.len() == pl.col("weights").list.len()
    table = table.with_columns(pl.when(paired).then(name).alias(name) for name in ("answers", "weights"))
    flat, given, human = _human_forms(table)
    weights = FlatLists.flatten(table["weights"])
    same = (human["normal"] == given["normal"].gather(flat.rows)).fill_null(value=False).to_numpy()
    best = np.zeros(len(table))
    np.maximum.at(best, flat.rows[same], weights.values.to_numpy()[same])
    return or_null(best, weights.sizes > 0)


def soft_accuracy(table: pl.DataFrame, *, always: bool) -> pl.Series:
    """Score like the official evaluation since 2021-03: on normal forms only where the human answers differ.

    A single human answer leaves no other to agree with, so the official mean over leave-one-out subsets would be 0
    whatever the given answer; such a row scores 1 for the same text and 0 for another. `always` compares normal forms
    even where all humans agree, as most evaluation harnesses do.
    """
    flat, given, human = _human_forms(table)
    normal = flat.count_where(human["normal"] == given["normal"].gather(flat.rows))
    if always:
        return _leave_one_out(normal, flat.sizes)
    clean = flat.count_where(human["clean"] == given["clean"].gather(flat.rows))
    first = human["clean"].gather(np.arange(len(flat.rows)) - flat.places)
    differ = flat.count_where(human["clean"] != first) > 0
    return _leave_one_out(np.where(differ, normal, clean), flat.sizes)


def _leave_one_out(matches: NDArray[np.int64], humans: NDArray[np.int64]) -> pl.Series:
    """Average min(1, m / 3) over the subsets that leave one human out: m - 1 if that one matched, else m."""
    left_in = np.minimum(1, matches / 3) * (humans - matches)
    left_out = np.minimum(1, (matches - 1) / 3) * matches
    mean = (left_in + left_out) / np.maximum(humans, 1)
    return or_null(np.where(humans == 1, matches, mean), humans > 0)


def count3(table: pl.DataFrame) -> pl.Series:
    """Score min(count / 3, 1), where count is the number of humans with the same raw text."""
    flat = FlatLists.flatten(table["answers"].list.drop_nulls())
    matches = flat.count_where(flat.values == table["given"].gather(flat.rows))
    return or_null(np.minimum(1, matches / 3), flat.sizes > 0)
