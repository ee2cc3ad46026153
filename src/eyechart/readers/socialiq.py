"""Read Social-IQ 2.0: `qa_train.json` and the like, JSON lines with four answers to a question about a video clip.

Two questions may share a qid (26 pairs in the published files): the second is called `<qid>#2`, so that none is lost.
In the binary form of the Perceptual Score paper every candidate is a row of its own, to be judged true or false; there
every count is of candidates, so that four times the questions = rows read + rows dropped.
"""

from pathlib import Path
from typing import Literal, TypeAlias

import polars as pl

from eyechart.dataset import Dataset, Images
from eyechart.errors import FileFormatError
from eyechart.readers.choices import gather_options, name_by_index, note_repeated_options
from eyechart.readers.counting import Sifted, count_table, noted, read_rows, sift
from eyechart.readers.description import described
from eyechart.readers.fields import Field, lay_out
from eyechart.readers.records import read_entries
from eyechart.readers.rows import drop_damaged, drop_repeated
from eyechart.readers.source import Source, find_sources, stem
from eyechart.readers.split_names import split_name
from eyechart.registry import unknown_name

Form: TypeAlias = Literal["choice", "binary"]

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
def read_socialiq(path: Path, *, form: Form = "choice", split: str | None = None) -> Dataset:
    """Read questions about videos; `form` says whether a row is a question or one of its candidates.

    How each option was made (`corr`, `matched`, `rewrite`) is `idx_types`, in the binary form `idx_type`. `split`
    overrides the names of the files.
    """
    if form not in _SHAPES:
        raise unknown_name("form", form, tuple(_SHAPES))
    parts = [_read_part(source, split) for source in find_sources(path, {".json", ".jsonl"})]
    table = pl.concat(part.table for part in parts)
    if table["id"].is_null().all() or table["question"].is_null().all():
        advice = "bring the files qa_*.json of Social-IQ 2.0, or read other data with the format 'table'"
        raise FileFormatError(f"questions with qid and q in {path}", "none", advice)
    questions = _settle(table)
    strays = [count for part in parts for count in part.counts]
    rows, counts = _SHAPES[form](Sifted(questions.table, [*strays, *questions.counts]))
    gaps = [noted(f"row without {name}", rows[name].null_count()) for name in ("video", "answer")]
    modalities = ("video", "question", "candidate") if form == "binary" else ("video", "question")
    told = count_table([read_rows(rows.height), *counts, *gaps])
    return Dataset(stem(path), rows, Images.named(rows["image"]), modalities, "video", told)


def _read_part(source: Source, split: str | None) -> Sifted:
    table, counts = lay_out(read_entries(source), _FIELDS)
    told = {"split": pl.lit(split or split_name(source.name), pl.String), "image": pl.lit(None, pl.String)}
    return Sifted(table.with_columns(**told), counts)


def _settle(table: pl.DataFrame) -> Sifted:
    """Drop what can be no question, tell those of one qid apart, and name the right option."""
    sound, damaged = drop_damaged(table)
    once, copies = sift(sound, {"row seen before, word for word": ~pl.struct(pl.all()).is_first_distinct()})
    again = pl.int_range(pl.len()).over("id") + 1
    numbered = once.with_columns(id=pl.when(again > 1).then(pl.format("{}#{}", "id", again)).otherwise("id"))
    shared = noted("question whose id another has too, told apart by #2", int((numbered["id"] != once["id"]).sum()))
    distinct, repeated = drop_repeated(numbered)
    options = gather_options(distinct, "the questions", _OPTIONS)
    named = name_by_index(options.with_columns(right="answer", candidates="choices"))
    return Sifted(named.table, [*damaged, *copies, shared, *repeated, *named.counts])


def _shape_choice(questions: Sifted) -> Sifted:
    table = questions.table
    fewer = table["choices"].list.len() < len(_OPTIONS)
    # Where an option is missing, the list of how they were made would no longer lie beside them.
    shaped = table.with_columns(idx_types=pl.when(~fewer).then("idx_types"))
    gaps = noted("question with fewer than four options", int(fewer.sum()))
    columns = ("id", *_SHARED, "choices", "idx_types", "ts", "split")
    return Sifted(shaped.select(columns), [*questions.counts, gaps, note_repeated_options(shaped)])


def _shape_binary(questions: Sifted) -> Sifted:
    """Make a row of each candidate; which is true is said by its index, even where another has the same text."""
    each = questions.table.explode("candidates", empty_as_null=False, keep_nulls=True).with_columns(
        at=pl.int_range(pl.len()) % len(_OPTIONS), right=pl.col("right").str.strip_chars().cast(pl.Int64)
    )
    truth = pl.when(pl.col("at") == pl.col("right")).then(pl.lit("true")).when(pl.col("right").is_not_null())
    twin = pl.col("candidates").eq(pl.col("answer")) & (pl.col("at") != pl.col("right"))
    notes = [noted("candidate marked false with the text of the true one", int(each.select(twin.sum()).item()))]
    rows = each.select(
        pl.format("{}-{}", "id", "at").alias("id"),
        *_SHARED[:-1],
        truth.then(pl.lit("false")).alias("answer"),
        candidate="candidates",
        idx_type=pl.col("idx_types").list.get(pl.col("at"), null_on_oob=True),
        qid="id",
        ts="ts",
        split="split",
    )
    kept, blank = sift(rows, {"candidate without text": pl.col("candidate").is_null()})
    lost = [one._replace(n=one.n * len(_OPTIONS)) if one.status == "dropped" else one for one in questions.counts]
    return Sifted(kept, [*lost, *blank, *notes])


_SHAPES = {"choice": _shape_choice, "binary": _shape_binary}
