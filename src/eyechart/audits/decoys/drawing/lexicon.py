"""What the filters need to know of the answers, gathered."""

from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.audits.decoys.drawing.answers import (
    Answers,
    clean_renderings,
    clean_words,
    kinds,
    release_renderings,
    release_words,
    values,
)
from eyechart.audits.decoys.drawing.lists import Lists, starts_of
from eyechart.audits.decoys.drawing.pairs import Lexicon, Limits
from eyechart.audits.decoys.recipes import RELEASE, Recipe
from eyechart.encode.items import human_answers
from eyechart.neighbours.corpus import learn_vectors
from eyechart.neighbours.vectors import CORPUS, Vectors, make_vectors, mean_vectors
from eyechart.wordnet import Senses, Taxonomy

ALIKE = 0.9  # the cosine from which two answers are the same thing in other words
FEW = 100  # questions with two or more different human answers, below which nothing can be learned from them


class Known(NamedTuple):
    """The lexicon, how strict to be, and where the vectors came from."""

    lexicon: Lexicon
    limits: Limits
    notes: tuple[str, ...]


def know(answers: Answers, examples: pl.DataFrame, recipe: Recipe) -> Known:
    """Gather the lexicon of a recipe; the guards are no part of the authors' code."""
    release = recipe.compat == RELEASE
    words = release_words(answers) if release else clean_words(answers)
    one, two = release_renderings(words) if release else clean_renderings(words)
    guards = recipe.guards and not release
    vectors, note = _vectors(words, examples, recipe.similarity) if guards else (_none(len(words)), "no guards")
    looked_up = _look_up(words)
    taxonomy = Taxonomy.load()
    lexicon = Lexicon(one, two, *looked_up, taxonomy.ladder, kinds(answers.normals), values(answers.normals), vectors)
    notes = (note, *_released(words)) if release else (note,)
    return Known(lexicon, Limits(recipe.threshold, ALIKE, guards, not release), notes)


class LookedUp(NamedTuple):
    """The words of each answer that WordNet knows, and their senses."""

    words: Lists
    senses: Senses


def _look_up(words: pl.Series) -> LookedUp:
    rows = pl.DataFrame({"row": np.arange(len(words), dtype=np.int32), "word": words})
    long = rows.explode("word", empty_as_null=False, keep_nulls=False)
    distinct = long["word"].unique().sort()
    found = Taxonomy.load().senses(distinct)
    numbers = distinct.search_sorted(long["word"]).to_numpy().astype(np.int32)
    known = np.diff(found.starts)[numbers] > 0
    sizes = np.bincount(long["row"].to_numpy()[known], minlength=len(words))
    return LookedUp(Lists(starts_of(sizes), numbers[known]), found)


def _vectors(words: pl.Series, examples: pl.DataFrame, how: str) -> tuple[Vectors, str]:
    """Learn from what different people answer to one question; else take the vectors that questions have from a file.

    Vectors of the words of questions, and most from files, find "red" as near to "blue" as "lady" to "woman"; those
    learned from several answers to one question do not.
    """
    people = _said_together(examples)
    if len(people) >= FEW:
        return mean_vectors(
            words, learn_vectors(people)
        ), "answers are alike when people give them to the same question"
    if how == CORPUS:
        return _none(len(words)), "one answer to a question: no vectors guard against the same in other words"
    return make_vectors(words, how), f"answers are alike by the vectors of {how}"


def _said_together(examples: pl.DataFrame) -> pl.Series:
    """List the words of the different human answers of each question that has several."""
    texts = human_answers(examples).list.unique().sort()
    return texts.filter(texts.list.len() > 1).list.join(" ").str.to_lowercase().str.split(" ")


def _released(words: pl.Series) -> list[str]:
    """Warn of answers that the authors' code cuts short."""
    cut = int((words.list.last() != ".").sum())
    return [f"{cut} answers have no full stop at their end: the released filter drops their last word"] if cut else []


def _none(n: int) -> NDArray[np.float32]:
    return np.zeros((n, 0), np.float32)
