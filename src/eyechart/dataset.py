"""Dataset and Images: questions in one table, the pictures they share in another."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple, Self

import polars as pl

from eyechart.division import HELD_OUT, Division, Sizes, decide
from eyechart.errors import DataError, TableError
from eyechart.files import damaged, read_record, read_table, replacing_folder, write_record, write_table
from eyechart.hashing import combine, hash_text, uniform
from eyechart.stored import Kept, Stored, Table
from eyechart.tables import COUNTS, EXAMPLES, IMAGES, check, empty
from eyechart.web import Web

PICTURES = "pictures"  # the folder of those that were made with the dataset
FILES = ("manifest.json", "examples.parquet", "images.parquet", "counts.parquet", PICTURES)  # all in its folder
NOT_JUDGED = "(not judged)"  # the group of examples that the study a column is lent from did not judge
_LENT = "lent"
_IMAGES, _EXAMPLES = Table(IMAGES), Table(EXAMPLES)


@dataclass(frozen=True)
class Images:
    """The pictures: one row each; paths are relative to `root`, region features lie in the folder `features`.

    A table that is given as a stored one is read when it is asked for.
    """

    table: Table = _IMAGES
    root: Path | None = None
    features: Path | None = None
    web: Web = field(default_factory=Web)  # what may be fetched; never saved, for it is no property of the data

    @property
    def kept(self) -> Kept:
        """Give the table as it is kept, in memory or on disk."""
        return _IMAGES.kept(self)

    def scan(self, *columns: str) -> pl.LazyFrame:
        """Read only those of the named columns that there are, lazily, with the image in front."""
        names = [name for name in self.kept.columns if name in columns and name != "image"]
        return self.kept.lazy().select("image", *names)

    @cached_property
    def _by_name(self) -> pl.DataFrame:
        """Put the names in order once, so that finding a few of very many takes no look at all of them."""
        return self.table.select("image", pl.int_range(pl.len(), dtype=pl.UInt32).alias("row")).sort("image")

    def find(self, names: pl.Series) -> pl.Series:
        """Give the number of each name's row in the table; null where there is none."""
        nowhere = pl.repeat(None, len(names), dtype=pl.UInt32, eager=True).alias("row")
        ordered, rows = self._by_name
        if ordered.is_empty():
            return nowhere
        at = ordered.search_sorted(names.fill_null("")).clip(upper_bound=len(ordered) - 1)
        return rows.gather(at).zip_with(ordered.gather(at).eq_missing(names), nowhere)

    @classmethod
    def named(cls, names: pl.Series) -> Self:
        """Make a bare table of the image names that occur in a column."""
        return cls(pl.DataFrame({"image": names.drop_nulls().unique().sort().cast(pl.String)}))


@dataclass(frozen=True)
class Manifest:
    """What a saved dataset says of itself beside its tables."""

    kind: Literal["dataset"]
    name: str
    modalities: tuple[str, ...]
    cluster: str
    root: str | None
    features: str | None
    rows: dict[str, int]


class Parts(NamedTuple):
    """The part of a dataset to learn from, and the part to judge."""

    learn: "Dataset"
    judge: "Dataset"


@dataclass(frozen=True)
class Dataset:
    """Examples, their images, which columns are modalities, and which column makes examples dependent.

    Examples that are given as a stored table, as those of a saved dataset are, lie on disk until they are asked for;
    `scan` and `only` read no more than the columns they name.
    """

    name: str
    examples: Table = _EXAMPLES
    images: Images  # type: ignore[misc]  # the field before has no default, though its descriptor looks like one
    modalities: tuple[str, ...] = ("image", "question")
    cluster: str = "image"
    counts: pl.DataFrame = field(default_factory=lambda: empty(COUNTS))
    division: Division | None = None  # of the run that works on the data; never saved with them

    def __post_init__(self) -> None:
        check(self.counts, COUNTS)
        self._require((*self.modalities, self.cluster))
        if self.kept.stored is None:  # what lies on disk was checked when it was written
            self._check_images()

    @property
    def kept(self) -> Kept:
        """Give the examples as they are kept, in memory or on disk."""
        return _EXAMPLES.kept(self)

    @property
    def columns(self) -> pl.Schema:
        """Name the columns of the examples and their types, without a look at the rows."""
        return self.kept.columns

    @property
    def height(self) -> int:
        """Count the examples, without reading them."""
        return self.kept.height

    def scan(self, *columns: str) -> pl.LazyFrame:
        """Read only the named columns, lazily, with the id in front."""
        self._require(columns)
        return self.kept.lazy().select("id", *(name for name in columns if name != "id"))

    def only(self, *columns: str) -> Self:
        """Keep those of the named columns that there are, and id, image, question, answer and the cluster."""
        narrow = self.kept.only({*columns, self.cluster})
        modalities = tuple(name for name in self.modalities if name in _names(narrow))
        return self._with(narrow, modalities)

    def lend(self, column: pl.LazyFrame) -> Self:
        """Add a column of a study's rows by id; a text of examples that are not among them is `(not judged)`."""
        schema = column.collect_schema()
        name = next(name for name in schema if name != "id")
        marked = column.with_columns(pl.lit(value=True).alias(_LENT))
        joined = self.kept.lazy().join(marked, on="id", how="left", validate="1:1", maintain_order="left")
        if schema[name] == pl.String:
            joined = joined.with_columns(pl.when(_LENT).then(name).otherwise(pl.lit(NOT_JUDGED)).alias(name))
        joined = joined.drop(_LENT)
        stored = self.kept.stored
        return self._with(joined.collect() if stored is None else stored.changed(joined), self.modalities)

    def take(self, keep: pl.Expr) -> Self:
        """Keep the examples for which an expression holds; the images stay."""
        return self._with(self.kept.filter(keep), self.modalities)

    def sample(self, n: int | None, seed: int = 0) -> Self:
        """Keep n examples chosen by a hash of their ids, in their order; None keeps all."""
        if n is None or n >= self.height:
            return self
        ids = self._column("id")
        order = pl.Series("order", combine(hash_text(ids, seed)))
        return self.take(pl.col("id").is_in(ids.filter(order.rank("ordinal") <= n).implode()))

    def allow_http(self, *, private: bool = False) -> Self:
        """Let pictures at http(s) addresses be fetched; `private` also from hosts that are not public."""
        return self.fetching(Web(public=True, private=private))

    def fetching(self, web: Web) -> Self:
        """Say what may be fetched of pictures that are only addresses."""
        pictures = self.images.kept.stored or self.images.table
        images = Images(pictures, self.images.root, self.images.features, web)
        examples = self.kept.stored or self.examples
        return type(self)(self.name, examples, images, self.modalities, self.cluster, self.counts, self.division)

    def decide(self, learn: Sequence[str] | None = None, judge: Sequence[str] | None = None, seed: int = 0) -> Self:
        """Decide what is learned from and what is judged: names of splits, or `none`; see `division`."""
        answered = self._count_answered()
        division = decide(self.name, answered, learn, judge, seed)
        decided = self.under(division)
        if not decided.divided(learns=False).judge.height:
            found = f"none among {self.height:,} examples ({division})"
            raise DataError(f"examples to judge in {self.name}", found, "name other splits with --judge")
        return decided

    def under(self, division: Division) -> Self:
        """Take a division that was decided before."""
        return self._with(self.kept.stored or self.examples, self.modalities, division)

    def divided(self, *, learns: bool) -> Parts:
        """Separate what is learned from and what is judged, as was decided, else as is usual.

        Where there is no split to learn from, an audit that `learns` is given a part of the images to learn from and
        judges the others; one that does not judges all of them.
        """
        division = self.division or decide(self.name, self._count_answered(), None, None, 0)
        learn = self.take(_in(division.learn)) if division.learn else self.take(pl.lit(value=False))
        judged = self._judged(division)
        if division.learn or not learns:
            return Parts(learn, judged)
        held_out = pl.Series(uniform(hash_text(judged.clusters(), division.seed)) < HELD_OUT)
        parts = Parts(judged.take(pl.lit(~held_out)), judged.take(pl.lit(held_out)))
        if not parts.judge.height or not parts.learn.height:
            found = f"{judged.height} examples, too few {self.cluster}s to hold some out"
            raise DataError(f"examples of {self.name} to learn from and others to judge", found, "bring more examples")
        return parts

    def sizes(self) -> Sizes:
        """Count the examples of each part."""
        plain = self.divided(learns=False)
        learned, judged = plain.learn.height, plain.judge.height
        apart, held_out = self._count_apart() if not learned else (learned, judged)
        return Sizes("sizes", learned, judged, held_out, apart, self.height - learned - judged)

    def _count_apart(self) -> tuple[int, int]:
        try:
            learn, judge = self.divided(learns=True)
        except DataError:  # too few images to hold some out: audits that learn say so themselves
            return 0, 0
        return learn.height, judge.height

    def _judged(self, division: Division) -> Self:
        if division.judge:
            return self.take(_in(division.judge))
        return self.take(~_in(division.learn)) if division.learn else self

    def splits(self) -> tuple[str, ...]:
        """Name the splits that occur."""
        if "split" not in self.columns:
            return ()
        return tuple(self._column("split").drop_nulls().unique().sort())

    def clusters(self) -> pl.Series:
        """Name the cluster of each example; one without a value is a cluster of its own."""
        column = self._column(self.cluster).cast(pl.String)
        return column.zip_with(column.is_not_null(), "alone " + self._column("id"))

    def save(self, folder: str | Path) -> None:
        """Write the dataset as a folder of Parquet files with a manifest."""
        with replacing_folder(Path(folder), ours=FILES) as draft:
            self.write_into(draft)

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """Yield a folder with the files as they are saved: its own where nothing was changed, else a temporary one."""
        files = [kept.stored.file for kept in (self.kept, self.images.kept) if kept.stored and kept.stored.file]
        if len(files) == 2 and files[0].parent == files[1].parent:
            yield files[0].parent
            return
        with tempfile.TemporaryDirectory() as place:
            self.save(Path(place) / "data")
            yield Path(place) / "data"

    def write_into(self, folder: Path) -> None:
        """Write the files of the dataset into a folder that is being filled."""
        self.kept.write(folder / "examples.parquet")
        self.images.kept.write(folder / "images.parquet")
        write_table(self.counts, folder / "counts.parquet")
        manifest = Manifest(
            "dataset",
            self.name,
            self.modalities,
            self.cluster,
            _place(self.images.root, folder),
            _place(self.images.features, folder),
            self._heights(),
        )
        write_record(manifest, folder / "manifest.json")

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Open a dataset folder, or say what is wrong with it; rows are read when they are asked for."""
        folder = Path(folder)
        manifest = read_record(folder / "manifest.json", Manifest)
        examples, images = (Stored.open(folder / f"{name}.parquet") for name in ("examples", "images"))
        counts = read_table(folder / "counts.parquet")
        root, features = (None if place is None else folder / place for place in (manifest.root, manifest.features))
        data = cls(
            manifest.name, examples, Images(images, root, features), manifest.modalities, manifest.cluster, counts
        )
        if manifest.rows != data._heights():
            raise damaged(folder, f"{data._heights()} rows where the manifest says {manifest.rows}")
        return data

    def _heights(self) -> dict[str, int]:
        return {"examples": self.height, "images": self.images.kept.height}

    def _column(self, name: str) -> pl.Series:
        return self.kept.lazy().select(name).collect().to_series()

    def _with(
        self, examples: pl.DataFrame | Stored, modalities: tuple[str, ...], division: Division | None = None
    ) -> Self:
        kept = division or self.division
        return type(self)(self.name, examples, self.images, modalities, self.cluster, self.counts, kept)

    def _count_answered(self) -> dict[str, int]:
        """Count, for every split, the examples with a reference answer."""
        if "split" not in self.columns:
            return {}
        known = self.scan("split", "answer").filter(pl.col("split").is_not_null())
        counted = known.group_by("split").agg(pl.col("answer").count()).sort("split").collect()
        return dict(counted.iter_rows())

    def _require(self, columns: Sequence[str]) -> None:
        for name in columns:
            if name not in self.columns:
                found = f"columns {', '.join(self.columns)}"
                advice = "add or map it when reading; `splits.QT` is there once `splits` is studied"
                raise DataError(f"a column {name!r} in the examples of {self.name}", found, advice)

    def _check_images(self) -> None:
        known = self.images.scan().collect().to_series().implode()
        lost = self.examples.select(pl.col("image").is_not_null() & ~pl.col("image").is_in(known)).to_series()
        if lost.any():
            row = int(lost.arg_true()[0])
            found = f"{self.examples['image'][row]!r} in row {row} (id={self.examples['id'][row]!r})"
            advice = f"add the {lost.sum()} missing rows to the images table"
            raise TableError("each image of column 'image' in the images table", found, advice)


def _place(path: Path | None, folder: Path) -> str | None:
    """Write a path relative to the folder when it lies inside, so that the folder can be moved."""
    if path is None:
        return None
    path = path.resolve()
    return str(path.relative_to(folder.resolve()) if path.is_relative_to(folder.resolve()) else path)


def _in(splits: Sequence[str]) -> pl.Expr:
    return pl.col("split").is_in(splits).fill_null(value=False)


def _names(table: pl.DataFrame | Stored) -> Iterable[str]:
    return table.columns
