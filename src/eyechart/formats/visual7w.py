"""Read Visual7W's telling questions, and the decoys published for it and for Visual Genome (Chao, Hu and Sha 2018).

A file is Visual7W's own telling file `{images: [{..., qa_pairs: [...]}]}`, a list of questions (perhaps with decoys),
or a list of decoys with the ids of their questions; its content decides which.
Decoys are joined to questions by id, never by position. The published files put the right option last or keep it apart
from the wrong ones, so their order must not be shown to a model: options are ordered by a hash of (id, option), the
same on every machine and for every set of decoys.
Entries = rows read + rows dropped; decoy entries = entries joined to a row + dropped decoy entries.
"""

from pathlib import Path
from typing import Literal, NamedTuple, TypeGuard

import polars as pl

from eyechart.base.errors import FileFormatError, SettingError
from eyechart.base.hashing import combine, hash_text
from eyechart.data.dataset import Dataset
from eyechart.formats.columns import Field, tabulate_fields
from eyechart.formats.description import described
from eyechart.formats.images import gather_images
from eyechart.formats.names import split_name
from eyechart.formats.rows import (
    CountedTable,
    RowCount,
    count_table,
    drop_damaged,
    drop_empty_columns,
    drop_repeated,
    drop_rows,
    dropped,
    note_gaps,
    noted,
    read_rows,
)
from eyechart.formats.sources import SourceFile, decode_json, find_sources, stem

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
_DECOY_FIELDS = {"iou": Field(("IoU_decoys",), "texts"), "qou": Field(("QoU_decoys",), "texts")}
_IDS = {name: Field((name,), "key") for name in ("qa_id", "QA_id")}
_QUESTION_FIELDS = {
    **_IDS,
    **{name: Field((name,), "key") for name in ("image_id", "Img_id", "image_index")},
    "file_name": Field(("filename",)),
    "question": Field(("question",)),
    "answer": Field(("answer",)),
    "orig": Field(("multiple_choices",), "texts"),
    **{name: Field((name,)) for name in ("type", "Type", "question_type", "split")},
    **_DECOY_FIELDS,
}
# image_index counts the images of one file, so it comes last: v7w_2358727.jpg is image 2358727 in every file.
_IMAGE = (
    pl.col("image_id"),
    pl.col("Img_id"),
    pl.col("file_name").str.extract(r"^v7w_(\d+)\."),
    pl.col("file_name"),
    pl.col("image_index"),
)


class Visual7wFile(NamedTuple):
    """The questions or the decoys in a file, under our names, and what became of its entries."""

    holds: Literal["questions", "decoys"]
    table: pl.DataFrame
    counts: list[RowCount]


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

    `split` overrides the files' own; `detections` is a file of objects, `images` a folder of picture files.
    """
    files = [_read_file(source) for source in find_sources(path, {".json"})]
    questions = _merge_questions([file for file in files if file and file.holds == "questions"], path)
    published = _merge_decoys([file for file in files if file and file.holds == "decoys"])
    joined, unmatched = _join(questions.table, published.table)
    chosen, notes = _choose(joined, decoys, path)
    names = chosen.drop_nulls("image").select("image", "file_name").unique("image", keep="first").sort("image")
    all_images, gaps = gather_images(names, images, detections)
    examples = chosen.with_columns(split=pl.lit(split)) if split else chosen
    examples = drop_empty_columns(examples.drop("file_name"), ("choices", "question_type", "split"))
    counts = [read_rows(examples.height), *questions.counts, *published.counts, *unmatched, *notes, *gaps]
    counts.append(noted("file without questions or decoys, skipped", files.count(None)))
    return Dataset(stem(path), examples, all_images, counts=count_table(counts))


def _merge_questions(files: list[Visual7wFile], path: Path) -> CountedTable:
    if not files:
        advice = "give dataset_v7w_telling.json or a folder with v7w_*_questions.json or VG_*_decoys.json"
        raise FileFormatError(f"telling questions of Visual7W in {path}", "none", advice)
    whole, damaged = drop_damaged(pl.concat(file.table for file in files))
    unique, repeats = drop_repeated(whole)
    return CountedTable(
        unique, [*(one for file in files for one in file.counts), *damaged, *repeats, *note_gaps(unique)]
    )


def _merge_decoys(files: list[Visual7wFile]) -> CountedTable:
    table = pl.concat([pl.DataFrame(schema=_DECOYS), *(file.table for file in files)])
    whole, damaged = drop_rows(table, {"decoy entry without an id": pl.col("id").is_null()})
    unique, repeats = drop_rows(whole, {"decoy entry with an id seen before": ~pl.col("id").is_first_distinct()})
    return CountedTable(unique, [*(one for file in files for one in file.counts), *damaged, *repeats])


def _join(questions: pl.DataFrame, decoys: pl.DataFrame) -> CountedTable:
    marked = decoys.with_columns(given=True)
    joined = questions.join(marked, on="id", how="left", validate="1:1", maintain_order="left", suffix=" given")
    unmatched = decoys.height - int(joined["given"].sum())
    filled = joined.with_columns(pl.col(name).fill_null(pl.col(f"{name} given")) for name in ("iou", "qou"))
    return CountedTable(filled.select(questions.columns), [dropped("decoy entry without a question", unmatched)])


def _choose(table: pl.DataFrame, decoys: DecoyKind, path: Path) -> CountedTable:
    lists = _LISTS[decoys]
    complete = pl.all_horizontal(pl.col(name).is_not_null() for name in lists)
    lacking = table.select(~complete).to_series()
    if lacking.all() and table.height:
        kinds = [name for name in ("orig", "iou", "qou") if table[name].is_not_null().any()]
        expected = f"decoys {decoys!r} of the questions in {path}"
        raise SettingError(
            expected, f"those of {', '.join(kinds) or 'no kind'}", "change the setting decoys, or add their files"
        )
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
    return CountedTable(ordered.select(*first, pl.exclude(first)), notes)


def _order(table: pl.DataFrame) -> pl.Series:
    """Order each row's distinct options by a hash that does not depend on which is right."""
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


def _read_file(source: SourceFile) -> Visual7wFile | None:
    """Read a file; None if it holds neither questions nor decoys."""
    content = decode_json(source, source.read())
    if _is_telling(content):
        return _read_telling(content["images"], source)
    if not isinstance(content, list):
        return None
    records = [entry for entry in content if isinstance(entry, dict)]
    if any("question" in record for record in records):
        table, counts = _read_questions(content, source)
        return Visual7wFile("questions", _remove_answer(table), counts)
    if any("IoU_decoys" in record or "QoU_decoys" in record for record in records):
        table, counts = tabulate_fields(content, _IDS | _DECOY_FIELDS, "decoy entry")
        decoys = table.select(pl.coalesce(*_IDS).alias("id"), *map(_drop_nulls, _DECOY_FIELDS))
        return Visual7wFile("decoys", decoys, counts)
    return None


def _is_telling(content: object) -> TypeGuard[dict[str, list[object]]]:
    """Return whether these are telling questions rather than pointing ones, whose file lists boxes as answers."""
    images = content.get("images") if isinstance(content, dict) and "boxes" not in content else None
    return isinstance(images, list) and any(isinstance(image, dict) and "qa_pairs" in image for image in images)


def _read_telling(images: list[object], source: SourceFile) -> Visual7wFile:
    with_pairs = [image for image in images if isinstance(image, dict) and isinstance(image.get("qa_pairs"), list)]
    pairs = [
        pair | {name: image.get(name) for name in ("image_id", "filename", "split")} if isinstance(pair, dict) else pair
        for image in with_pairs
        for pair in image["qa_pairs"]
    ]
    table, counts = _read_questions(pairs, source)
    counts.append(noted("image without a list of questions, skipped", len(images) - len(with_pairs)))
    return Visual7wFile("questions", table, counts)


def _read_questions(entries: list[object], source: SourceFile) -> CountedTable:
    table, counts = tabulate_fields(entries, _QUESTION_FIELDS)
    questions = table.select(
        pl.coalesce(*_IDS).alias("id"),
        pl.coalesce(*_IMAGE).alias("image"),
        "file_name",
        "question",
        "answer",
        pl.coalesce("type", "Type", "question_type").alias("question_type"),
        pl.col("split").fill_null(pl.lit(split_name(source.name), pl.String)),
        _drop_nulls("orig"),
        *map(_drop_nulls, _DECOY_FIELDS),
    )
    return CountedTable(questions, counts)


def _remove_answer(table: pl.DataFrame) -> pl.DataFrame:
    """Remove the answer from the end of the options, where the lists of questions put it."""
    options = pl.col("orig").list
    wrong = pl.when(options.last() == pl.col("answer")).then(options.head(options.len() - 1)).otherwise("orig")
    return table.with_columns(wrong.alias("orig"))


def _drop_nulls(name: str) -> pl.Expr:
    """Leave out the nulls in lists; a list without texts becomes null."""
    texts = pl.col(name).list.drop_nulls()
    return pl.when(texts.list.len() > 0).then(texts).alias(name)
