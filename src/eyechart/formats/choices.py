"""Convert multiple choice to one form: the options as a list of texts, the answer as one of these texts.

Whether answers are texts, letters or indices is decided by all rows of a file together: a 2 among the options 1, 2 and
3 is a text in one file and an index in another. Where two readings fit all rows and disagree, the reader is asked.
"""

from collections.abc import Sequence
from itertools import takewhile
from string import ascii_uppercase
from typing import Literal, TypeAlias

import polars as pl

from eyechart.base.errors import SettingError
from eyechart.formats.columns import as_text
from eyechart.formats.options import FROM_ONE, LABELLED
from eyechart.formats.rows import CountedTable, RowCount, drop_rows, noted

AnswerKind: TypeAlias = Literal["auto", "text", "letter", "index", "index-from-1"]
RIVAL = 0.98  # a reading that fits this share of the rows that the best one fits is a rival of it
SHARE = 0.05  # of the rows that an index must fit, to be an index among answers of another kind
_LETTER = r"^\s*(?:\(([A-Za-z])\)|([A-Za-z])[).:]?)\s*$"
_LETTER_AND_TEXT = r"(?s)^\s*(?:\(([A-Za-z])\)|([A-Za-z])[).:])\s*(\S.*)$"
_INDEX = r"^\s*\(?(\d{1,3})(?:\.0|[).])?\s*$"


def gather_options(table: pl.DataFrame, origin: str, names: Sequence[str] = ascii_uppercase) -> pl.DataFrame:
    """Combine columns A, B, C, ... up to the first missing one into `choices`, unless that column exists."""
    present = list(takewhile(table.columns.__contains__, names))
    if "choices" in table.columns or len(present) < 2:
        return table
    options = [as_text(table[name], origin) for name in present]
    # A question with fewer options than others has nulls or empty cells after the last one.
    filled = [option.set(option.str.strip_chars() == "", None) for option in options]
    return table.with_columns(pl.concat_list(filled).alias("choices")).drop(present)


def name_answers(
    table: pl.DataFrame, answer_is: AnswerKind, *further: AnswerKind, decided: Sequence[AnswerKind] = ()
) -> CountedTable:
    """Replace letters (A is the first) and indices by the option's text; drop rows that match none.

    If several kinds are given, each row is read as the first kind that fits; `auto` means those that were decided, or
    decides by all rows.
    """
    readings = _read_as(table)
    kinds = (decided or decide_kinds(table, readings)) if answer_is == "auto" else (answer_is, *further)
    resolved = readings.select(pl.coalesce(kinds)).to_series()
    has_both = table["choices"].is_not_null() & table["answer"].is_not_null()
    named = table.with_columns(
        pl.when(has_both).then(resolved).otherwise("answer").alias("answer"),
        pl.col("choices").list.drop_nulls(),
    ).drop(LABELLED, FROM_ONE, strict=False)
    read_as = " or ".join((answer_is, *further))
    reason = f"row whose answer is not among its choices (read as {read_as})"
    kept, counts = drop_rows(named, {reason: pl.lit(has_both & resolved.is_null())})
    return CountedTable(kept, [*counts, *_note_readings(readings.select(kinds), resolved)])


def decide_kinds(
    table: pl.DataFrame, readings: pl.DataFrame | None = None, origin: str = "the file", *, named_index: bool = False
) -> tuple[AnswerKind, ...]:
    """Decide by all rows what the answers are: the best reading first, then those that fit rows it does not fit.

    `named_index` says that the column's own name calls the answer an index, which counts from 0 unless rows say no.
    """
    readings = _read_as(table) if readings is None else readings
    asked = table["choices"].is_not_null() & table["answer"].is_not_null()
    rows, fitting = table.filter(asked), readings.filter(asked)
    fits = {kind: len(fitting) - fitting[kind].null_count() for kind in _KINDS}
    names = sorted(_KINDS, key=lambda kind: -fits[kind])
    if named_index:
        most = fits[names[0]]
        names.sort(key=lambda kind: (fits[kind] < RIVAL * most, not kind.startswith("index")))
    best, *others = names
    for rival in () if named_index and best == "index" else others:
        differ = (fitting[best] != fitting[rival]).fill_null(value=False)
        if fits[rival] >= RIVAL * fits[best] and differ.any():
            raise _ask(rows.filter(differ), (best, rival), origin)
    unfit = fitting[best].is_null()
    useful = [kind for kind in others if _may_fill(kind, fitting.filter(unfit), len(fitting))]
    return (best, *(kind for kind in _KINDS if kind in useful))


def _may_fill(kind: AnswerKind, unfit: pl.DataFrame, rows: int) -> bool:
    """Return whether a reading may serve for the rows that the best one does not fit."""
    n = unfit.height - unfit[kind].null_count()
    if not kind.startswith("index"):
        return n > 0
    other = unfit["index" if kind == "index-from-1" else "index-from-1"]
    return n >= max(SHARE * rows, 1) and n > unfit.height - other.null_count()


def _ask(rows: pl.DataFrame, kinds: Sequence[AnswerKind], origin: str) -> SettingError:
    row = rows.row(0, named=True)
    example = f"{row['answer']!r} with the options {', '.join(map(repr, row['choices']))}"
    words = {"text": "the option's text", "letter": "its letter", "index": "its index from 0"}
    readings = " and ".join(words.get(kind, "its index from 1") for kind in kinds)
    found = f"answers that fit as {readings} and would mean different options ({example})"
    advice = f"say which with answer_is={kinds[0]} or answer_is={kinds[1]} (`--set answer_is=...`)"
    return SettingError(f"answers of {origin} that fit their options in one way", found, advice)


def _read_as(table: pl.DataFrame) -> pl.DataFrame:
    """Read each answer in each way: a column for each, with the option's text where it fits."""
    places = _find_texts(table)
    letter = pl.coalesce(pl.col("answer").str.extract(_LETTER, group) for group in (1, 2)).str.to_uppercase()
    groups = pl.col("answer").str.extract_groups(_LETTER_AND_TEXT).struct
    lettered = pl.coalesce(groups.field("1"), groups.field("2")).str.to_uppercase()
    of_letter = pl.coalesce(_place(letter), pl.when(_place(lettered) == pl.col("rest place")).then(_place(lettered)))
    index = pl.col("answer").str.extract(_INDEX).cast(pl.Int64)
    from_one = pl.col(FROM_ONE).fill_null(value=False) if FROM_ONE in table.columns else pl.lit(value=False)
    return table.with_columns(places).select(
        pl.when(pl.col("choices").list.contains(pl.col("answer")))
        .then("answer")
        .otherwise(_option(pl.col("text place")))
        .alias("text"),
        _option(of_letter).alias("letter"),
        _option(pl.when(~from_one).then(index)).alias("index"),
        _option(index - 1).alias("index-from-1"),
    )


def _find_texts(table: pl.DataFrame) -> list[pl.Series]:
    """Return the place of the option whose text is the answer, and of the one whose text follows the answer's letter.

    Case, outer spaces and a final full stop do not count; two options that differ in these alone are not told apart.
    """
    named = [name for name in ("choices", LABELLED) if name in table.columns]
    rest = pl.col("answer").str.extract(_LETTER_AND_TEXT, 3)
    keyed = table.select(*named, row=pl.int_range(pl.len()), whole=_plain(pl.col("answer")), rest=_plain(rest))
    pairs = []
    for name in named:
        flat = keyed.filter(pl.col(name).list.len() > 0).select("row", "whole", "rest", pl.col(name).alias("option"))
        placed = flat.with_columns(place=pl.int_ranges(pl.col("option").list.len())).explode("option", "place")
        pairs.append(placed.with_columns(_plain(pl.col("option")), written=pl.lit(name == LABELLED)))
    each = pl.concat(pairs)
    found = each.group_by("row").agg(
        _only(pl.col("whole") == pl.col("option")).alias("text place"),
        _only((pl.col("rest") == pl.col("option")) & ~pl.col("written")).alias("rest place"),
    )
    joined = keyed.select("row").join(found, on="row", how="left", maintain_order="left")
    return [joined[name] for name in ("text place", "rest place")]


def _only(same: pl.Expr) -> pl.Expr:
    places = pl.col("place").filter(same.fill_null(value=False))
    return pl.when(places.n_unique() == 1).then(places.first())


def _plain(text: pl.Expr) -> pl.Expr:
    return text.str.strip_chars().str.strip_chars_end(". ").str.to_lowercase()


def find_options(table: pl.DataFrame) -> pl.Series:
    """Return the option of `choices` that each `answer` names by its letter or its text, null if it names none.

    A letter is first of all a label, even if an option consists of it.
    """
    return _read_as(table).select(pl.coalesce("letter", "text")).to_series()


def _note_readings(readings: pl.DataFrame, meant: pl.Series) -> list[RowCount]:
    first = pl.coalesce(pl.when(pl.col(kind).is_not_null()).then(pl.lit(kind)) for kind in readings.columns)
    kinds = readings.select(first).to_series()
    notes = [
        noted(f"answer given as {kind.replace('-', ' ')}", int((kinds == kind).sum()))
        for kind in readings.columns
        if kind != "text"
    ]
    doubtful = readings.select(pl.any_horizontal((pl.all() != meant).fill_null(value=False))).to_series()
    return [*notes, noted("answer that could also be read as another option; see answer_is", int(doubtful.sum()))]


def drop_stray_choices(table: pl.DataFrame) -> CountedTable:
    """Remove the options of examples whose answer is not among them: no audit could judge the choice."""
    stray = pl.col("answer").is_not_null() & ~pl.col("choices").list.contains(pl.col("answer"))
    note = noted("choices left out: the answer is not among them", int(table.select(stray.sum()).item()))
    return CountedTable(table.with_columns(pl.when(~stray).then("choices").alias("choices")), [note])


def name_by_index(table: pl.DataFrame) -> CountedTable:
    """Replace answers given as indices, from 0, by the options' texts; drop indices out of range."""
    lost = pl.col("choices").is_null() & pl.col("answer").is_not_null()
    note = noted("answer given as an index, but no choices: left out", int(table.select(lost.sum()).item()))
    named = name_answers(table.with_columns(pl.when(~lost).then("answer").alias("answer")), "index")
    return CountedTable(named.table, [note, *(count for count in named.counts if count.status == "dropped")])


def note_repeated_options(table: pl.DataFrame) -> RowCount:
    """Count the rows that offer the same option twice."""
    options = pl.col("choices").list
    return noted("row with the same option twice", int(table.select((options.n_unique() < options.len()).sum()).item()))


def _option(index: pl.Expr) -> pl.Expr:
    # A negative index would count from the end.
    return pl.col("choices").list.get(pl.when(index >= 0).then(index), null_on_oob=True)


def _place(letter: pl.Expr) -> pl.Expr:
    places = {name: place for place, name in enumerate(ascii_uppercase)}
    return letter.replace_strict(places, default=None, return_dtype=pl.Int64)


_KINDS: tuple[AnswerKind, ...] = ("text", "letter", "index", "index-from-1")
