"""Answer questions from scenes: the program behind the reference answers, which the seer runs on what it sees.

A scene is a table with one row per object: image, index, label, box, color, size, action.
"""

import polars as pl

from eyechart.base.errors import DataError
from eyechart.world.vocabulary import BIGGER, CELL, COLOR, DOING, IS, LEFT, MANY, QUESTION_TYPES, THERE, TOOLS, USED

ATTRIBUTES = {"colors": "color", "sizes": "size", "actions": "action"}  # list columns of the images table


def scene_of(images: pl.DataFrame) -> pl.DataFrame:
    """Convert rows of a world's images table to a scene."""
    for name in ("objects", *ATTRIBUTES):
        if name not in images.columns:
            found = f"columns {', '.join(images.columns)}"
            raise DataError(f"a column {name!r} in the images of a planted world", found, 'read "world" to get one')
    rows = images.select("image", "objects", *ATTRIBUTES, index=pl.int_ranges(pl.col("objects").list.len()))
    long = rows.explode("objects", *ATTRIBUTES, "index", empty_as_null=False, keep_nulls=False).rename(ATTRIBUTES)
    parts = (pl.col("objects").struct.field(name) for name in ("label", "box"))
    return long.select("image", "index", *parts, *ATTRIBUTES.values())


def find_objects(asked: pl.DataFrame, scene: pl.DataFrame) -> pl.DataFrame:
    """Find the objects that each row of (row, image, question_type, first, second) is about, with their parts.

    Parts: `first` and `second` are named in the question; `left` is the object in the cell to the left of the first.
    """
    placed = scene.with_columns(*_cell())
    asked = asked.select("row", "image", "question_type", "first", "second")
    of_tool, of_two = pl.col("question_type") == USED, pl.col("question_type") == BIGGER
    first = _named(asked.filter(~of_tool), placed, "first", "label")
    second = _named(asked.filter(of_two), placed, "second", "label")
    tool = _named(asked.filter(of_tool), placed.filter(pl.col("label").is_in(list(TOOLS))), "first", "color")
    left_cells = first.filter(pl.col("question_type") == LEFT).select(*asked.columns, "line", pl.col("column") - 1)
    left = left_cells.join(placed, on=("image", "line", "column"), maintain_order="left")
    parts = (("first", first), ("first", tool), ("second", second), ("left", left))
    return pl.concat(
        table.select("row", "question_type", "second", *scene.columns, part=pl.lit(part)) for part, table in parts
    )


def _cell() -> tuple[pl.Expr, pl.Expr]:
    box = pl.col("box")
    middle = ((box.arr.get(0) + box.arr.get(2)) / 2, (box.arr.get(1) + box.arr.get(3)) / 2)
    column, line = ((value / CELL).floor().cast(pl.Int64) for value in middle)
    return column.alias("column"), line.alias("line")


def _named(asked: pl.DataFrame, scene: pl.DataFrame, name: str, on: str) -> pl.DataFrame:
    return asked.with_columns(pl.col(name).alias(on)).join(scene, on=("image", on), maintain_order="left")


def answer_from(objects: pl.DataFrame) -> pl.DataFrame:
    """Answer each row from its objects (row, answer), leaving out rows whose objects do not suffice."""
    facts = (
        objects.sort("row", "index")
        .group_by("row", maintain_order=True)
        .agg(
            pl.col("question_type").first(),
            pl.col("second").first(),
            n=pl.len(),
            parts=pl.col("part").n_unique(),
            **{
                name: pl.col(name).filter(pl.col("part") == "first").first()
                for name in ("label", "color", "size", "action")
            },
            left=pl.col("label").filter(pl.col("part") == "left").first(),
            biggest=pl.col("label").sort_by(_width()).last(),
        )
    )
    return facts.select("row", answer=_answer()).drop_nulls()


def _width() -> pl.Expr:
    return pl.col("box").arr.get(2) - pl.col("box").arr.get(0)


def _answer() -> pl.Expr:
    fits = (pl.col("color") == pl.col("second")) | (pl.col("size") == pl.col("second"))
    by_type = {
        COLOR: pl.col("color"),
        MANY: pl.col("n").cast(pl.String),
        THERE: pl.lit("yes"),
        LEFT: pl.col("left"),
        BIGGER: pl.when(pl.col("parts") == 2).then("biggest"),
        DOING: pl.col("action"),
        USED: pl.col("label").replace_strict(TOOLS, default=None),
        IS: pl.when(fits).then(pl.lit("yes")).otherwise(pl.lit("no")),
    }
    # There is no answer unless an object of the part `first` is visible.
    is_visible = pl.col("label").is_not_null()
    return pl.coalesce(
        pl.when(is_visible & (pl.col("question_type") == name)).then(by_type[name]) for name in QUESTION_TYPES
    )
