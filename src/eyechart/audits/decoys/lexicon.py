"""Answers as numbers, one for each normal form, and what the filters need to know about them.

Two answers are one if the official VQA normal form makes them equal ("A train." and "train"); a decoy is shown in the
most frequent spelling among references. With `published="qavg"` words are those of the authors' code (lower case, 0 to
10 spelt out), from the spelling shown, and answers are compared letter by letter.
"""

from typing import NamedTuple, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.audits.decoys.settings import QAVG, DecoysSettings
from eyechart.audits.decoys.texts import Int32s, Int64s, Ragged, number_bytes, number_words, starts_of
from eyechart.base.text import NUMBER_WORDS, clean_answer, normalize_answer
from eyechart.language.answers import human_answers
from eyechart.language.questions import question_words
from eyechart.language.word_vectors import CORPUS, Vectors, learn_vectors, make_vectors, mean_vectors
from eyechart.language.wordnet import Hypernyms, Senses, Taxonomy

OTHER, YES, NO, NUMBER, VAGUE = range(5)
YES_WORDS = ("yes", "yeah", "yep", "yup")
NO_WORDS = ("no", "nope", "nah")
VAGUE_WORDS = ("few", "several", "many", "some", "lots", "lot", "multiple", "couple", "dozens", "numerous")
ALIKE_COSINE = 0.9  # the cosine from which two answers are the same thing in other words
FEW = 100  # questions with two or more different human answers, below which nothing can be learned from them
_NUMERAL = r"^\d+(\.\d+)?$"
_DIGITS = {digit: word for word, digit in NUMBER_WORDS.items() if word != "none"}


class NumberedAnswers(NamedTuple):
    """The distinct answers, sorted by normal form, and the examples they belong to."""

    normals: pl.Series
    texts: pl.Series  # as shown; null for what only people said and no reference is
    counts: Int64s  # as a reference
    reference: Int32s  # by example; -1 where there is none
    given: pl.DataFrame  # row, number: all that people or references say of each example

    @classmethod
    def of(cls, examples: pl.DataFrame) -> Self:
        """Find the distinct answers of examples."""
        rows = pl.int_range(pl.len(), dtype=pl.Int32).alias("row")
        references = examples.select(rows, pl.col("answer").alias("text"), pl.lit(value=True).alias("reference"))
        lists = pl.DataFrame({"row": references["row"], "text": human_answers(examples)})
        human = lists.explode("text", empty_as_null=False, keep_nulls=False).with_columns(reference=pl.lit(value=False))
        long = pl.concat([references, human]).drop_nulls("text").group_by("row", "text").agg(pl.col("reference").any())
        spelt = _normal_forms(long["text"])
        normals = spelt["normal"].unique().sort()
        spelt = spelt.with_columns(normals.search_sorted(spelt["normal"]).cast(pl.Int32).alias("number"))
        long = long.join(spelt, on="text", how="inner", validate="m:1")
        chosen = long.filter("reference")
        reference = np.full(examples.height, -1, np.int32)
        reference[chosen["row"].to_numpy()] = chosen["number"].to_numpy()
        counts = np.bincount(chosen["number"].to_numpy(), minlength=len(normals))
        return cls(normals, _spelling(chosen, len(normals)), counts, reference, long.select("row", "number").unique())

    def kinds(self) -> NDArray[np.uint8]:
        """Classify answers as yes, no, numbers, vague numbers or others."""
        kind = (
            pl.when(pl.col("text").is_in(YES_WORDS)).then(YES)
            .when(pl.col("text").is_in(NO_WORDS)).then(NO)
            .when(pl.col("text").str.contains(_NUMERAL)).then(NUMBER)
            .when(pl.col("text").str.split(" ").list.set_intersection(pl.lit(list(VAGUE_WORDS))).list.len() > 0)
            .then(VAGUE)
            .otherwise(OTHER)
        )  # fmt: skip
        return np.array(self.normals.to_frame("text").select(kind.cast(pl.UInt8)).to_series(), np.uint8)

    def values(self) -> NDArray[np.float64]:
        """Return the values of answers that are numbers, and NaN for others."""
        numerals = self.normals.to_frame("text").select(pl.when(pl.col("text").str.contains(_NUMERAL)).then("text"))
        return np.array(numerals.to_series().cast(pl.Float64).fill_null(float("nan")), np.float64)

    def words(self, *, published: bool) -> pl.Series:
        """Return the words of each normal form, or those of the authors' code."""
        if not published:
            return self.normals.str.split(" ")
        texts = self.texts.fill_null("").to_frame("text")
        spelt = pl.element().replace(_DIGITS)
        return texts.select(question_words(pl.col("text")).list.eval(spelt)).to_series()


class Lexicon(NamedTuple):
    """What the filters know about each answer, and how strict they are."""

    one: Ragged  # the first rendering
    two: Ragged  # the second
    words: Ragged  # those that WordNet knows, as places in `senses`
    senses: Senses
    ladder: Hypernyms
    kinds: NDArray[np.uint8]
    values: NDArray[np.float64]
    vectors: NDArray[np.float32]  # of no columns where there are none
    threshold: float  # of WordNet
    alike: float  # of vectors
    guards: bool
    everyone: bool  # compare with all accepted answers, not with the target alone


def make_lexicon(
    answers: NumberedAnswers, examples: pl.DataFrame, settings: DecoysSettings
) -> tuple[Lexicon, tuple[str, ...]]:
    """Gather what the filters need, with notes for the reader; the authors' code has no guards."""
    published = settings.published == QAVG
    words = answers.words(published=published)
    one, two = _published_renderings(words) if published else _clean_renderings(words)
    guards = settings.guards and not published
    vectors, note = _vectors(words, examples, settings.similarity) if guards else (_no_vectors(words), "no guards")
    known_words, senses = _senses(words)
    ladder = Taxonomy.load().hypernyms
    answer_facts = (known_words, senses, ladder, answers.kinds(), answers.values(), vectors)
    lexicon = Lexicon(one, two, *answer_facts, settings.threshold, ALIKE_COSINE, guards, not published)
    return lexicon, (note, *_warn_of_cut_answers(words)) if published else (note,)


def _clean_renderings(words: pl.Series) -> tuple[Ragged, Ragged]:
    """Render answers as lists of words, and as one word each: "pony tail" and "ponytail" are the same as the latter."""
    joined = words.list.join("").to_frame("text").select(pl.concat_list("text")).to_series()
    return number_words(words), number_words(joined)


def _published_renderings(words: pl.Series) -> tuple[Ragged, Ragged]:
    """Render answers as lists of characters: all words but the last, joined by dashes and by nothing."""
    kept = pl.max_horizontal(pl.col("words").list.len().cast(pl.Int64) - 1, 0)
    shorter = words.to_frame("words").select(pl.col("words").list.head(kept)).to_series()
    return number_bytes(shorter.list.join("-")), number_bytes(shorter.list.join(""))


def _senses(words: pl.Series) -> tuple[Ragged, Senses]:
    """Look up the words of each answer that WordNet knows, and their senses."""
    rows = pl.DataFrame({"row": np.arange(len(words), dtype=np.int32), "word": words})
    long = rows.explode("word", empty_as_null=False, keep_nulls=False)
    distinct = long["word"].unique().sort()
    senses = Taxonomy.load().senses(distinct)
    numbers = distinct.search_sorted(long["word"]).to_numpy().astype(np.int32)
    known = np.diff(senses.starts)[numbers] > 0
    sizes = np.bincount(long["row"].to_numpy()[known], minlength=len(words))
    return Ragged(starts_of(sizes), numbers[known]), senses


def _vectors(words: pl.Series, examples: pl.DataFrame, similarity: str) -> tuple[Vectors, str]:
    """Learn from different people's answers to one question; else take the vectors used for questions from a file.

    Vectors learned from questions, and most from files, place "red" as near to "blue" as "lady" to "woman"; those
    learned from several answers to one question do not.
    """
    together = _given_together(examples)
    if len(together) >= FEW:
        note = "answers count as alike when people give them to the same question"
        return mean_vectors(words, learn_vectors(together)), note
    if similarity == CORPUS:
        return _no_vectors(words), "one answer per question: no vectors to guard against paraphrases"
    return make_vectors(words, similarity), f"answers count as alike by the vectors of {similarity}"


def _given_together(examples: pl.DataFrame) -> pl.Series:
    """List the words of the distinct human answers to each question that has several."""
    texts = human_answers(examples).list.unique().sort()
    return texts.filter(texts.list.len() > 1).list.join(" ").str.to_lowercase().str.split(" ")


def _no_vectors(words: pl.Series) -> NDArray[np.float32]:
    return np.zeros((len(words), 0), np.float32)


def _warn_of_cut_answers(words: pl.Series) -> list[str]:
    """Warn of answers that the authors' code cuts short."""
    cut = int((words.list.last() != ".").sum())
    return [f"{cut} answers do not end in a full stop: the released filter drops their last word"] if cut else []


def _normal_forms(texts: pl.Series) -> pl.DataFrame:
    """Return the normal form of each distinct text; one whose normal form is empty keeps its own letters."""
    cleaned = clean_answer(pl.col("text"))
    normal, own = normalize_answer(cleaned), cleaned.str.to_lowercase()
    form = pl.when(normal == "").then(own).otherwise(normal).alias("normal")
    return texts.unique().to_frame("text").with_columns(form).filter(pl.col("normal") != "")


def _spelling(chosen: pl.DataFrame, n: int) -> pl.Series:
    """Choose the most frequent spelling of each normal form; ties go to the first in the alphabet."""
    counted = chosen.group_by("number", "text").len().sort("number", "len", "text", descending=[False, True, False])
    first = counted.unique("number", keep="first", maintain_order=True)
    every = pl.DataFrame({"number": np.arange(n, dtype=np.int32)})
    return every.join(first, on="number", how="left", validate="1:1", maintain_order="left")["text"]
