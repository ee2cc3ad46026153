"""The files of a run, read piecemeal: a page loads the columns it shows and nothing else."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import polars as pl

from eyechart.dataset import Images
from eyechart.dataset import Manifest as DataManifest
from eyechart.files import read_record, read_table
from eyechart.store import Store
from eyechart.result import Record, Result
from eyechart.tables import ROWS, empty


class Stamped(NamedTuple):
    """A file as it is now: what was found in it may be kept as long as this stays equal."""

    path: Path
    changed: int
    size: int

    def scan(self) -> pl.LazyFrame:
        """Read the file lazily."""
        return pl.scan_parquet(self.path, glob=False)


def stamped(path: Path) -> Stamped:
    """Look at when a file changed."""
    facts = path.stat()
    return Stamped(path, facts.st_mtime_ns, facts.st_size)


@dataclass(frozen=True)
class Shelf:
    """The places of a run, and its small facts."""

    store: Store

    @cached_property
    def about(self) -> DataManifest:
        """Read what the dataset says of itself."""
        return read_record(self.store.folder / "data" / "manifest.json", DataManifest)

    @property
    def examples(self) -> Stamped:
        """Find the examples."""
        return stamped(self.store.folder / "data" / "examples.parquet")

    @property
    def images(self) -> Stamped:
        """Find the images."""
        return stamped(self.store.folder / "data" / "images.parquet")

    @property
    def root(self) -> Path | None:
        """Find the folder of the pictures."""
        return None if self.about.root is None else self.store.folder / "data" / self.about.root

    @property
    def pictured(self) -> bool:
        """Tell whether the images name files of pictures."""
        return "path" in self.images.scan().collect_schema()

    def studies(self) -> list[str]:
        """Name the studies made so far."""
        return list(_named(self.store.folder / "studies"))

    def results(self) -> dict[str, list[str]]:
        """Name the audits of each model that was judged."""
        models = _named(self.store.folder / "results")
        return {model: list(_named(place)) for model, place in models.items()}

    def models(self) -> list[str]:
        """Name the models that answered or were judged."""
        return sorted({*self.store.models(), *self.results()})

    def rows(self, audit: str, model: str | None = None) -> Stamped | None:
        """Find the rows of a study, or of a model's result; None where there are none."""
        store = self.store
        folder = store.study_folder(audit) if model is None else store.result_folder(model, audit)
        return _found(folder / "rows.parquet")

    def rules(self) -> Stamped | None:
        """Find the mined rules; None where none were mined."""
        return _found(self.store.study_folder("rules") / "rules.parquet")

    def answers(self, model: str, condition: str) -> Stamped | None:
        """Find the answers of a model under a condition."""
        return _found(self.store.answer_file(model, condition))

    def probes(self, condition: str) -> Stamped | None:
        """Find the probes of a condition."""
        return _found(self.store.probe_file(condition))

    def conditions(self) -> list[str]:
        """Name the conditions, the unchanged one first."""
        return sorted(self.store.conditions(), key=lambda name: (name != "plain", name))

    def asked_conditions(self, model: str) -> list[str]:
        """Name the conditions a model answered under, the unchanged one first."""
        files = self.store.answer_folder(model).glob("*.parquet")
        return sorted((unquote(file.stem) for file in files), key=lambda name: (name != "plain", name))

    def outline(self, audit: str, model: str | None = None) -> Result:
        """Load a result without its rows, views and further tables, which can be large."""
        store = self.store
        return _outline(store.study_folder(audit) if model is None else store.result_folder(model, audit))

    def judged(self, model: str, audit: str) -> Result:
        """Load a result with its rows, and of its measures those over all examples."""
        place = self.store.result_folder(model, audit)
        found = _outline(place)
        whole = found.measures.filter(pl.col("by").is_null())
        rows = read_table(place / "rows.parquet")
        return Result(found.audit, model, found.settings, whole, rows, found.tables, (), found.verdict)

    def picture_table(self, image: str) -> Images:
        """Load the one row of an image."""
        return Images(self.images.scan().filter(pl.col("image") == image).collect(), self.root)


def _outline(folder: Path) -> Result:
    told = read_record(folder / "settings.json", Record)
    measures, counts = (read_table(folder / f"{name}.parquet") for name in ("measures", "counts"))
    tables = {"counts": counts}
    return Result(
        told.audit, told.subject, told.settings, measures, empty(ROWS), tables, (), told.verdict, told.wants_more
    )


def _found(path: Path) -> Stamped | None:
    return stamped(path) if path.is_file() else None


def _named(place: Path) -> dict[str, Path]:
    def folders() -> Iterator[Path]:
        return (path for path in sorted(place.iterdir()) if path.is_dir() and not path.name.startswith("."))

    return {unquote(path.name): path for path in folders()} if place.is_dir() else {}
