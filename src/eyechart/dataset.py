"""Dataset and Images: questions in one table, the pictures they share in another."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple, Self

import polars as pl

from eyechart.errors import DataError, TableError
from eyechart.files import damaged, read_record, read_table, replacing_folder, write_record, write_table
from eyechart.hashing import combine, hash_text, uniform
from eyechart.tables import COUNTS, EXAMPLES, IMAGES, check, empty

JUDGE_SPLITS = ("test", "val")  # in this order, where the data name no other
HELD_OUT = 0.3  # of the images, where the data have no split of their own


@dataclass(frozen=True)
class Images:
    """The pictures: one row each; paths are relative to `root`, region features lie in the folder `features`."""

    table: pl.DataFrame
    root: Path | None = None
    features: Path | None = None

    def __post_init__(self) -> None:
        check(self.table, IMAGES)

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


class Division(NamedTuple):
    """The part of a dataset to learn from, the part to judge on, and how they came about."""

    learn: "Dataset"
    judge: "Dataset"
    note: str


@dataclass(frozen=True)
class Dataset:
    """Examples, their images, which columns are modalities, and which column makes examples dependent."""

    name: str
    examples: pl.DataFrame
    images: Images
    modalities: tuple[str, ...] = ("image", "question")
    cluster: str = "image"
    counts: pl.DataFrame = field(default_factory=lambda: empty(COUNTS))

    def __post_init__(self) -> None:
        check(self.examples, EXAMPLES)
        check(self.counts, COUNTS)
        self._require((*self.modalities, self.cluster))
        self._check_images()

    def scan(self, *columns: str) -> pl.LazyFrame:
        """Read only the named columns, lazily, with the id in front."""
        self._require(columns)
        return self.examples.lazy().select("id", *(name for name in columns if name != "id"))

    def take(self, keep: pl.Expr) -> Self:
        """Keep the examples for which an expression holds; the images stay."""
        return replace(self, examples=self.examples.filter(keep))

    def sample(self, n: int | None, seed: int = 0) -> Self:
        """Keep n examples chosen by a hash of their ids, in their order; None keeps all."""
        if n is None or n >= self.examples.height:
            return self
        order = pl.Series("order", combine(hash_text(self.examples["id"], seed)))
        return replace(self, examples=self.examples.filter(order.rank("ordinal") <= n))

    def divide(self, learn: str | None = "train", judge: str | None = None, seed: int = 0) -> Division:
        """Separate what is learned from and what is judged.

        Judged is the named split, else `test`, else `val`, whichever has reference answers; data without those splits
        are divided by image with the seed. `learn=None` says that nothing is learned: then all may be judged.
        """
        if judge is not None and judge not in self.splits():
            found = f"splits {', '.join(self.splits()) or 'none'}"
            raise DataError(f"a split {judge!r} in {self.name}", found, "name one of those, or none")
        judge = judge or self._judge_split()
        if learn is None:
            judged = self if judge is None else self.take(pl.col("split") == judge)
            return Division(self.take(pl.lit(value=False)), judged, f"judged on {judge or 'all examples'}")
        if judge is not None and learn in self.splits():
            note = f"learned on {learn}, judged on {judge}"
            return Division(self.take(pl.col("split") == learn), self.take(pl.col("split") == judge), note)
        held_out = pl.Series(uniform(hash_text(self.clusters(), seed)) < HELD_OUT)
        note = f"no splits {learn!r} and {judge or 'test'!r} in the data: {HELD_OUT:.0%} of {self.cluster}s held out"
        return Division(self.take(pl.lit(~held_out)), self.take(pl.lit(held_out)), note)

    def splits(self) -> tuple[str, ...]:
        """Name the splits that occur."""
        if "split" not in self.examples.columns:
            return ()
        return tuple(self.examples["split"].drop_nulls().unique().sort())

    def clusters(self) -> pl.Series:
        """Name the cluster of each example; one without a value is a cluster of its own."""
        column = self.examples[self.cluster].cast(pl.String)
        return column.zip_with(column.is_not_null(), "alone " + self.examples["id"])

    def save(self, folder: str | Path) -> None:
        """Write the dataset as a folder of Parquet files with a manifest."""
        with replacing_folder(Path(folder)) as draft:
            self.write_into(draft)

    def write_into(self, folder: Path) -> None:
        """Write the files of the dataset into a folder that is being filled."""
        write_table(self.examples, folder / "examples.parquet")
        write_table(self.images.table, folder / "images.parquet")
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
        """Read a dataset folder, or say what is wrong with it."""
        folder = Path(folder)
        manifest = read_record(folder / "manifest.json", Manifest)
        examples, images, counts = (read_table(folder / f"{name}.parquet") for name in ("examples", "images", "counts"))
        places = (None if place is None else folder / place for place in (manifest.root, manifest.features))
        data = cls(manifest.name, examples, Images(images, *places), manifest.modalities, manifest.cluster, counts)
        if manifest.rows != data._heights():
            raise damaged(folder, f"{data._heights()} rows where the manifest says {manifest.rows}")
        return data

    def _heights(self) -> dict[str, int]:
        return {"examples": self.examples.height, "images": self.images.table.height}

    def _judge_split(self) -> str | None:
        found = self.splits()
        answered = [
            name
            for name in JUDGE_SPLITS
            if name in found and self.take(pl.col("split") == name).examples["answer"].is_not_null().any()
        ]
        return answered[0] if answered else None

    def _require(self, columns: Sequence[str]) -> None:
        for name in columns:
            if name not in self.examples.columns:
                found = f"columns {', '.join(self.examples.columns)}"
                advice = "add or map it when reading; `splits.QT` is there once `splits` is studied"
                raise DataError(f"a column {name!r} in the examples of {self.name}", found, advice)

    def _check_images(self) -> None:
        known = self.images.table["image"].implode()
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
