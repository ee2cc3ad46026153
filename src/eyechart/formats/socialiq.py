"""Read Social-IQ 2.0: `qa_train.json` and the like, JSON lines with four answers to a question about a video clip.

Two questions may share a qid (26 pairs in the published files): the second becomes `<qid>#2`, so that none is lost.
In the binary form of the Perceptual Score paper every candidate is a separate row, to be judged true or false; there
all counts are of candidates, so that four times the questions = rows read + rows dropped.
"""

from pathlib import Path
from typing import Literal, TypeAlias

import polars as pl

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.formats.choices import gather_options, name_by_index, note_repeated_options
from eyechart.formats.columns import Field, tabulate_fields
from eyechart.formats.description import described
from eyechart.formats.names import split_name
from eyechart.formats.records import read_entries
from eyechart.formats.rows import CountedTable, count_table, drop_damaged, drop_repeated, drop_rows, noted, read_rows
from eyechart.formats.sources import SourceFile, find_sources, stem

RowForm: TypeAlias = Literal["choice", "binary"]

_OPTIONS = ("a0", "a1", "a2", "a3")
_FIELDS = {
    "id": Field(("qid",), "key"),
    "video": Field(("vid_name",), "key"),
    "question": Field(("q",)),
    "answer": Field(("answer_idx",), "key"),
    "idx_types": Field(("idx_types",), "texts"),
    "ts": Field(("ts",)),
    **{name: Field((name,)) for name in _OPTIONS},
}
_SHARED = ("image", "video", "question", "answer")


@described(
    needs="JSON lines of questions with answers a0 to a3, also as a folder with several splits",
    sample='{"qid": "x_q3_0", "q": "How does he feel?", "vid_name": "x", "a0": "Calm", "a1": "Sad", "answer_idx": 1}\n'
    '{"qid": "x_q4_0", "q": "Why does she smile?", "vid_name": "x", "idx_types": ["corr", "matched"], ...}',
    signs=("qid", "vid_name", "answer_idx", "idx_types", '"a3"'),
)
def read_socialiq(path: Path, *, form: RowForm = "choice", split: str | None = None) -> Dataset:
    """Read questions about videos; `form` decides whether a row is a question or one of its candidates.

    How each option was made (`corr`, `matched`, `rewrite`) is `idx_types`, in the binary form `idx_type`. `split`
    overrides the splits in file names.
    """
    parts = [_read_part(source, split) for source in find_sources(path, {".json", ".jsonl"})]
    table = pl.concat(part.table for part in parts)
    if table["id"].is_null().all() or table["question"].is_null().all():
        advice = "give Social-IQ 2.0's qa_*.json files, or read other data with the format 'table'"
        raise FileFormatError(f"questions with qid and q in {path}", "none", advice)
    questions = _settle(table)
    strays = [count for part in parts for count in part.counts]
    rows, counts = _SHAPES[form](CountedTable(questions.table, [*strays, *questions.counts]))
    gaps = [noted(f"row without {name}", rows[name].null_count()) for name in ("video", "answer")]
    modalities = ("video", "question", "candidate") if form == "binary" else ("video", "question")
    table_of_counts = count_table([read_rows(rows.height), *counts, *gaps])
    return Dataset(stem(path), rows, Images.named(rows["image"]), modalities, "video", table_of_counts)


def _read_part(source: SourceFile, split: str | None) -> CountedTable:
    table, counts = tabulate_fields(read_entries(source), _FIELDS)
    split_of_rows = pl.lit(split or split_name(source.name), pl.String)
    return CountedTable(table.with_columns(split=split_of_rows, image=pl.lit(None, pl.String)), counts)


def _settle(table: pl.DataFrame) -> CountedTable:
    """Drop what cannot be a question, number those that share a qid, and replace the index by the right option."""
    sound, damaged = drop_damaged(table)
    unique, copies = drop_rows(sound, {"row seen before, word for word": ~pl.struct(pl.all()).is_first_distinct()})
    occurrence = pl.int_range(pl.len()).over("id") + 1
    numbered = unique.with_columns(
        id=pl.when(occurrence > 1).then(pl.format("{}#{}", "id", occurrence)).otherwise("id")
    )
    shared = noted(
        "question that shares its id with another, marked by #2", int((numbered["id"] != unique["id"]).sum())
    )
    distinct, repeated = drop_repeated(numbered)
    options = gather_options(distinct, "the questions", _OPTIONS)
    named = name_by_index(options.with_columns(right="answer", candidates="choices"))
    return CountedTable(named.table, [*damaged, *copies, shared, *repeated, *named.counts])


def _shape_choice(questions: CountedTable) -> CountedTable:
    table = questions.table
    fewer = table["choices"].list.len() < len(_OPTIONS)
    # Where an option is missing, the list of how they were made would no longer match them.
    shaped = table.with_columns(idx_types=pl.when(~fewer).then("idx_types"))
    gaps = noted("question with fewer than four options", int(fewer.sum()))
    columns = ("id", *_SHARED, "choices", "idx_types", "ts", "split")
    return CountedTable(shaped.select(columns), [*questions.counts, gaps, note_repeated_options(shaped)])


def _shape_binary(questions: CountedTable) -> CountedTable:
    """Make a row of each candidate; the index decides which is true, even if another has the same text."""
    each = questions.table.explode("candidates", empty_as_null=False, keep_nulls=True).with_columns(
        index=pl.int_range(pl.len()) % len(_OPTIONS), right=pl.col("right").str.strip_chars().cast(pl.Int64)
    )
    truth = pl.when(pl.col("index") == pl.col("right")).then(pl.lit("true")).when(pl.col("right").is_not_null())
    twin = pl.col("candidates").eq(pl.col("answer")) & (pl.col("index") != pl.col("right"))
    notes = [noted("candidate marked false with the text of the true one", int(each.select(twin.sum()).item()))]
    rows = each.select(
        pl.format("{}-{}", "id", "index").alias("id"),
        *_SHARED[:-1],
        truth.then(pl.lit("false")).alias("answer"),
        candidate="candidates",
        idx_type=pl.col("idx_types").list.get(pl.col("index"), null_on_oob=True),
        qid="id",
        ts="ts",
        split="split",
    )
    kept, blank = drop_rows(rows, {"candidate without text": pl.col("candidate").is_null()})
    lost = [one._replace(n=one.n * len(_OPTIONS)) if one.status == "dropped" else one for one in questions.counts]
    return CountedTable(kept, [*lost, *blank, *notes])


_SHAPES = {"choice": _shape_choice, "binary": _shape_binary}
