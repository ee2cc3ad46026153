"""The concepts of each example (Sec. 3.3): question type, most informative words and objects, and combinations.

The examples of one concept form groups: how balanced their answers are, and which are head or tail (Sec. 3.4).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import polars as pl

from eyechart.audits.splits.salience import as_listed, best_two, image_labels, most_informative
from eyechart.audits.splits.settings import OBJECTS, PARTS, WORDS, SplitsSettings, parts_of
from eyechart.base.errors import DataError, FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.data.protocols import Engine
from eyechart.engines import Local
from eyechart.language.questions import blocks, learn_prefixes, question_types, question_words
from eyechart.statistics.rows import Floats, Ints, begins, sums

NOTHING = "(none)"
JOINED = " + "
A_WORD = r"[\p{L}\p{N}]"  # a token without a letter or digit is a punctuation mark


def label_examples(
    data: Dataset, settings: SplitsSettings, counted: pl.Series, engine: Engine | None = None
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """Find the concept of each example for each shortcut (one column each), and notes for the reader.

    `counted` marks the examples counted by f of Eq. 6.
    """
    wanted = {concept: parts_of(concept) for concept in settings.concepts}
    needed = {part for parts in wanted.values() for part in parts}
    examples = data.examples
    kinds = question_kinds(examples, settings.types)
    parts: dict[str, pl.Series] = {"QT": kinds}
    choose = best_two if settings.telling == "own" else most_informative
    numbered = _numbered(examples, kinds, counted)
    if needed & set(WORDS):
        questions = numbered.with_columns(examples["question"])
        best = choose(questions, ListWords(settings), engine)
        parts |= _pairs(WORDS, best, examples.height, settings)
    if needed & set(OBJECTS):
        objects = _objects(data).join(numbered.select("row", *_counted_columns(settings)), on="row", validate="m:1")
        best = choose(objects.sort("row"), as_listed, engine)
        parts |= _pairs(OBJECTS, best, examples.height, settings)
    parts |= {part: _column(data, part) for part in needed - set(PARTS)}
    table = pl.DataFrame([parts[part].alias(part) for part in sorted(needed)])
    if settings.missing == "group":
        table = table.select(pl.all().fill_null(NOTHING))
    joined = [pl.concat_str(names, separator=JOINED).alias(concept) for concept, names in wanted.items()]
    return table.select(joined), tuple(_notes(examples, parts, needed, settings))


def question_kinds(examples: pl.DataFrame, how: str) -> pl.Series:
    """Return the question types of the data, or else the longest prefix from a learned or given list."""
    if how == "auto" and _has_types(examples):
        return examples["question_type"]
    questions = examples["question"]
    prefixes = learn_prefixes(questions) if how in ("auto", "learned") else _read_prefixes(Path(how))
    return question_types(questions, prefixes)


def _has_types(examples: pl.DataFrame) -> bool:
    return "question_type" in examples.columns and bool(examples["question_type"].is_not_null().any())


def _read_prefixes(file: Path) -> pl.Series:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        advice = "give auto, learned, or the path of such a file"
        raise FileFormatError(f"question types, a line each, in {file}", str(error), advice) from None
    return pl.Series([line.strip() for line in lines if line.strip()], dtype=pl.String)


def _numbered(examples: pl.DataFrame, kinds: pl.Series, counted: pl.Series) -> pl.DataFrame:
    """List the number of each example, its answer, the kind of its question and whether it is counted."""
    row = pl.int_range(examples.height, dtype=pl.UInt32, eager=True).alias("row")
    return pl.DataFrame([row, examples["answer"], kinds.alias("kind"), counted.alias("counted")])


def _counted_columns(settings: SplitsSettings) -> tuple[str, ...]:
    """Name only the columns needed to count candidates, since there are many candidates."""
    return ("answer", "counted") if settings.telling == "own" else ("answer", "counted", "kind")


@dataclass(frozen=True)
class ListWords:
    """List the words of questions as candidates."""

    settings: SplitsSettings

    def __call__(self, questions: pl.DataFrame) -> pl.DataFrame:
        """List each word of each question once, without the question type, with the columns that count it."""
        long = pl.concat(
            _words(questions[block], self.settings).with_columns(pl.col("row") + block.start)
            for block in blocks(questions.height)
        )
        columns = ("row", *_counted_columns(self.settings))
        return long.with_columns(questions[name].gather(long["row"]) for name in columns)


def _words(questions: pl.DataFrame, settings: SplitsSettings) -> pl.DataFrame:
    words = questions.select(question_words(pl.col("question")).alias("text"))["text"]
    skipped = _prefix_length(words, questions["kind"]).alias("skip")
    long = pl.select(pl.int_range(len(words), dtype=pl.UInt32).alias("row"), skipped, words)
    rest = long.select("row", pl.col("text").list.slice(pl.col("skip")))
    flat = rest.explode("text", empty_as_null=False, keep_nulls=False)
    words_only = flat if settings.tokenizer == "basic_english" else flat.filter(pl.col("text").str.contains(A_WORD))
    return words_only.unique()


def _prefix_length(words: pl.Series, kinds: pl.Series) -> pl.Series:
    """Count the words of the question type if the question begins with it, else 0."""
    prefix = kinds.to_frame("kind").select(question_words(pl.col("kind"))).to_series()
    joined = pl.DataFrame({"words": words.list.join(" ") + " ", "prefix": prefix.list.join(" ") + " "})
    begins = joined.select(pl.col("words").str.starts_with(pl.col("prefix"))).to_series()
    return prefix.list.len().zip_with(begins, pl.repeat(0, len(words), dtype=pl.UInt32, eager=True))


def _objects(data: Dataset) -> pl.DataFrame:
    """List the labels of the objects in the image of each example."""
    rows = data.examples.select(pl.int_range(pl.len(), dtype=pl.UInt32).alias("row"), "image")
    objects = data.images.scan("objects").join(rows.lazy().select("image"), on="image", how="semi")
    labels = image_labels(objects.collect())
    return rows.join(labels, on="image", how="inner").select("row", pl.col("label").alias("text"))


def _pairs(names: tuple[str, str], best: pl.DataFrame, n: int, settings: SplitsSettings) -> dict[str, pl.Series]:
    """Return the most informative candidate of each of n examples, and the pair of the best two."""
    every = pl.select(pl.int_range(n, dtype=pl.UInt32).alias("row"))
    first, second = (
        every.join(best, on="row", how="left", validate="1:1", maintain_order="left")[name]
        for name in ("first", "second")
    )
    if settings.missing == "group":
        second = second.fill_null(NOTHING)
    return {names[0]: first, names[1]: first + JOINED + second}


def _column(data: Dataset, name: str) -> pl.Series:
    if name not in data.examples.columns:
        found = f"{name!r}, while the data have {', '.join(data.examples.columns)}"
        raise DataError(f"concepts of {', '.join(PARTS)} and columns, joined by +", found, "name one of those")
    column = data.examples[name]
    if column.dtype.is_nested():
        raise DataError(f"a plain column {name!r} as a concept", str(column.dtype), "name a column of text or numbers")
    return column.cast(pl.String)


def _notes(
    examples: pl.DataFrame, parts: dict[str, pl.Series], needed: set[str], settings: SplitsSettings
) -> Iterator[str]:
    if "QT" in needed and settings.types == "auto" and not _has_types(examples):
        yield f"the data have no question types: {parts['QT'].n_unique()} were learned from how questions begin"
    for part, things in (("KW", "words beside the question type"), ("KO", "objects")):
        if part in parts and parts[part].is_null().all():
            yield f"no example has {things}"


KEY = ("part", "group")
BLOCK = 65_536  # examples of a batch
EVEN = 1 - 1e-9  # the entropy of equal counts, but for rounding


@dataclass(frozen=True)
class CountAnswers:
    """Count the examples of a batch (part, answer, and one column per concept) by part, group and answer."""

    concepts: tuple[str, ...]

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Count for each concept, named in a column, the examples that have a group of it."""
        return pl.concat(
            batch.select("part", pl.col(concept).alias("group"), "answer")
            .drop_nulls()
            .group_by(*KEY, "answer")
            .agg(pl.len().cast(pl.Int64).alias("n"))
            .select(pl.lit(concept).alias("concept"), pl.all())
            for concept in self.concepts
        )


def count_answers(examples: pl.DataFrame, concepts: tuple[str, ...], engine: Engine) -> dict[str, pl.DataFrame]:
    """Count each answer of each group of every concept, in batches that any engine can run, sorted by key."""
    single = isinstance(engine, Local) or not examples.height
    batches = [examples] if single else examples.iter_slices(BLOCK)
    counts = pl.concat(engine.map(CountAnswers(concepts), batches))
    if not single:
        counts = counts.group_by("concept", *KEY, "answer").agg(pl.col("n").sum())
    parts = counts.partition_by("concept", as_dict=True, include_key=False)
    return {concept: parts.get((concept,), counts.clear().drop("concept")).sort(*KEY, "answer") for concept in concepts}


@dataclass(frozen=True)
class GroupedAnswers:
    """The groups of one concept in every part, and their answers.

    groups: part, group, n, answers, entropy, threshold, imbalanced. answers: part, group, answer, n, cut, tail (null
    in a balanced group).
    """

    groups: pl.DataFrame
    answers: pl.DataFrame

    @classmethod
    def of(cls, answers: pl.DataFrame, threshold: float | None, alpha: float) -> Self:
        """Group counts of (part, group, answer, n), sorted, and mark imbalanced groups and rare answers.

        Without a threshold, use that of GQA-OOD: the mean minus the standard deviation over the groups of a part.
        """
        starts = np.flatnonzero(begins(answers, *KEY))
        counts = answers["n"].to_numpy().astype(np.float64)
        n, m = sums(counts, starts).astype(np.int64), np.diff(starts, append=len(counts))
        entropies = pl.Series("entropy", normalized_entropies(counts, starts))
        groups = answers[starts].select(KEY).with_columns(pl.Series("n", n), pl.Series("answers", m), entropies)
        groups = _mark_imbalanced(groups, threshold)
        each = np.repeat(np.arange(len(starts)), m)
        rare = counts * m[each] < alpha * n[each]  # strictly, in whole numbers on the left
        tail = pl.when(groups["imbalanced"].gather(each)).then(pl.Series(rare)).alias("tail")
        return cls(groups, answers.with_columns(pl.Series("cut", alpha * n[each] / m[each]), tail))

    def sides(self, examples: pl.DataFrame) -> pl.Series:
        """Mark each example as tail (true), head (false) or neither (null); rows without a group are neither."""
        tails = self.answers.select(*KEY, "answer", "tail")
        joined = examples.join(tails, on=[*KEY, "answer"], how="left", validate="m:1", maintain_order="left")
        return joined["tail"]

    def size(self, part: str, *, tail: bool) -> int:
        """Count the tail or head examples of a part."""
        return int(self.answers.filter((pl.col("part") == part) & (pl.col("tail") == tail))["n"].sum())


def normalized_entropies(counts: Floats, starts: Ints) -> Floats:
    """Compute -sum p log p / log M of each run of counts; 1 where there is a single answer."""
    m = np.diff(starts, append=len(counts))
    p = counts / np.repeat(sums(counts, starts), m)
    entropy = -sums(p * np.log(p), starts)  # Eq. 7
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(m > 1, entropy / np.log(m), 1.0)


def _mark_imbalanced(groups: pl.DataFrame, threshold: float | None) -> pl.DataFrame:
    if threshold is not None:
        return groups.with_columns(
            pl.lit(threshold).alias("threshold"), (pl.col("entropy") < threshold).alias("imbalanced")
        )
    # Groups come sorted, so that the mean does not depend on the order of the examples.
    edge = (pl.col("entropy").mean() - pl.col("entropy").std(ddof=0)).over("part").alias("threshold")
    own = groups.with_columns(edge)
    even = pl.col("entropy") >= EVEN  # nothing is rare in it, even where all groups are like that
    return own.with_columns(((pl.col("entropy") <= pl.col("threshold")) & ~even).alias("imbalanced"))


def imbalance(groups: pl.DataFrame) -> float | None:
    """Average the entropies of groups by their sizes: E of Eq. 8; low is imbalanced."""
    n = groups["n"].to_numpy()
    return float(np.sum(groups["entropy"].to_numpy() * n) / n.sum()) if n.sum() else None  # Eq. 8
