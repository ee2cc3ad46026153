"""Define the table of images that examples share, and the paths of their pictures."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Self

import polars as pl

from eyechart.data.stored import LazyTable, TableField
from eyechart.data.tables import IMAGES
from eyechart.data.web import ADDRESS, Web

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

    @classmethod
    def named(cls, names: pl.Series) -> Self:
        """Build a table with only the image names that occur in a column."""
        return cls(pl.DataFrame({"image": names.drop_nulls().unique().sort().cast(pl.String)}))


def shown_paths(probes: pl.DataFrame, images: Images) -> pl.Series:
    """Return the path or the address of each probe's picture, null if it has none."""
    if "image" not in probes.columns or "path" not in images.table.columns:
        return pl.repeat(None, probes.height, dtype=pl.String, eager=True).alias("path")
    return _add_root(images.table["path"].gather(images.find(probes["image"].cast(pl.String))), images.root)


def picture_paths(images: Images) -> pl.DataFrame:
    """List each image with the path or the address of its picture, null if it has none."""
    table = images.table.select("image")
    return table.with_columns(shown_paths(table, images))


def _add_root(paths: pl.Series, root: Path | None) -> pl.Series:
    """Prepend the root to paths, but not to addresses."""
    path, front = pl.col("path"), pl.lit("" if root is None else f"{root}/")
    rooted = pl.when(path.str.contains(ADDRESS)).then(path).otherwise(front + path)
    return paths.to_frame("path").select(path=rooted).to_series()
