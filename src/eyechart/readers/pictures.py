"""Make the table of images: their names, picture files, sizes and objects."""

from pathlib import Path
from typing import NamedTuple

import polars as pl

from eyechart.dataset import Images
from eyechart.errors import FileFormatError
from eyechart.readers.counting import Count, noted
from eyechart.readers.detections import read_detections

PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp")
# COCO writes image 42 as COCO_val2014_000000000042.jpg, and since 2017 as 000000000042.jpg.
_COCO_STEM = r"^(?:COCO_\w+_)?0*(\d+)$"


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
        table = _find_pictures(table, folder)
        notes.append(noted("image without a picture file", table["path"].null_count()))
    root = (folder or root) if "path" in table.columns else None
    return Illustrated(Images(table.drop("file_name", strict=False), root), notes)


def _fill(table: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    joined = table.join(more, on="image", how="left", validate="1:1", maintain_order="left", suffix=" found")
    shared = [name for name in more.columns if f"{name} found" in joined.columns]
    filled = (pl.col(name).fill_null(pl.col(f"{name} found")) for name in shared)
    return joined.with_columns(*filled).drop(f"{name} found" for name in shared)


def _find_pictures(table: pl.DataFrame, folder: Path) -> pl.DataFrame:
    if not folder.is_dir():
        raise FileFormatError(f"a folder of pictures at {folder}", "none", "check the path")
    files = _list_pictures(folder)
    if "path" in table.columns:
        named = table.join(
            files.select("path", there=True), on="path", how="left", validate="m:1", maintain_order="left"
        )
        table = named.with_columns(path=pl.when("there").then("path")).drop("there")
    keys = {"file": "file_name", "stem": "image", "number": "image"}
    for key, ours in keys.items():
        if ours in table.columns:
            by_key = files.drop_nulls(key).unique(key, keep="first", maintain_order=True)
            found = table.select(pl.col(ours).alias(key)).join(by_key, on=key, how="left", maintain_order="left")[
                "path"
            ]
            table = table.with_columns(path=pl.coalesce("path", found) if "path" in table.columns else found)
    return table


def _list_pictures(folder: Path) -> pl.DataFrame:
    paths = sorted(file for file in folder.rglob("*") if file.suffix.lower() in PICTURES)
    columns = {
        "path": [file.relative_to(folder).as_posix() for file in paths],
        "file": [file.name for file in paths],
        "stem": [file.stem for file in paths],
    }
    files = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
    return files.with_columns(number=pl.col("stem").str.extract(_COCO_STEM))
