"""Read the files of Visual7W and of the decoys published for it and for Visual Genome (Chao, Hu and Sha 2018).

Questions are Visual7W's own telling file `{images: [{..., qa_pairs: [...]}]}`, lists of questions, or lists of
questions with their decoys; lists of decoys alone carry the id of their question. What a file holds is told by its
content.
"""

from typing import Literal, NamedTuple, TypeGuard

import polars as pl

from eyechart.readers.counting import Count, noted
from eyechart.readers.fields import Field, lay_out
from eyechart.readers.source import Source, decode_json
from eyechart.readers.split_names import split_name

_DECOYS = {"iou": Field(("IoU_decoys",), "texts"), "qou": Field(("QoU_decoys",), "texts")}
_IDS = {name: Field((name,), "key") for name in ("qa_id", "QA_id")}
_QUESTION = {
    **_IDS,
    **{name: Field((name,), "key") for name in ("image_id", "Img_id", "image_index")},
    "file_name": Field(("filename",)),
    "question": Field(("question",)),
    "answer": Field(("answer",)),
    "orig": Field(("multiple_choices",), "texts"),
    **{name: Field((name,)) for name in ("type", "Type", "question_type", "split")},
    **_DECOYS,
}
# image_index counts the images of one file, so it comes last: v7w_2358727.jpg is image 2358727 in every file.
_IMAGE = (
    pl.col("image_id"),
    pl.col("Img_id"),
    pl.col("file_name").str.extract(r"^v7w_(\d+)\."),
    pl.col("file_name"),
    pl.col("image_index"),
)


class Part(NamedTuple):
    """The questions or the decoys in a file, under our names, and what became of its entries."""

    holds: Literal["questions", "decoys"]
    table: pl.DataFrame
    counts: list[Count]


def read_part(source: Source) -> Part | None:
    """Read a file, or say with None that it holds neither questions nor decoys."""
    content = decode_json(source, source.read())
    if _is_telling(content):
        return _read_telling(content["images"], source)
    if not isinstance(content, list):
        return None
    records = [entry for entry in content if isinstance(entry, dict)]
    if any("question" in record for record in records):
        return _read_questions(content, source, answer_listed=True)
    if any("IoU_decoys" in record or "QoU_decoys" in record for record in records):
        laid = lay_out(content, _IDS | _DECOYS, "decoy entry")
        return Part("decoys", laid.table.select(pl.coalesce(*_IDS).alias("id"), *map(_filled, _DECOYS)), laid.counts)
    return None


def _is_telling(content: object) -> TypeGuard[dict[str, list[object]]]:
    """Tell the telling questions from the pointing ones, whose file lists boxes and whose answers are such."""
    images = content.get("images") if isinstance(content, dict) and "boxes" not in content else None
    return isinstance(images, list) and any(isinstance(image, dict) and "qa_pairs" in image for image in images)


def _read_telling(images: list[object], source: Source) -> Part:
    told = [image for image in images if isinstance(image, dict) and isinstance(image.get("qa_pairs"), list)]
    pairs = [
        pair | {name: image.get(name) for name in ("image_id", "filename", "split")} if isinstance(pair, dict) else pair
        for image in told
        for pair in image["qa_pairs"]
    ]
    part = _read_questions(pairs, source, answer_listed=False)
    silent = noted("image without a list of questions, passed over", len(images) - len(told))
    return part._replace(counts=[*part.counts, silent])


def _read_questions(entries: list[object], source: Source, *, answer_listed: bool) -> Part:
    laid = lay_out(entries, _QUESTION)
    table = laid.table.select(
        pl.coalesce(*_IDS).alias("id"),
        pl.coalesce(*_IMAGE).alias("image"),
        "file_name",
        "question",
        "answer",
        pl.coalesce("type", "Type", "question_type").alias("question_type"),
        pl.col("split").fill_null(pl.lit(split_name(source.name), pl.String)),
        _filled("orig"),
        *map(_filled, _DECOYS),
    )
    return Part("questions", _without_answer(table) if answer_listed else table, laid.counts)


def _without_answer(table: pl.DataFrame) -> pl.DataFrame:
    """Take the answer off the end of the options, where the lists of questions put it."""
    options = pl.col("orig").list
    wrong = pl.when(options.last() == pl.col("answer")).then(options.head(options.len() - 1)).otherwise("orig")
    return table.with_columns(wrong.alias("orig"))


def _filled(name: str) -> pl.Expr:
    """Leave out what is no text; a list of nothing is none."""
    texts = pl.col(name).list.drop_nulls()
    return pl.when(texts.list.len() > 0).then(texts).alias(name)
