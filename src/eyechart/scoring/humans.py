"""Agreement with the answers of several humans."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.scoring.flat import Flat, count, flatten, or_null
from eyechart.scoring.texts import forms_of


def _human_forms(table: pl.DataFrame) -> tuple[Flat, pl.DataFrame, pl.DataFrame]:
    """Give the human answers flat, and the forms of what was given and of each human answer."""
    flat = flatten(table["answers"].list.drop_nulls())
    forms = forms_of(pl.concat([table["given"], flat.values.alias("given")]))
    return flat, forms.head(len(table)), forms.tail(len(flat.values))


def any_of(table: pl.DataFrame) -> pl.Series:
    """Score 1 where any human gave the same answer, by normal forms."""
    flat, given, human = _human_forms(table)
    matches = count(flat, human["normal"] == given["normal"].gather(flat.rows))
    return or_null(np.minimum(1.0, matches), flat.sizes > 0)


def soft_accuracy(table: pl.DataFrame, *, always: bool) -> pl.Series:
    """Score as the official evaluation does since 2021-03: on normal forms only where the human answers differ.

    A lone human answer leaves no other to agree with, so the official mean over leave-one-out subsets would be 0
    whatever was given; such a row scores 1 for the same text and 0 for another. `always` compares normal forms
    even where all humans agree, as most evaluation harnesses do.
    """
    flat, given, human = _human_forms(table)
    normal = count(flat, human["normal"] == given["normal"].gather(flat.rows))
    if always:
        return _leave_one_out(normal, flat.sizes)
    clean = count(flat, human["clean"] == given["clean"].gather(flat.rows))
    first = human["clean"].gather(np.arange(len(flat.rows)) - flat.places)
    differ = count(flat, human["clean"] != first) > 0
    return _leave_one_out(np.where(differ, normal, clean), flat.sizes)


def _leave_one_out(matches: NDArray[np.int64], humans: NDArray[np.int64]) -> pl.Series:
    """Average min(1, m / 3) over the subsets that leave one human out: m - 1 where that one matched, else m."""
    left_in = np.minimum(1, matches / 3) * (humans - matches)
    left_out = np.minimum(1, (matches - 1) / 3) * matches
    mean = (left_in + left_out) / np.maximum(humans, 1)
    return or_null(np.where(humans == 1, matches, mean), humans > 0)


def count3(table: pl.DataFrame) -> pl.Series:
    """Score min(count / 3, 1), the humans with the same raw text counted."""
    flat = flatten(table["answers"].list.drop_nulls())
    matches = count(flat, flat.values == table["given"].gather(flat.rows))
    return or_null(np.minimum(1, matches / 3), flat.sizes > 0)
