"""The concepts of each example (Sec. 3.3): question type, most telling words and objects, and their combinations."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from eyechart.audits.splits.names import OBJECTS, PARTS, WORDS, parts_of
from eyechart.dataset import Dataset
from eyechart.encode.informative import most_informative
from eyechart.encode.labels import image_labels
from eyechart.encode.question_types import learn_prefixes, question_types
from eyechart.encode.salient_parted import as_listed, best_two
from eyechart.encode.words import blocks, question_words
from eyechart.errors import DataError, FileFormatError
from eyechart.protocols import Engine

NOTHING = "(none)"
JOINED = " + "
A_WORD = r"[\p{L}\p{N}]"  # a token without a letter or digit is a punctuation mark


class Choices(NamedTuple):
    """The settings that decide which concept an example has; the fields of the audit of the same names."""

    types: str
    tokenizer: str
    prefix: str
    telling: str
    ties: str
    order: str
    missing: str

    @property
    def counted(self) -> tuple[str, ...]:
        """Name what is counted beside the candidates; there are many of them, so no more than is needed."""
        return ("answer", "counted") if self.telling == "own" else ("answer", "counted", "kind")


class Labelled(NamedTuple):
    """A text column for each concept, in the order of the examples, and what the reader should know."""

    table: pl.DataFrame
    notes: tuple[str, ...]


def label_examples(
    data: Dataset, concepts: Iterable[str], choices: Choices, counted: pl.Series, engine: Engine | None = None
) -> Labelled:
    """Give each example its concept of each shortcut; `counted` marks the examples that f of Eq. 6 counts."""
    wanted = {concept: parts_of(concept) for concept in concepts}
    needed = {part for parts in wanted.values() for part in parts}
    examples = data.examples
    kinds = question_kinds(examples, choices.types)
    found: dict[str, pl.Series] = {"QT": kinds}
    choose = best_two if choices.telling == "own" else most_informative
    numbered = _numbered(examples, kinds, counted)
    if needed & set(WORDS):
        asked = numbered.with_columns(examples["question"])
        found |= _pairs(WORDS, choose(asked, ListWords(choices), choices.ties, engine), examples.height, choices)
    if needed & set(OBJECTS):
        seen = _objects(data).join(numbered.select("row", *choices.counted), on="row", validate="m:1").sort("row")
        found |= _pairs(OBJECTS, choose(seen, as_listed, choices.ties, engine), examples.height, choices)
    found |= {part: _column(data, part) for part in needed - set(PARTS)}
    table = pl.DataFrame([found[part].alias(part) for part in sorted(needed)])
    if choices.missing == "group":
        table = table.select(pl.all().fill_null(NOTHING))
    joined = [pl.concat_str(parts, separator=JOINED).alias(concept) for concept, parts in wanted.items()]
    return Labelled(table.select(joined), tuple(_notes(examples, found, needed, choices)))


def question_kinds(examples: pl.DataFrame, how: str) -> pl.Series:
    """Take the question types that the data have, else the longest prefix of a learned or given list."""
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
    """Give the examples numbers, beside their answers, the kinds of their questions and whether they are counted."""
    row = pl.int_range(examples.height, dtype=pl.UInt32, eager=True).alias("row")
    return pl.DataFrame([row, examples["answer"], kinds.alias("kind"), counted.alias("counted")])


@dataclass(frozen=True)
class ListWords:
    """List the words of questions as candidates."""

    choices: Choices

    def __call__(self, asked: pl.DataFrame) -> pl.DataFrame:
        """Give every word the row, the answer and the mark of its question."""
        long = _words(asked, asked["kind"], self.choices)
        return long.with_columns(asked[name].gather(long["row"]) for name in ("row", *self.choices.counted))


def _words(examples: pl.DataFrame, kinds: pl.Series, choices: Choices) -> pl.DataFrame:
    """List the words of each question, each once, without the question type that it begins with."""
    parts = (
        _words_of(examples[part], kinds[part], choices).with_columns(pl.col("row") + part.start)
        for part in blocks(examples.height)
    )
    return pl.concat(parts)


def _words_of(examples: pl.DataFrame, kinds: pl.Series, choices: Choices) -> pl.DataFrame:
    words = examples.select(question_words(pl.col("question")).alias("text"))["text"]
    skipped = pl.lit(0) if choices.prefix == "keep" else _prefix_length(words, kinds)
    long = pl.select(pl.int_range(len(words), dtype=pl.UInt32).alias("row"), skipped.alias("skip"), words)
    rest = long.select("row", pl.col("text").list.slice(pl.col("skip")))
    flat = rest.explode("text", empty_as_null=False, keep_nulls=False)
    kept = flat if choices.tokenizer == "basic_english" else flat.filter(pl.col("text").str.contains(A_WORD))
    return kept.unique()


def _prefix_length(words: pl.Series, kinds: pl.Series) -> pl.Series:
    """Count the words of the question type where the question begins with it, else 0."""
    prefix = kinds.to_frame("kind").select(question_words(pl.col("kind"))).to_series()
    joined = pl.DataFrame({"words": words.list.join(" ") + " ", "prefix": prefix.list.join(" ") + " "})
    begins = joined.select(pl.col("words").str.starts_with(pl.col("prefix"))).to_series()
    return prefix.list.len().zip_with(begins, pl.repeat(0, len(words), dtype=pl.UInt32, eager=True))


def _objects(data: Dataset) -> pl.DataFrame:
    rows = data.examples.select(pl.int_range(pl.len(), dtype=pl.UInt32).alias("row"), "image")
    seen = data.images.scan("objects").join(rows.lazy().select("image"), on="image", how="semi")
    labels = image_labels(seen.collect())
    return rows.join(labels, on="image", how="inner").select("row", pl.col("label").alias("text"))


def _pairs(names: tuple[str, str], best: pl.DataFrame, n: int, choices: Choices) -> dict[str, pl.Series]:
    """Name the most telling candidate of each of n examples, and the pair of the best two."""
    every = pl.select(pl.int_range(n, dtype=pl.UInt32).alias("row"))
    first, second = (
        every.join(best, on="row", how="left", validate="1:1", maintain_order="left")[name]
        for name in ("first", "second")
    )
    pair = [first, second if choices.missing == "skip" else second.zip_with(second.is_not_null(), _nothing(first))]
    if choices.order == "text":
        pair = pl.DataFrame({"a": pair[0], "b": pair[1]}).select(pl.min_horizontal("a", "b"), b=_larger()).get_columns()
    return {names[0]: first, names[1]: pair[0] + JOINED + pair[1]}


def _larger() -> pl.Expr:
    # The larger of one text and nothing would be that text.
    return pl.when(pl.col("b").is_not_null()).then(pl.max_horizontal("a", "b"))


def _nothing(like: pl.Series) -> pl.Series:
    return pl.repeat(NOTHING, len(like), dtype=pl.String, eager=True)


def _column(data: Dataset, name: str) -> pl.Series:
    if name not in data.examples.columns:
        found = f"{name!r}, while the data have {', '.join(data.examples.columns)}"
        raise DataError(f"concepts of {', '.join(PARTS)} and columns, joined by +", found, "name one of those")
    column = data.examples[name]
    if column.dtype.is_nested():
        raise DataError(f"a plain column {name!r} as a concept", str(column.dtype), "name a column of text or numbers")
    return column.cast(pl.String)


def _notes(examples: pl.DataFrame, found: dict[str, pl.Series], needed: set[str], choices: Choices) -> Iterable[str]:
    if "QT" in needed and choices.types == "auto" and not _has_types(examples):
        yield f"the data have no question types: {found['QT'].n_unique()} were learned from how questions begin"
    for part, things in (("KW", "words beside the question type"), ("KO", "objects")):
        if part in found and found[part].is_null().all():
            yield f"no example has {things}"
