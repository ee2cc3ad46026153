"""Build the table of images: their names, picture files, sizes and objects."""

from pathlib import Path

import polars as pl

from eyechart.base.errors import FileFormatError
from eyechart.data.images import Images
from eyechart.formats.objects import read_detections
from eyechart.formats.rows import CountedTable, RowCount, noted

PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp")
# COCO writes image 42 as COCO_val2014_000000000042.jpg, and since 2017 as 000000000042.jpg; VisDial follows the first.
_COCO_STEM = r"^(?:(?:COCO|VisualDialog)_\w+_)?0*(\d+)$"
_COCO_NAME = r"^(?:(?:COCO|VisualDialog)_\w+_\d+|\d{12})$"
_SUFFIX = rf"(?i)\.(?:{'|'.join(suffix[1:] for suffix in PICTURES)})$"


def gather_images(
    table: pl.DataFrame, folder: Path | None, detections: Path | None, root: Path | None = None
) -> tuple[Images, list[RowCount]]:
    """Build images from a table of them, and count what is missing.

    Objects missing from the table come from the file `detections`, paths from the `folder` of pictures; `root` is the
    folder that paths of the table start from.
    """
    counts: list[RowCount] = []
    if detections is not None:
        objects, counts_of_objects = read_detections(detections)
        table = _fill(table, objects)
        counts += [*counts_of_objects, noted("image without objects", table["objects"].null_count())]
    if folder is not None:
        table, counts_of_pictures = _find_pictures(table, folder)
        counts += counts_of_pictures
    root = (folder or root) if "path" in table.columns else None
    return Images(table.drop("file_name", strict=False), root), counts


def _fill(table: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    """Add what is known of each image by its full name, else by its bare name, without COCO's prefix and zeros."""
    known = pl.col("image").is_in(more["image"].implode())
    keyed = table.with_columns(pl.when(known).then("image").otherwise(_bare_name()).alias("key of image"))
    more = more.rename({"image": "key of image"})
    joined = keyed.join(
        more, on="key of image", how="left", validate="m:1", maintain_order="left", suffix=" added"
    ).drop("key of image")
    shared = [name for name in more.columns if f"{name} added" in joined.columns]
    filled = (pl.col(name).fill_null(pl.col(f"{name} added")) for name in shared)
    return joined.with_columns(*filled).drop(f"{name} added" for name in shared)


def _find_pictures(table: pl.DataFrame, folder: Path) -> CountedTable:
    if not folder.is_dir():
        raise FileFormatError(f"a folder of pictures at {folder}", "none", "check the path")
    files = _list_pictures(folder)
    exists = pl.col("path").is_in(files["path"].implode()) if "path" in table.columns else None
    table = table.with_columns(path=pl.lit(None, pl.String) if exists is None else pl.when(exists).then("path"))
    several = 0
    for key, ours in _KEYS:
        if ours.meta.root_names()[0] not in table.columns:
            continue
        by_key = (
            files.drop_nulls(key).group_by(key, maintain_order=True).agg(picture=pl.col("path").first(), n=pl.len())
        )
        keys = table.select(ours.alias(key), lacking=pl.col("path").is_null())
        matched = keys.join(by_key, on=key, how="left", validate="m:1", maintain_order="left")
        several += int((matched["lacking"] & (matched["n"] > 1)).sum())
        table = table.with_columns(path=pl.coalesce("path", matched["picture"]))
    counts = [
        noted("image without a picture file", table["path"].null_count()),
        noted("image with several picture files, the first by name kept", several),
    ]
    return CountedTable(table, counts)


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


# The key of a file, and the value of an image to look up under it: the most reliable first.
_KEYS = (
    ("file", pl.col("file_name")),
    ("path", pl.col("image")),
    ("file", pl.col("image")),
    ("stem", pl.col("image")),
    ("stem", pl.col("image").str.replace(_SUFFIX, "")),
    ("number", _bare_name()),
)
