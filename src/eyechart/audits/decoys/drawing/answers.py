"""Answers as numbers: one for each normal form, with what the filters need to know of it.

Two answers are one when the official VQA normal form makes them so ("A train." and "train"); a decoy is shown in the
spelling most references have. The words of the `release` recipe are those of the authors' code (lower case, 0 to 10
spelt out), from the spelling shown.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.audits.decoys.drawing.lists import Lists, flatten, lay_out
from eyechart.encode.items import human_answers
from eyechart.encode.words import question_words
from eyechart.text import NUMBER_WORDS, clean_answer, normalize_answer

OTHER, YES, NO, NUMBER, VAGUE = range(5)
YES_WORDS = ("yes", "yeah", "yep", "yup")
NO_WORDS = ("no", "nope", "nah")
VAGUE_WORDS = ("few", "several", "many", "some", "lots", "lot", "multiple", "couple", "dozens", "numerous")
_NUMERAL = r"^\d+(\.\d+)?$"
_DIGITS = {digit: word for word, digit in NUMBER_WORDS.items() if word != "none"}


class Answers(NamedTuple):
    """The distinct answers, sorted by normal form, and who gave them."""

    normals: pl.Series
    texts: pl.Series  # as shown; null for what only people said and no reference is
    counts: NDArray[np.int64]  # as a reference
    reference: NDArray[np.int32]  # by example; -1 where there is none
    given: pl.DataFrame  # row, number: all that people or references say of each example


def number_answers(examples: pl.DataFrame) -> Answers:
    """Give the answers of examples their numbers."""
    rows = pl.int_range(pl.len(), dtype=pl.Int32).alias("row")
    references = examples.select(rows, pl.col("answer").alias("text"), pl.lit(value=True).alias("reference"))
    humans = pl.DataFrame({"row": references["row"], "text": human_answers(examples)})
    people = humans.explode("text", empty_as_null=False, keep_nulls=False).with_columns(reference=pl.lit(value=False))
    long = pl.concat([references, people]).drop_nulls("text").group_by("row", "text").agg(pl.col("reference").any())
    spelt = _normal_forms(long["text"])
    normals = spelt["normal"].unique().sort()
    spelt = spelt.with_columns(normals.search_sorted(spelt["normal"]).cast(pl.Int32).alias("number"))
    long = long.join(spelt, on="text", how="inner", validate="m:1")
    chosen = long.filter("reference")
    reference = np.full(examples.height, -1, np.int32)
    reference[chosen["row"].to_numpy()] = chosen["number"].to_numpy()
    counts = np.bincount(chosen["number"].to_numpy(), minlength=len(normals))
    return Answers(normals, _shown(chosen, len(normals)), counts, reference, long.select("row", "number").unique())


def kinds(normals: pl.Series) -> NDArray[np.uint8]:
    """Tell yes, no, numbers and vague numbers from all other answers."""
    kind = (
        pl.when(pl.col("text").is_in(YES_WORDS)).then(YES)
        .when(pl.col("text").is_in(NO_WORDS)).then(NO)
        .when(pl.col("text").str.contains(_NUMERAL)).then(NUMBER)
        .when(pl.col("text").str.split(" ").list.set_intersection(pl.lit(list(VAGUE_WORDS))).list.len() > 0).then(VAGUE)
        .otherwise(OTHER)
    )  # fmt: skip
    return np.array(normals.to_frame("text").select(kind.cast(pl.UInt8)).to_series(), np.uint8)


def values(normals: pl.Series) -> NDArray[np.float64]:
    """Read numbers; what is none has not a number."""
    numerals = normals.to_frame("text").select(pl.when(pl.col("text").str.contains(_NUMERAL)).then("text"))
    return np.array(numerals.to_series().cast(pl.Float64).fill_null(float("nan")), np.float64)


def clean_words(answers: Answers) -> pl.Series:
    """Take the words of the normal forms."""
    return answers.normals.str.split(" ")


def release_words(answers: Answers) -> pl.Series:
    """Take the words of the texts as the authors do."""
    texts = answers.texts.fill_null("").to_frame("text")
    spelt = pl.element().replace(_DIGITS)
    return texts.select(question_words(pl.col("text")).list.eval(spelt)).to_series()


def clean_renderings(words: pl.Series) -> tuple[Lists, Lists]:
    """Render answers as lists of words, and as one word each: "pony tail" and "ponytail" are the same as the latter."""
    joined = words.list.join("").to_frame("text").select(pl.concat_list("text")).to_series()
    return lay_out(words), lay_out(joined)


def release_renderings(words: pl.Series) -> tuple[Lists, Lists]:
    """Render answers as lists of characters: all words but the last, joined by dashes and by nothing."""
    kept = pl.max_horizontal(pl.col("words").list.len().cast(pl.Int64) - 1, 0)
    shorter = words.to_frame("words").select(pl.col("words").list.head(kept)).to_series()
    return flatten(shorter.list.join("-")), flatten(shorter.list.join(""))


def _normal_forms(texts: pl.Series) -> pl.DataFrame:
    """Give each distinct text its normal form; one of which nothing would remain keeps its own letters."""
    cleaned = clean_answer(pl.col("text"))
    normal, own = normalize_answer(cleaned), cleaned.str.to_lowercase()
    form = pl.when(normal == "").then(own).otherwise(normal).alias("normal")
    return texts.unique().to_frame("text").with_columns(form).filter(pl.col("normal") != "")


def _shown(chosen: pl.DataFrame, n: int) -> pl.Series:
    """Choose the most frequent spelling of each normal form, or the first in the alphabet."""
    counted = chosen.group_by("number", "text").len().sort("number", "len", "text", descending=[False, True, False])
    first = counted.unique("number", keep="first", maintain_order=True)
    every = pl.DataFrame({"number": np.arange(n, dtype=np.int32)})
    return every.join(first, on="number", how="left", validate="1:1", maintain_order="left")["text"]
