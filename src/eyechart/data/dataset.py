"""Define the dataset: questions in one table, the images they share in another."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, Self

import polars as pl

from eyechart.base.errors import DataError, TableError, and_more
from eyechart.base.files import damaged, read_record, read_table, replacing_folder, write_record, write_table
from eyechart.base.hashing import combine, hash_text, uniform
from eyechart.data.division import HELD_OUT, Division, DivisionSizes, decide
from eyechart.data.images import Images
from eyechart.data.representation import represent
from eyechart.data.several import fold_lists
from eyechart.data.stored import LazyTable, StoredTable, TableField
from eyechart.data.tables import COUNTS, EXAMPLES, check, empty
from eyechart.data.web import Web

PICTURES = "pictures"  # the folder of pictures generated with the dataset
FILES = ("manifest.json", "examples.parquet", "images.parquet", "counts.parquet", PICTURES)  # all files in its folder
NOT_JUDGED = "(not judged)"  # in a column from a study: the group of examples that it did not judge
_LENT = "lent"
_EXAMPLES = TableField(EXAMPLES)


@dataclass(frozen=True)
class DatasetManifest:
    """The description of a saved dataset, next to its tables."""

    kind: Literal["dataset"]
    name: str
    modalities: tuple[str, ...]
    cluster: str
    root: str | None
    features: str | None
    rows: dict[str, int]

    def image_root(self, folder: Path) -> Path | None:
        """Return the folder that paths of images are relative to."""
        return None if self.root is None else folder / self.root

    def feature_folder(self, folder: Path) -> Path | None:
        """Return the folder of region features."""
        return None if self.features is None else folder / self.features


class DatasetParts(NamedTuple):
    """The part of a dataset to learn from, and the part to judge."""

    learn: "Dataset"
    judge: "Dataset"


@dataclass(frozen=True)
class Dataset:
    """Examples, their images, which columns are modalities, and which column makes examples dependent.

    The examples of a saved dataset stay on disk until they are asked for; `scan` and `only` read no more than the
    columns they name.
    """

    name: str
    examples: TableField = _EXAMPLES
    images: Images  # type: ignore[misc]  # the field before has no default, though its descriptor looks like one
    modalities: tuple[str, ...] = ("image", "question")
    cluster: str = "image"
    counts: pl.DataFrame = field(default_factory=lambda: empty(COUNTS))
    division: Division | None = None  # set by the run that works on the data; never saved with them
    layout: Mapping[str, str] = field(default_factory=dict)  # our column -> where it was read from; never saved

    def __post_init__(self) -> None:
        check(self.counts, COUNTS)
        folded = fold_lists(self.kept, self.images)
        if folded is not None:
            for name, value in zip(("examples", "images"), folded, strict=True):
                object.__setattr__(self, name, value)
        self._require((*self.modalities, self.cluster))
        if self.kept.stored is None:  # files on disk were checked when they were written
            self._check_images()

    def __repr__(self) -> str:
        sizes = f"{self.height:,} examples on {self.images.kept.height:,} images"
        return f"Dataset {self.name}: {sizes}; columns {', '.join(self.columns)}"

    def _repr_html_(self) -> str:
        return represent("dataset", self)

    @property
    def kept(self) -> LazyTable:
        """Return the examples without reading them if they are on disk."""
        return _EXAMPLES.kept(self)

    @property
    def columns(self) -> pl.Schema:
        """Return the columns of the examples and their types, without reading the rows."""
        return self.kept.columns

    @property
    def height(self) -> int:
        """Count the examples, without reading them."""
        return self.kept.height

    def scan(self, *columns: str) -> pl.LazyFrame:
        """Read the named columns lazily, with the id first."""
        self._require(columns)
        return self.kept.lazy().select("id", *(name for name in columns if name != "id"))

    def only(self, *columns: str) -> Self:
        """Keep id, image, question, answer, the cluster and those of the named columns that exist."""
        narrow = self.kept.only({*columns, self.cluster})
        modalities = tuple(name for name in self.modalities if name in _names(narrow))
        return self._with(narrow, modalities)

    def lend(self, column: pl.LazyFrame) -> Self:
        """Add a column of a study's rows by id, to group by: as text, `(not judged)` for examples not among them."""
        schema = column.collect_schema()
        name = next(name for name in schema if name != "id")
        marked = column.with_columns(pl.lit(value=True).alias(_LENT))
        joined = self.kept.lazy().join(marked, on="id", how="left", validate="1:1", maintain_order="left")
        if not schema[name].is_nested():
            value = pl.col(name).cast(pl.String)
            joined = joined.with_columns(pl.when(_LENT).then(value).otherwise(pl.lit(NOT_JUDGED)).alias(name))
        joined = joined.drop(_LENT)
        stored = self.kept.stored
        return self._with(joined.collect() if stored is None else stored.changed(joined), self.modalities)

    def take(self, keep: pl.Expr) -> Self:
        """Keep the examples for which an expression is true; all images stay."""
        return self._with(self.kept.filter(keep), self.modalities)

    def sample(self, n: int | None, seed: int = 0) -> Self:
        """Keep n examples chosen by a hash of their ids, in their order; None keeps all of them."""
        if n is None or n >= self.height:
            return self
        ids = self._column("id")
        order = pl.Series("order", combine(hash_text(ids, seed)))
        return self.take(pl.col("id").is_in(ids.filter(order.rank("ordinal") <= n).implode()))

    def allow_http(self, *, private: bool = False) -> Self:
        """Allow pictures to be fetched from http(s) addresses; `private` also from hosts that are not public."""
        return self.fetching(Web(public=True, private=private))

    def fetching(self, web: Web) -> Self:
        """Set which pictures may be fetched when only their addresses are known."""
        pictures = self.images.kept.stored or self.images.table
        images = Images(pictures, self.images.root, self.images.features, web, self.images.owner)
        examples = self.kept.stored or self.examples
        return type(self)(self.name, examples, images, self.modalities, self.cluster, self.counts, self.division)

    def decide(self, learn: Sequence[str] | None = None, judge: Sequence[str] | None = None, seed: int = 0) -> Self:
        """Choose the splits to learn from and to judge, by name or `none` (see data/division.py)."""
        answered = self._count_answered()
        division = decide(self.name, answered, learn, judge, seed)
        decided = self.under(division)
        if not decided.divided(learns=False).judge.height:
            found = f"none among {self.height:,} examples ({division})"
            advice = "name other splits with --judge" if self.height else "provide examples"
            raise DataError(f"examples to judge in {self.name}", found, advice)
        return decided

    def under(self, division: Division) -> Self:
        """Apply a division decided earlier."""
        return self._with(self.kept.stored or self.examples, self.modalities, division)

    def divided(self, *, learns: bool) -> DatasetParts:
        """Separate the examples to learn from and to judge, as decided, else by the defaults.

        If there is no split to learn from, an audit that `learns` gets a part of the images to learn from and judges
        the rest; one that does not learn judges all of them.
        """
        division = self.division or decide(self.name, self._count_answered(), None, None, 0)
        learn = self.take(_in(division.learn)) if division.learn else self.take(pl.lit(value=False))
        judged = self._judged(division)
        if division.learn or not learns:
            return DatasetParts(learn, judged)
        held_out = pl.Series(uniform(hash_text(judged.clusters(), division.seed)) < HELD_OUT)
        parts = DatasetParts(judged.take(pl.lit(~held_out)), judged.take(pl.lit(held_out)))
        if not parts.judge.height or not parts.learn.height:
            found = f"{judged.height} examples, with too few {self.cluster}s to hold some out"
            raise DataError(
                f"examples of {self.name} to learn from and others to judge", found, "provide more examples"
            )
        return parts

    def sizes(self) -> DivisionSizes:
        """Count the examples of each part."""
        plain = self.divided(learns=False)
        learned, judged = plain.learn.height, plain.judge.height
        apart, held_out = self._count_apart() if not learned else (learned, judged)
        return DivisionSizes("sizes", learned, judged, held_out, apart, self.height - learned - judged)

    def _count_apart(self) -> tuple[int, int]:
        try:
            learn, judge = self.divided(learns=True)
        except DataError:  # too few images to hold some out: audits that learn raise this error themselves
            return 0, 0
        return learn.height, judge.height

    def _judged(self, division: Division) -> Self:
        if division.judge:
            return self.take(_in(division.judge))
        return self.take(~_in(division.learn)) if division.learn else self

    def with_layout(self, layout: Mapping[str, str]) -> Self:
        """Return the dataset with a description of where its columns were read from."""
        kept = self.kept.stored or self.examples
        return type(self)(
            self.name, kept, self.images, self.modalities, self.cluster, self.counts, self.division, layout
        )

    def splits(self) -> tuple[str, ...]:
        """Return the names of the splits."""
        if "split" not in self.columns:
            return ()
        return tuple(self._column("split").drop_nulls().unique().sort())

    def clusters(self) -> pl.Series:
        """Return the cluster of each example: those that share a picture are one, one without a value is its own."""
        column = self._column(self.cluster).cast(pl.String)
        if self.cluster == "image" and self.images.has_several:
            linked = column.to_frame("image").join(
                self.images.links, on="image", how="left", validate="m:1", maintain_order="left"
            )
            column = linked.select(pl.coalesce("cluster", "image")).to_series()
        return column.zip_with(column.is_not_null(), "alone " + self._column("id"))

    def count_pictures(self) -> pl.Series:
        """Count the pictures that each example shows; null without any."""
        return self.images.list_pictures(self._column("image")).list.len()

    def save(self, folder: str | Path) -> None:
        """Write the dataset as a folder of Parquet files with a manifest."""
        with replacing_folder(Path(folder), ours=FILES) as draft:
            self.write_into(draft)

    @contextmanager
    def on_disk(self) -> Iterator[Path]:
        """Yield a folder with the saved files: the original if nothing was changed, else a temporary one."""
        files = [kept.stored.file for kept in (self.kept, self.images.kept) if kept.stored and kept.stored.file]
        if len(files) == 2 and files[0].parent == files[1].parent:
            yield files[0].parent
            return
        with tempfile.TemporaryDirectory() as temporary:
            self.save(Path(temporary) / "data")
            yield Path(temporary) / "data"

    def write_into(self, folder: Path) -> None:
        """Write the files of the dataset into a folder that is being filled."""
        self.kept.write(folder / "examples.parquet")
        self.images.kept.write(folder / "images.parquet")
        write_table(self.counts, folder / "counts.parquet")
        manifest = DatasetManifest(
            "dataset",
            self.name,
            self.modalities,
            self.cluster,
            _relative_path(self._keep_pictures(folder), folder),
            _relative_path(self.images.features, folder),
            self._heights(),
        )
        write_record(manifest, folder / "manifest.json")

    def _keep_pictures(self, folder: Path) -> Path | None:
        """Return the folder of the pictures, after copying them into this one if they are in a temporary one."""
        root = self.images.root
        if self.images.owner is None or root is None:
            return root
        shutil.copytree(root, folder / PICTURES, copy_function=shutil.copyfile)
        return folder / PICTURES

    @staticmethod
    def is_saved(folder: Path) -> bool:
        """Return whether this is a dataset folder."""
        return (folder / "manifest.json").is_file()

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Open a dataset folder; rows are read when needed."""
        folder = Path(folder)
        manifest = read_record(folder / "manifest.json", DatasetManifest)
        examples, images = (StoredTable.open(folder / f"{name}.parquet") for name in ("examples", "images"))
        counts = read_table(folder / "counts.parquet")
        pictures = Images(images, manifest.image_root(folder), manifest.feature_folder(folder))
        data = cls(manifest.name, examples, pictures, manifest.modalities, manifest.cluster, counts)
        rows = {"examples": examples.height, "images": images.height}
        if manifest.rows != rows:
            raise damaged(folder, f"{rows} rows, but the manifest says {manifest.rows}")
        return data

    def _heights(self) -> dict[str, int]:
        return {"examples": self.height, "images": self.images.kept.height}

    def _column(self, name: str) -> pl.Series:
        return self.kept.lazy().select(name).collect().to_series()

    def _with(
        self, examples: pl.DataFrame | StoredTable, modalities: tuple[str, ...], division: Division | None = None
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
        if (unknown := self.images.unknown_pictures()).len():
            found = f"{unknown[0]!r}{and_more(len(unknown) - 1)}"
            raise TableError("each of the listed pictures as a row of the images table", found, "add the missing rows")


def _relative_path(path: Path | None, folder: Path) -> str | None:
    """Return a path relative to the folder if it lies inside, so that the folder can be moved."""
    if path is None:
        return None
    path = path.resolve()
    return str(path.relative_to(folder.resolve()) if path.is_relative_to(folder.resolve()) else path)


def _in(splits: Sequence[str]) -> pl.Expr:
    return pl.col("split").is_in(splits).fill_null(value=False)


def _names(table: pl.DataFrame | StoredTable) -> Iterable[str]:
    return table.columns
