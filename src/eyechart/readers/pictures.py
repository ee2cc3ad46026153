"""Make the table of images: their names, picture files, sizes and objects."""

from pathlib import Path
from typing import NamedTuple

import polars as pl

from eyechart.dataset import Images
from eyechart.errors import FileFormatError
from eyechart.readers.counting import Count, noted
from eyechart.readers.detections import read_detections

PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp")
# COCO writes image 42 as COCO_val2014_000000000042.jpg, and since 2017 as 000000000042.jpg; VisDial follows the first.
_COCO_STEM = r"^(?:(?:COCO|VisualDialog)_\w+_)?0*(\d+)$"
_COCO_NAME = r"^(?:(?:COCO|VisualDialog)_\w+_\d+|\d{12})$"
_SUFFIX = rf"(?i)\.(?:{'|'.join(suffix[1:] for suffix in PICTURES)})$"


class _Pictured(NamedTuple):
    table: pl.DataFrame
    notes: list[Count]


class Illustrated(NamedTuple):
    """The images of a dataset, and what to know about them."""

    images: Images
    notes: list[Count]


def gather_images(
    table: pl.DataFrame, folder: Path | None, detections: Path | None, root: Path | None = None
) -> Illustrated:
    """Add objects from a file and paths from a folder where a table of images is silent; `root` is of paths it has."""
    notes: list[Count] = []
    if detections is not None:
        found = read_detections(detections)
        table = _fill(table, found.table)
        notes += [*found.notes, noted("image without objects", table["objects"].null_count())]
    if folder is not None:
        table, more = _find_pictures(table, folder)
        notes += more
    root = (folder or root) if "path" in table.columns else None
    return Illustrated(Images(table.drop("file_name", strict=False), root), notes)


def _fill(table: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    """Add what is known of each image under its own name, else under that name without what COCO puts around it."""
    known = pl.col("image").is_in(more["image"].implode())
    keyed = table.with_columns(pl.when(known).then("image").otherwise(_bare_name()).alias("key of image"))
    found = more.rename({"image": "key of image"})
    joined = keyed.join(
        found, on="key of image", how="left", validate="m:1", maintain_order="left", suffix=" found"
    ).drop("key of image")
    shared = [name for name in more.columns if f"{name} found" in joined.columns]
    filled = (pl.col(name).fill_null(pl.col(f"{name} found")) for name in shared)
    return joined.with_columns(*filled).drop(f"{name} found" for name in shared)


def _find_pictures(table: pl.DataFrame, folder: Path) -> _Pictured:
    if not folder.is_dir():
        raise FileFormatError(f"a folder of pictures at {folder}", "none", "check the path")
    files = _list_pictures(folder)
    there = pl.col("path").is_in(files["path"].implode()) if "path" in table.columns else None
    table = table.with_columns(path=pl.lit(None, pl.String) if there is None else pl.when(there).then("path"))
    several = 0
    for key, ours in _KEYS:
        if ours.meta.root_names()[0] not in table.columns:
            continue
        by_key = (
            files.drop_nulls(key).group_by(key, maintain_order=True).agg(picture=pl.col("path").first(), n=pl.len())
        )
        asked = table.select(ours.alias(key), lacking=pl.col("path").is_null())
        found = asked.join(by_key, on=key, how="left", validate="m:1", maintain_order="left")
        several += int((found["lacking"] & (found["n"] > 1)).sum())
        table = table.with_columns(path=pl.coalesce("path", found["picture"]))
    notes = [
        noted("image without a picture file", table["path"].null_count()),
        noted("image with several picture files, the first by name kept", several),
    ]
    return _Pictured(table, notes)


def _bare_name() -> pl.Expr:
    stem = pl.col("image").str.replace(_SUFFIX, "")
    return pl.when(stem.str.contains(_COCO_NAME)).then(stem.str.extract(_COCO_STEM)).otherwise(stem)


def _list_pictures(folder: Path) -> pl.DataFrame:
    paths = sorted(file for file in folder.rglob("*") if file.suffix.lower() in PICTURES and file.is_file())
    columns = {
        "path": [file.relative_to(folder).as_posix() for file in paths],
        "file": [file.name for file in paths],
        "stem": [file.stem for file in paths],
    }
    files = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    return files.with_columns(number=pl.col("stem").str.extract(_COCO_STEM))


# What a file is known by, and what of an image is looked for there: the surest first.
_KEYS = (
    ("file", pl.col("file_name")),
    ("path", pl.col("image")),
    ("file", pl.col("image")),
    ("stem", pl.col("image")),
    ("stem", pl.col("image").str.replace(_SUFFIX, "")),
    ("number", _bare_name()),
)
