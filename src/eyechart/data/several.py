"""Several pictures or frames of an example: the rows made of lists of them, and those that a condition shows."""

from dataclasses import replace
from typing import Literal, get_args

import numpy as np
import polars as pl

from eyechart.base.hashing import combine, hash_text
from eyechart.data.images import PICTURES, Images
from eyechart.data.stored import LazyTable, StoredTable
from eyechart.data.tables import PICTURE

IMAGE_LIST = "images"  # column of the examples: the names of all pictures, of which `image` is the first
PLACES = {"hidden": "hidden_pictures", "evidence": "evidence_pictures"}  # columns of boxes: the positions of pictures
Choice = Literal["first", "shuffled", "single-frame"]
CHOICES: tuple[Choice, ...] = get_args(Choice)


def has_lists(columns: pl.Schema) -> bool:
    """Return whether examples list their pictures."""
    return columns.get(IMAGE_LIST) == pl.List(pl.String)


def fold_lists(examples: LazyTable, images: Images) -> tuple[pl.DataFrame | StoredTable, Images] | None:
    """Turn the lists of pictures of examples into rows of the images table; None if no example has several.

    The row keeps the name of its first picture, unless other examples show that one otherwise.
    """
    if images.has_several or not has_lists(examples.columns):
        return None
    shown = examples.lazy().select("image", IMAGE_LIST).unique().collect()
    several = shown.filter(_is_several())
    if several.is_empty():
        return None
    ambiguous = several.select("image").unique().join(shown, on="image").filter(pl.col("image").is_duplicated())
    key = pl.when(pl.col("image").is_in(ambiguous["image"].unique().implode())).then(_joint_name()).otherwise("image")
    named = several.select("image", key.alias("key"), _as_pictures().alias(PICTURES)).sort("key")
    change = pl.when(_is_several()).then(key).otherwise("image").alias("image")
    stored = examples.stored
    changed = (
        examples.table.with_columns(change) if stored is None else stored.changed(stored.frame.with_columns(change))
    )
    return changed, replace(images, table=_add_rows(images.table, named))


def choose_pictures(ids: pl.Series, counts: pl.Series, choice: str, seed: int) -> pl.Series:
    """List the positions of the pictures that a condition shows of each example, given how many it has."""
    if choice == "first":
        return pl.select(pl.concat_list(pl.repeat(0, len(ids), dtype=pl.Int64))).to_series()
    if choice == "single-frame":
        return pl.select(pl.concat_list(counts.cast(pl.Int64) // 2)).to_series()
    return _shuffle(ids, counts.to_numpy().astype(np.int64), seed)


def boxes_on(table: pl.DataFrame, column: str, place: int = 0) -> pl.Series:
    """Return the boxes in a column that are on the picture at a position; without positions all are on the first."""
    boxes = table[column]
    if PLACES[column] not in table.columns:
        return boxes if place == 0 else pl.Series(column, [None] * len(boxes), boxes.dtype)
    rows = table.select(boxes.alias("box"), pl.col(PLACES[column]).alias("place")).with_row_index("row")
    firsts = pl.int_ranges(pl.col("box").list.len()).list.eval(pl.element() * 0)
    single = rows.with_columns(place=pl.coalesce("place", firsts)).explode(
        "box", "place", empty_as_null=False, keep_nulls=False
    )
    found = single.filter(pl.col("place") == place).group_by("row", maintain_order=True).agg("box")
    joined = rows.select("row", was="box").join(found, on="row", how="left", validate="1:1", maintain_order="left")
    some = pl.when(pl.col("was").is_not_null()).then(pl.col("box").fill_null(pl.lit([], boxes.dtype)))
    return joined.select(some.alias(column)).to_series()


def _shuffle(ids: pl.Series, counts: np.ndarray, seed: int) -> pl.Series:
    """Order positions by hash; an order that did not change begins with its second."""
    rows = np.repeat(np.arange(len(ids)), counts)
    positions = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
    keys = combine(hash_text(ids, seed)[rows], positions.astype(np.uint64))
    order = positions[np.lexsort((keys, rows))]
    same = np.bincount(rows, order != positions, minlength=len(ids)) == 0
    order = np.where(same[rows], (positions + 1) % np.maximum(counts[rows], 1), order)
    lists = pl.DataFrame({"row": rows, PICTURES: order}).group_by("row", maintain_order=True).agg(PICTURES)
    return lists[PICTURES]


def _is_several() -> pl.Expr:
    return (pl.col(IMAGE_LIST).list.len() > 1) & (pl.col(IMAGE_LIST).list.first() == pl.col("image"))


def _joint_name() -> pl.Expr:
    """Name a list: its first picture, and then the whole list as JSON, which no other list has."""
    listed = pl.struct(it=pl.col(IMAGE_LIST)).struct.json_encode().str.strip_prefix('{"it":').str.strip_suffix("}")
    return pl.concat_str("image", pl.lit(" "), listed)


def _as_pictures() -> pl.Expr:
    one = pl.struct(image=pl.element(), time=pl.lit(None, pl.Float64))
    return pl.col(IMAGE_LIST).list.eval(one).cast(pl.List(PICTURE))


def _add_rows(table: pl.DataFrame, named: pl.DataFrame) -> pl.DataFrame:
    """List pictures in the rows of their key: those of the first ones, or copies of them under another name."""
    listed = named[PICTURES].list.eval(pl.element().struct.field("image")).explode().unique().sort().to_frame("image")
    whole = pl.concat([table, listed.join(table, on="image", how="anti", maintain_order="left")], how="diagonal")
    own = named.filter(pl.col("key") == pl.col("image")).select("image", PICTURES)
    others = named.filter(pl.col("key") != pl.col("image"))
    copies = others.join(whole, on="image", how="left", validate="m:1", maintain_order="left")
    rows = whole.join(own, on="image", how="left", validate="1:1", maintain_order="left")
    return pl.concat([rows, copies.drop("image").rename({"key": "image"}).select(rows.columns)])
