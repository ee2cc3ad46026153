"""What a probe shows: which picture, which question, and which objects of the picture are visible.

A null image or question is not shown, nor is one that `removal` names ("image=blank"). An object is visible if it is
listed in `visible` (null: all are) and the boxes of `hidden` cover at most half of it, adding up their areas.
"""

import polars as pl

from eyechart.data.images import Images
from eyechart.data.tables import BOX
from eyechart.world.program import scene_of
from eyechart.world.questions import parse_questions

COVERED = 0.5
_SHOWN: dict[str, pl.DataType | type[pl.DataType]] = {
    "id": pl.String,
    "image": pl.String,
    "question": pl.String,
    "choices": pl.List(pl.String),
    "removal": pl.String,
    "visible": pl.List(pl.Int64),
    "hidden": pl.List(BOX),
}


def read_probes(probes: pl.DataFrame) -> pl.DataFrame:
    """Add row numbers and missing columns to probes, and parse their questions."""
    known = {name: pl.col(name) if name in probes.columns else pl.lit(None) for name in _SHOWN}
    rows = probes.select(expr.cast(_SHOWN[name]).alias(name) for name, expr in known.items()).with_row_index("row")
    rows = rows.with_columns(
        pl.when(~pl.col("removal").fill_null("").str.contains(f"{name}=", literal=True)).then(name).alias(name)
        for name in ("image", "question")
    )
    return rows.join(
        parse_questions(rows["question"]), on="question", how="left", validate="m:1", maintain_order="left"
    )


def scene_shown(rows: pl.DataFrame, images: Images) -> pl.DataFrame:
    """List the objects of all pictures in the rows."""
    shown = images.find(rows["image"].drop_nulls().unique()).drop_nulls().sort()
    return scene_of(images.table[shown])


def in_sight(objects: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """Keep the objects (row, index, box, ...) that are visible in their row."""
    known = objects.join(rows.select("row", "visible", "hidden"), on="row", validate="m:1", maintain_order="left")
    known = known.filter(pl.col("visible").is_null() | pl.col("visible").list.contains(pl.col("index")))
    pairs = known.select("row", "index", "box", "hidden").drop_nulls()
    covers = pairs.explode("hidden", empty_as_null=False)
    share = covers.group_by("row", "index").agg(covered=_overlap(pl.col("box"), pl.col("hidden")).sum())
    hidden = share.filter(pl.col("covered") > COVERED).select("row", "index")
    return known.join(hidden, on=("row", "index"), how="anti", maintain_order="left").drop("visible", "hidden")


def _overlap(box: pl.Expr, other: pl.Expr) -> pl.Expr:
    """Compute the share of a box that another covers."""
    sides = [
        pl.min_horizontal(box.arr.get(axis + 2), other.arr.get(axis + 2))
        - pl.max_horizontal(box.arr.get(axis), other.arr.get(axis))
        for axis in (0, 1)
    ]
    area = (box.arr.get(2) - box.arr.get(0)) * (box.arr.get(3) - box.arr.get(1))
    return sides[0].clip(0) * sides[1].clip(0) / area


def whole_pictures(rows: pl.DataFrame, scene: pl.DataFrame) -> pl.DataFrame:
    """Keep the rows whose picture has nothing covered or left out."""
    sizes = scene.group_by("image").agg(n=pl.len())
    known = rows.filter(pl.col("image").is_not_null()).join(sizes, on="image", how="left", validate="m:1")
    everything = pl.col("visible").is_null() | (pl.col("visible").list.n_unique() >= pl.col("n").fill_null(0))
    return known.filter(everything & (pl.col("hidden").list.len().fill_null(0) == 0))
