"""Read Visual7W's telling questions, and the decoys published for it and for Visual Genome (Chao, Hu and Sha 2018).

Decoys are joined to questions by id, never by position. The published files put the right option last or keep it apart
from the wrong ones, so no order of theirs can be shown to a model: options are ordered by a hash of (id, option), the
same on every machine and whatever the set of decoys.
Entries = rows read + rows dropped; decoy entries = entries joined to a row + dropped decoy entries.
"""

from pathlib import Path
from typing import Literal

import polars as pl

from eyechart.dataset import Dataset
from eyechart.errors import FileFormatError, SettingError
from eyechart.hashing import combine, hash_text
from eyechart.readers.counting import Sifted, count_table, dropped, noted, read_rows, sift
from eyechart.readers.description import described
from eyechart.readers.pictures import gather_images
from eyechart.readers.rows import drop_damaged, drop_repeated, drop_silent, note_gaps
from eyechart.readers.source import find_sources, stem
from eyechart.readers.visual7w_parts import Part, read_part

DecoyKind = Literal["orig", "qou", "iou", "iou+qou", "all"]
_LISTS: dict[DecoyKind, tuple[str, ...]] = {
    "orig": ("orig",),
    "qou": ("qou",),
    "iou": ("iou",),
    "iou+qou": ("iou", "qou"),
    "all": ("orig", "iou", "qou"),
}
_DECOYS: dict[str, pl.DataType | type[pl.DataType]] = {
    "id": pl.String,
    "iou": pl.List(pl.String),
    "qou": pl.List(pl.String),
}


@described(
    needs="dataset_v7w_telling.json, or v7w_*_questions.json with v7w_*_decoys.json, or VG_*_decoys.json",
    sample='{"images": [{"image_id": 2358727, "filename": "v7w_2358727.jpg", "split": "train", "qa_pairs": [\n'
    '  {"qa_id": 190987, "question": "What ...?", "answer": "A cat.", "multiple_choices": [...], "type": "what"}]}]}',
    signs=("qa_id", "multiple_choices", "filename", "question"),
)
def read_visual7w(
    path: Path,
    *,
    decoys: DecoyKind = "orig",
    split: str | None = None,
    detections: Path | None = None,
    images: Path | None = None,
) -> Dataset:
    """Read questions whose choices are the answer and those `decoys`: the dataset's own, or QoU, IoU, both or all.

    `split` overrides what the files say; `detections` is a file of objects, `images` a folder of picture files.
    """
    parts = [read_part(source) for source in find_sources(path, {".json"})]
    asked = _merge_questions([part for part in parts if part and part.holds == "questions"], path)
    given = _merge_decoys([part for part in parts if part and part.holds == "decoys"])
    joined = _join(asked.table, given.table)
    chosen = _choose(joined.table, decoys, path)
    pictures = chosen.table.drop_nulls("image").select("image", "file_name").unique("image", keep="first").sort("image")
    illustrated = gather_images(pictures, images, detections)
    examples = chosen.table.with_columns(split=pl.lit(split)) if split else chosen.table
    tidy = drop_silent(examples.drop("file_name"), ("choices", "question_type", "split"))
    counts = [read_rows(tidy.height), *asked.counts, *given.counts, *joined.counts, *chosen.counts, *illustrated.notes]
    counts.append(noted("file without questions or decoys, passed over", parts.count(None)))
    return Dataset(stem(path), tidy, illustrated.images, counts=count_table(counts))


def _merge_questions(parts: list[Part], path: Path) -> Sifted:
    if not parts:
        advice = "name dataset_v7w_telling.json or a folder with v7w_*_questions.json or VG_*_decoys.json"
        raise FileFormatError(f"telling questions of Visual7W in {path}", "none", advice)
    whole, damaged = drop_damaged(pl.concat(part.table for part in parts))
    once, again = drop_repeated(whole)
    return Sifted(once, [*(one for part in parts for one in part.counts), *damaged, *again, *note_gaps(once)])


def _merge_decoys(parts: list[Part]) -> Sifted:
    table = pl.concat([pl.DataFrame(schema=_DECOYS), *(part.table for part in parts)])
    whole, damaged = sift(table, {"decoy entry without an id": pl.col("id").is_null()})
    once, again = sift(whole, {"decoy entry with an id seen before": ~pl.col("id").is_first_distinct()})
    return Sifted(once, [*(one for part in parts for one in part.counts), *damaged, *again])


def _join(questions: pl.DataFrame, decoys: pl.DataFrame) -> Sifted:
    marked = decoys.with_columns(given=True)
    joined = questions.join(marked, on="id", how="left", validate="1:1", maintain_order="left", suffix=" given")
    homeless = decoys.height - int(joined["given"].sum())
    filled = joined.with_columns(pl.col(name).fill_null(pl.col(f"{name} given")) for name in ("iou", "qou"))
    return Sifted(filled.select(questions.columns), [dropped("decoy entry without a question", homeless)])


def _choose(table: pl.DataFrame, decoys: DecoyKind, path: Path) -> Sifted:
    lists = _LISTS[decoys]
    complete = pl.all_horizontal(pl.col(name).is_not_null() for name in lists)
    lacking = table.select(~complete).to_series()
    if lacking.all() and table.height:
        there = [name for name in ("orig", "iou", "qou") if table[name].is_not_null().any()]
        expected = f"decoys {decoys!r} of the questions in {path}"
        raise SettingError(expected, f"those of {', '.join(there) or 'no kind'}", "change decoys, or add their files")
    offered = complete & pl.col("answer").is_not_null()
    options = table.with_columns(choices=pl.when(offered).then(pl.concat_list(*lists, "answer")))
    repeated = pl.col("choices").list.n_unique() < pl.col("choices").list.len()
    notes = [
        noted(f"row without decoys {decoys!r}: no choices", int(lacking.sum())),
        noted("row with the same option twice, kept once", int(options.select(repeated.sum()).item())),
        noted("row whose choices are ordered by a hash of id and option", int(options["choices"].count())),
    ]
    ordered = options.with_columns(_order(options)).drop("orig", "iou", "qou")
    first = ("id", "image", "question", "answer", "choices")
    return Sifted(ordered.select(*first, pl.exclude(first)), notes)


def _order(table: pl.DataFrame) -> pl.Series:
    """Order each row's distinct options by a hash that knows nothing of which is right."""
    rows = table.select("id", choices=pl.col("choices").list.unique()).with_row_index("row")
    single = rows.explode("choices", empty_as_null=False, keep_nulls=False)
    order = combine(hash_text(single["id"]), hash_text(single["choices"]))
    packed = (
        single.with_columns(order=pl.Series(order))
        .sort("row", "order", "choices")
        .group_by("row", maintain_order=True)
        .agg("choices")
    )
    return rows.select("row").join(packed, on="row", how="left", validate="1:1", maintain_order="left")["choices"]
