"""Turn the boxes of a dataset with those of its pictures that are stored turned and say so in their EXIF."""

from dataclasses import replace
from pathlib import Path

import polars as pl

from eyechart.base.errors import EyechartError
from eyechart.base.progress import tracked
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images, shown_paths
from eyechart.data.picture_files import SIDEWAYS, PictureTraits, find_picture, read_header
from eyechart.data.tables import BOX
from eyechart.data.turning import UPRIGHT, Direction, direction_of, turn_boxes, undecided
from eyechart.data.web import is_address
from eyechart.formats.rows import count_table, noted

_TURNED = "image that EXIF turns, whose boxes were turned with it"
_KEPT = "image that EXIF turns, whose boxes were on the picture as it is seen"
_KNOWN = {"image": pl.String, "orientation": pl.Int64, "width": pl.Float64, "height": pl.Float64, "stored": pl.Boolean}


def settle_boxes(data: Dataset, boxes: Direction | None = None) -> Dataset:
    """Turn boxes on pictures as stored, and mark the images whose boxes are on the pictures as they are seen.

    Width and height tell which they are. `boxes` says it of the others, without which they are an error.
    """
    turned = _find_turned(data.images, _names_with_boxes(data) if boxes is None else data.images.table["image"])
    known = _decide(turned, data.images.table, boxes)
    if known.is_empty():
        return data
    firsts = data.images.list_pictures(data.images.table["image"]).list.first()
    pictured = data.images.table.select("image", first=firsts).join(known.rename({"image": "first"}), on="first")
    images = _settle_images(data.images.table, known)
    kept = data.kept.stored or data.examples
    if "evidence" in data.columns:
        examples = data.examples
        kept = examples.with_columns(_turn_column(examples["evidence"], examples["image"], pictured))
    counts = [noted(_TURNED, int(known["stored"].sum())), noted(_KEPT, int((~known["stored"]).sum()))]
    table = pl.concat([data.counts, count_table(counts).select(data.counts.columns)])
    return replace(data, examples=kept, images=replace(data.images, table=images), counts=table)


def _names_with_boxes(data: Dataset) -> pl.Series:
    """List the pictures that boxes are on: of an image with several, the first."""
    names = [pl.Series("image", [], pl.String)]
    if "objects" in data.images.kept.columns:
        names.append(_boxed(data.images.table, "objects"))
    if "evidence" in data.columns:
        owners = _boxed(data.scan("image", "evidence").collect(), "evidence").drop_nulls()
        names.append(data.images.list_pictures(owners).list.first().alias("image"))
    return pl.concat(names).drop_nulls().unique().sort()


def _boxed(table: pl.DataFrame, column: str) -> pl.Series:
    has_box = pl.col(column).list.eval(pl.element().struct.field("box").is_not_null()).list.any()
    return table.filter(has_box)["image"]


def _find_turned(images: Images, names: pl.Series) -> dict[str, PictureTraits]:
    """Read the headers of pictures, and return those that are turned; what cannot be opened is an error when shown."""
    if images.root is None or "path" not in images.kept.columns or names.is_empty():
        return {}
    paths = shown_paths(names.to_frame("image"), images)
    turned = {}
    with tracked("looking for turned pictures", len(names)) as advance:
        for name, path in zip(names, paths, strict=True):
            traits = None if path is None or is_address(path) else _read(name, path, images.root)
            if traits is not None and traits.orientation != 1:
                turned[name] = traits
            advance(1)
    return turned


def _read(name: str, path: str, root: Path) -> PictureTraits | None:
    try:
        return read_header(find_picture(name, path, root))
    except EyechartError:
        return None


def _decide(turned: dict[str, PictureTraits], table: pl.DataFrame, boxes: Direction | None) -> pl.DataFrame:
    """Tell which way the boxes on each turned picture are, unless an earlier reading told."""
    sides = [name for name in ("width", "height") if name in table.columns]
    marks = [UPRIGHT] if UPRIGHT in table.columns else []
    facts = {row["image"]: row for row in table.select("image", *sides, *marks).iter_rows(named=True)} if turned else {}
    rows, unknown = [], []
    for name, traits in turned.items():
        if facts[name].get(UPRIGHT):
            continue
        declared = (facts[name].get("width"), facts[name].get("height"))
        direction = direction_of(declared, traits.stored, traits.orientation) or boxes
        if direction is None:
            unknown.append(name)
        rows.append((name, traits.orientation, *traits.stored, direction == "stored"))
    if unknown:
        raise undecided(unknown[0], len(unknown))
    return pl.DataFrame(rows, schema=_KNOWN, orient="row")


def _settle_images(table: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Turn the objects and the sizes of images, and mark them."""
    is_known = pl.col("image").is_in(known["image"].implode())
    marked = [] if UPRIGHT not in table.columns else [pl.col(UPRIGHT)]
    table = table.with_columns(pl.coalesce(pl.when(is_known).then(pl.lit(value=True)), *marked).alias(UPRIGHT))
    if "objects" in table.columns:
        table = table.with_columns(_turn_column(table["objects"], table["image"], known))
    if "width" not in table.columns or "height" not in table.columns:
        return table
    sizes = table.select("image").join(known, on="image", how="left", validate="1:1", maintain_order="left")
    swapped = (sizes["orientation"] >= SIDEWAYS).fill_null(value=False)
    width, height = (sizes[side].cast(pl.Int64) for side in ("width", "height"))
    upright = {"width": height.zip_with(swapped, width), "height": width.zip_with(swapped, height)}
    return table.with_columns(pl.coalesce(new, pl.col(side)).alias(side) for side, new in upright.items())


def _turn_column(lists: pl.Series, images: pl.Series, known: pl.DataFrame) -> pl.Series:
    """Turn the boxes in lists of {label, box, ...} that are on stored pictures."""
    listed = pl.DataFrame({"row": pl.int_range(len(lists), eager=True), "image": images, "it": lists})
    on_stored = listed.join(known.filter("stored"), on="image", validate="m:1", maintain_order="left")
    single = on_stored.explode("it", empty_as_null=False, keep_nulls=False)
    box = single["it"].struct.field("box")
    if box.null_count() == len(box):
        return lists
    placed = pl.select(pl.when(box.is_not_null()).then(box).otherwise(pl.lit([0.0] * 4, BOX))).to_series().to_numpy()
    turned = turn_boxes(placed, single["orientation"].to_numpy(), single.select("width", "height").to_numpy())
    new = pl.when(box.is_not_null()).then(pl.Series(turned, dtype=box.dtype))
    changed = (
        single.with_columns(pl.col("it").struct.with_fields(box=new)).group_by("row", maintain_order=True).agg("it")
    )
    joined = listed.select("row", "it").join(changed, on="row", how="left", validate="1:1", maintain_order="left")
    return joined.select(pl.coalesce("it_right", "it").alias(lists.name)).to_series()
