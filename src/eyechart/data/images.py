"""Define the table of images that examples share, and the paths of their pictures.

A row is what is looked at: one picture, or several in order, or the frames of a video. Several are listed in the column
`pictures` as names of rows of the same table, each a picture by itself; the first may be the row itself.
"""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import polars as pl

from eyechart.data.stored import LazyTable, TableField
from eyechart.data.tables import IMAGES
from eyechart.data.web import ADDRESS, Web

PICTURES = "pictures"  # of an image with several: {image, time}; of a probe: the positions of those that it shows
_TABLE = TableField(IMAGES)


@dataclass(frozen=True)
class Images:
    """The images, one per row; paths are relative to `root`, region features are in the folder `features`.

    A stored table is read when needed.
    """

    table: TableField = _TABLE
    root: Path | None = None
    features: Path | None = None
    web: Web = field(
        default_factory=Web
    )  # pictures that may be fetched; never saved, as it is not a property of the data
    owner: object = field(default=None, repr=False, compare=False)  # of a temporary `root`, copied when data are saved

    @property
    def kept(self) -> LazyTable:
        """Return the table without reading it if it is on disk."""
        return _TABLE.kept(self)

    def scan(self, *columns: str) -> pl.LazyFrame:
        """Read the named columns that exist lazily, with the image first."""
        names = [name for name in self.kept.columns if name in columns and name != "image"]
        return self.kept.lazy().select("image", *names)

    @cached_property
    def _by_name(self) -> pl.DataFrame:
        """Sort the names once, so that a few of very many can be looked up without a scan."""
        return self.table.select("image", pl.int_range(pl.len(), dtype=pl.UInt32).alias("row")).sort("image")

    def find(self, names: pl.Series) -> pl.Series:
        """Return the row number of each name in the table, null if it is missing."""
        missing = pl.repeat(None, len(names), dtype=pl.UInt32, eager=True).alias("row")
        ordered, rows = self._by_name
        if ordered.is_empty():
            return missing
        nearest = ordered.search_sorted(names.fill_null("")).clip(upper_bound=len(ordered) - 1)
        return rows.gather(nearest).zip_with(ordered.gather(nearest).eq_missing(names), missing)

    @property
    def has_several(self) -> bool:
        """Return whether some rows may list several pictures."""
        return PICTURES in self.kept.columns

    def list_pictures(self, names: pl.Series) -> pl.Series:
        """List the names of the pictures of each image, in order: of a single picture its own, of none null."""
        alone = pl.when(pl.col("image").is_not_null()).then(pl.concat_list("image"))
        lists = pl.DataFrame({"image": names, PICTURES: self.list_several(names)})
        return lists.select(pl.coalesce(PICTURES, alone)).to_series()

    def list_several(self, names: pl.Series) -> pl.Series:
        """List the names of the pictures of images with a list of them, null for all others."""
        if not self.has_several:
            return pl.repeat(None, len(names), dtype=pl.List(pl.String), eager=True).alias(PICTURES)
        return self._lists.gather(self.find(names))

    @cached_property
    def _lists(self) -> pl.Series:
        return self.table[PICTURES].list.eval(pl.element().struct.field("image"))

    def unknown_pictures(self) -> pl.Series:
        """List the pictures of images that are no rows of the table."""
        if not self.has_several:
            return pl.Series("image", [], pl.String)
        names = self._lists.explode().drop_nulls().unique().sort()
        return names.filter(~names.is_in(self.table["image"].implode()))

    @cached_property
    def links(self) -> pl.DataFrame:
        """Give images that share a picture, directly or through others, one `cluster`, named after their first one."""
        named = self.table.select("image", pictures=self._lists).drop_nulls()
        edges = named.explode("pictures").with_row_index("edge")
        names = pl.concat([edges["image"], edges["pictures"].alias("image")])
        number = names.rank("dense").cast(pl.Int64).to_numpy() - 1
        linked = pl.DataFrame({"image": names, "group": _connect(number[: edges.height], number[edges.height :])})
        # Only what lists pictures, and the first of them, gives a name: one that examples have, or have had.
        firsts = named.select("image", first=pl.col("pictures").list.first())
        called = firsts.join(linked.unique("image"), on="image", validate="1:1")
        labels = called.group_by("group").agg(cluster=pl.min_horizontal(pl.col("image").min(), pl.col("first").min()))
        return linked.unique("image").join(labels, on="group", validate="m:1").select("image", "cluster")

    @classmethod
    def named(cls, names: pl.Series) -> Self:
        """Build a table with only the image names that occur in a column."""
        return cls(pl.DataFrame({"image": names.drop_nulls().unique().sort().cast(pl.String)}))


def _connect(one: npt.NDArray[np.int64], other: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """Return the connected components of a graph as numbers, of both ends of each edge."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    n = int(max(one.max(initial=-1), other.max(initial=-1))) + 1
    graph = coo_array((np.ones(len(one), np.int8), (one, other)), shape=(n, n))
    groups: npt.NDArray[np.int32] = connected_components(graph, directed=False)[1]
    return np.concatenate([groups[one], groups[other]])


def shown_names(probes: pl.DataFrame, images: Images) -> pl.Series:
    """List the names of the pictures that filled probes show, in order; a probe may choose them by their positions."""
    if "image" not in probes.columns:
        return pl.repeat(None, probes.height, dtype=pl.List(pl.String), eager=True).alias("image")
    names = images.list_pictures(probes["image"].cast(pl.String))
    if PICTURES not in probes.columns:
        return names
    chosen = pl.col("names").list.gather(pl.col(PICTURES), null_on_oob=True).list.drop_nulls()
    table = pl.DataFrame({"names": names, PICTURES: probes[PICTURES]})
    return table.select(pl.when(pl.col(PICTURES).is_not_null()).then(chosen).otherwise("names")).to_series()


def shown_paths(probes: pl.DataFrame, images: Images) -> pl.Series:
    """Return the path or the address of each probe's picture, null if it has none."""
    if "image" not in probes.columns or "path" not in images.table.columns:
        return pl.repeat(None, probes.height, dtype=pl.String, eager=True).alias("path")
    return _add_root(images.table["path"].gather(images.find(probes["image"].cast(pl.String))), images.root)


def shown_path_lists(probes: pl.DataFrame, images: Images) -> pl.Series:
    """List the paths or addresses of all pictures of each probe, in order; null if it has none."""
    rows = pl.DataFrame({"row": pl.int_range(probes.height, eager=True), "image": shown_names(probes, images)})
    each = rows.explode("image").drop_nulls("image")
    lists = each.select("row", shown_paths(each, images).alias("paths")).group_by("row").agg("paths")
    return rows.join(lists, on="row", how="left", validate="1:1", maintain_order="left")["paths"]


def picture_paths(images: Images) -> pl.DataFrame:
    """List each image with the path or the address of its picture, null if it has none."""
    table = images.table.select("image")
    return table.with_columns(shown_paths(table, images))


def _add_root(paths: pl.Series, root: Path | None) -> pl.Series:
    """Prepend the root to paths, but not to addresses."""
    path, front = pl.col("path"), pl.lit("" if root is None else f"{root}/")
    rooted = pl.when(path.str.contains(ADDRESS)).then(path).otherwise(front + path)
    return paths.to_frame("path").select(path=rooted).to_series()
