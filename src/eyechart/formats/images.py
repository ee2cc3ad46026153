"""Build the table of images: their names, picture files, sizes and objects."""

from pathlib import Path

import polars as pl

from eyechart.base.errors import FileFormatError
from eyechart.data.images import Images
from eyechart.data.several import IMAGE_LIST
from eyechart.formats.objects import pool_objects, read_detections
from eyechart.formats.picture_lists import as_files
from eyechart.formats.rows import CountedTable, RowCount, noted
from eyechart.formats.sources import SourceFile

PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp")
# COCO writes image 42 as COCO_val2014_000000000042.jpg, and since 2017 as 000000000042.jpg; VisDial follows the first.
_COCO_STEM = r"^(?:(?:COCO|VisualDialog)_\w+_)?0*(\d+)$"
_COCO_NAME = r"^(?:(?:COCO|VisualDialog)_\w+_\d+|\d{12})$"
_SUFFIX = rf"(?i)\.(?:{'|'.join(suffix[1:] for suffix in PICTURES)})$"


def move_to_images(examples: pl.DataFrame) -> CountedTable:
    """Build the table of images, with the paths and objects that the examples hold."""
    names, paths = examples["image"], examples.select("image", path=pl.lit(None, pl.String))
    if IMAGE_LIST in examples.columns and examples.schema[IMAGE_LIST] == pl.List(pl.String):
        listed = examples[IMAGE_LIST].explode(empty_as_null=False, keep_nulls=False).rename("image").unique()
        names, paths = names.append(listed), listed.to_frame().select("image", path=as_files(pl.col("image")))
    table = names.drop_nulls().unique().sort().to_frame("image")
    counts: list[RowCount] = []
    if "path" in examples.columns or paths["path"].count():
        own = [examples.select("image", "path")] if "path" in examples.columns else []
        paths = pl.concat([*own, paths]).drop_nulls().unique(maintain_order=True)
        counts.append(noted("image with several paths, the first kept", int(paths["image"].is_duplicated().sum())))
        table = _join(table, paths.unique("image", keep="first", maintain_order=True))
    if "objects" in examples.columns:
        objects, more = pool_objects(examples.select("image", "objects"))
        counts += more
        table = _join(table, objects)
    return CountedTable(table, counts)


def find_root(of_images: pl.DataFrame, sources: list[SourceFile], path: Path) -> Path:
    """Find the folder that the paths of pictures start from: that of the table, or the folder of all tables."""
    near = [source.path.parent for source in sources[:1] if source.path is not None]
    folders = [*near, path if path.is_dir() else path.parent]
    first = of_images["path"].drop_nulls().head(1).to_list() if "path" in of_images.columns else []
    return next((folder for folder in folders for name in first if (folder / name).is_file()), folders[-1])


def _join(table: pl.DataFrame, more: pl.DataFrame) -> pl.DataFrame:
    return table.join(more, on="image", how="left", validate="1:1", maintain_order="left")


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
