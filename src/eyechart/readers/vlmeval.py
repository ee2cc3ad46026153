"""Read datasets of VLMEvalKit: a TSV with `index`, `question`, options `A`, `B`, ..., `answer` and perhaps pictures.

The letter of an option wins over an option that reads like it. Rows of a circular test, which ask one question with its
options turned, stay rows; their `group` is `g_index`, or the index without its millions. Several files are one dataset
whose ids begin with the names of the files. Rows in = rows read + rows dropped.
"""

from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from string import ascii_uppercase
from typing import NamedTuple

import polars as pl

from eyechart.dataset import Dataset
from eyechart.errors import FileFormatError
from eyechart.readers.choices import gather_options, name_answers
from eyechart.readers.column_types import type_columns
from eyechart.readers.columns import as_texts, fill_majority
from eyechart.readers.counting import Count, Sifted, count_table, dropped, noted, read_rows
from eyechart.readers.description import described
from eyechart.readers.pictures import gather_images
from eyechart.readers.records import read_records
from eyechart.readers.rows import drop_damaged, drop_repeated, note_gaps
from eyechart.readers.source import Source, find_sources, stem
from eyechart.readers.vlmeval_pictures import Pictures, read_paths, read_pictures

_ROTATION = 1_000_000  # circular rows of one question differ by multiples of it
_NAMES = {"index": "id", "l2-category": "l2_category"}
_LIST = r"^\s*\[\s*['\"]"  # of texts; a list of numbers is an answer like any other


class _Part(NamedTuple):
    """The rows of a file, the images they name with their paths, and what became of the rows."""

    table: pl.DataFrame
    images: pl.DataFrame
    counts: list[Count]


@described(
    needs="a TSV of VLMEvalKit, with pictures by image_path or as base64, which --set pictures=FOLDER writes there",
    sample="index\tquestion\tA\tB\tanswer\tcategory\timage\n"
    "7\tWhat colour is the bus?\tred\tblue\tA\tcolour\t/9j/4AAQSkZJRg...",
    signs=("index", "\tquestion", "\tanswer", "\tA\tB"),
)
def read_vlmeval(
    path: Path, *, pictures: Path | None = None, split: str | None = None, images: Path | None = None
) -> Dataset:
    """Read questions; `pictures` is a folder to write base64 pictures to, `images` one that pictures lie in already.

    Without `pictures` an image has only a name, a hash of its content. `split` names the split of all rows.
    """
    sources = find_sources(path, {".tsv", ".csv"})
    parts = [_read_part(source, pictures, prefixed=len(sources) > 1) for source in sources]
    table = pl.concat((part.table for part in parts), how="diagonal_relaxed")
    rows, again = drop_repeated(table)
    if split is not None:
        rows = rows.with_columns(split=pl.lit(split))
    modalities = ("image", "question", "hint") if "hint" in rows.columns else ("image", "question")
    illustrated = gather_images(_merge_images(parts, rows), pictures or images, None, path.parent)
    fates = [count for part in parts for count in part.counts]
    counts = count_table([read_rows(rows.height), *fates, *again, *note_gaps(rows), *illustrated.notes])
    return Dataset(stem(path), rows, illustrated.images, modalities, counts=counts)


def _read_part(source: Source, pictures: Path | None, *, prefixed: bool) -> _Part:
    records = read_records(source)
    table, notes = _name_columns(records.table, source.name)
    named, images, more = _name_images(table, pictures)
    typed, lost = type_columns(_settle_columns(named, source.name), source.name)
    sound, damaged = drop_damaged(typed)
    rows, unfit = _settle_answers(sound)
    if prefixed:
        start = pl.lit(f"{PurePosixPath(source.name.removesuffix('.gz')).stem}-")
        rows = rows.with_columns((start + pl.col(name)).alias(name) for name in ("id", "group") if name in rows.columns)
    strays = dropped("entry that is no record", records.strays)
    return _Part(rows, images, [strays, *notes, *more, *lost, *damaged, *unfit])


def _name_columns(table: pl.DataFrame, place: str) -> Sifted:
    clash = "id" in table.columns and "index" in table.columns
    plain = table.drop("id") if clash else table
    renamed = plain.rename({theirs: ours for theirs, ours in _NAMES.items() if ours not in plain.columns}, strict=False)
    for name, theirs in (("id", "index"), ("question", "question")):
        if name not in renamed.columns:
            found = f"columns {', '.join(table.columns) or 'none at all'}"
            raise FileFormatError(f"a column {theirs!r} in {place}", found, "read it with the format 'table'")
    return Sifted(renamed, [noted("column 'id' left out: the index is the id", clash * table.height)])


def _name_images(table: pl.DataFrame, pictures: Path | None) -> _Part:
    """Name the image of each row, the first where there are several: then `images` names them all."""
    nothing = pl.Series([None] * table.height, dtype=pl.List(pl.String))
    has_cells = "image" in table.columns
    drawn, notes = read_pictures(table["image"], table["id"], pictures) if has_cells else Pictures(nothing, [])
    paths = read_paths(table["image_path"]) if "image_path" in table.columns else nothing
    names = drawn.zip_with(drawn.is_not_null(), paths).alias("images")
    listed = pl.DataFrame({"image": names, "located": drawn.is_null()}).explode("image", empty_as_null=False)
    images = listed.drop_nulls().select("image", path=pl.when("located").then("image"))
    several = names.list.len() > 1
    named = table.with_columns(names.list.first().alias("image"))
    if several.any():
        named = named.with_columns(names)
    note = noted("row with several images: the first is its image", int(several.sum()))
    return _Part(named, images, [*notes, note])


def _settle_columns(table: pl.DataFrame, place: str) -> pl.DataFrame:
    """Gather options, answers and hints, and name the group of circular rows."""
    letters = [name for name in table.columns if name in set(ascii_uppercase)]
    filled = table.with_columns(pl.when(~pl.col(letters).is_in(["nan", "NaN"])).then(pl.col(letters)).name.keep())
    full = gather_options(filled, place)
    if "choices" in full.columns and letters:
        asked = pl.col("choices").list.drop_nulls().list.len() > 0
        full = full.with_columns(choices=pl.when(asked).then("choices"))
    full = _group(_list_answers(full))
    if "hint" in full.columns:
        hint = pl.col("hint").fill_null("")
        full = (
            full.with_columns(hint) if full.select((hint.str.strip_chars() != "").any()).item() else full.drop("hint")
        )
    first = ("id", "image", "question", "answer")
    return full.select(*first, pl.exclude(first))


def _list_answers(table: pl.DataFrame) -> pl.DataFrame:
    if "answer" not in table.columns:
        return table.with_columns(answer=pl.lit(None, pl.String))
    answer = table["answer"].set(table["answer"].str.strip_chars() == "", None)
    listed = answer.str.contains(_LIST) & as_texts(answer, "the answers").is_not_null()
    if "answers" in table.columns or not listed.any():
        return table.with_columns(answer)
    answers = answer.set(~listed, None).alias("answers")
    return table.with_columns(answers, answer.set(listed, None))


def _group(table: pl.DataFrame) -> pl.DataFrame:
    if "g_index" in table.columns:
        return table.with_columns(group=pl.col("g_index"))
    numbers = table["id"].str.strip_chars().cast(pl.Int64, strict=False)
    if numbers.null_count() or not (numbers >= _ROTATION).any():
        return table
    return table.with_columns(group=(numbers % _ROTATION).cast(pl.String))


def _settle_answers(table: pl.DataFrame) -> Sifted:
    voted = fill_majority(table)
    if "choices" not in voted.columns:
        return Sifted(voted, [])
    named = name_answers(voted, "letter", "text")
    lost = [count for count in named.counts if count.status == "dropped"]
    if "answers" not in voted.columns:
        return Sifted(named.table, lost)
    both = named.table["choices"].is_not_null() & named.table["answers"].is_not_null()
    note = noted("row with options and several answers, the most frequent kept", int(both.sum()))
    return Sifted(named.table.with_columns(answers=pl.when(~both).then("answers")), [*lost, note])


def _merge_images(parts: Iterable[_Part], rows: pl.DataFrame) -> pl.DataFrame:
    """List every image of the rows that were read once, with a path column only where some lie in files."""
    names = [rows["image"].drop_nulls()]
    if "images" in rows.columns:
        names.append(rows["images"].explode().drop_nulls().alias("image"))
    known = pl.concat(part.images for part in parts).unique("image", keep="first")
    table = pl.concat(names).unique().sort().to_frame("image")
    merged = table.join(known, on="image", how="left", validate="1:1", maintain_order="left")
    return merged.drop("path") if merged["path"].is_null().all() else merged
