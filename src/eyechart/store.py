"""The folder of a run, opened lazily: where everything lies in it, and each table read when it is asked for.

Everything that reads a run reads it through here: names of studies, models and conditions are known without loading
anything, and a table is read once while its file stays the same. docs/formats.md draws the folder.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, unquote

import polars as pl

from eyechart.dataset import Dataset, Images
from eyechart.dataset import Manifest as DataManifest
from eyechart.division import Division, Sizes
from eyechart.errors import FileFormatError
from eyechart.files import digest_arrays, read_record, write_table
from eyechart.furniture import Look
from eyechart.predictions import Predictions
from eyechart.result import OWN, Result, read_result_table
from eyechart.stored import Remembered, Stamped, stamped
from eyechart.tables import COUNTS, empty
from eyechart.web import Web


@dataclass(frozen=True)
class Manifest:
    """What a run says of itself."""

    kind: Literal["run"]
    command: str
    seed: int
    limit: int | None
    inputs: dict[str, str]  # file -> SHA-256
    later: tuple[str, ...] = ()  # commands that went on with it

    @property
    def commands(self) -> list[str]:
        """List the commands that make the run again."""
        return [command for command in (self.command, *self.later) if command]


@dataclass(frozen=True)
class Divided:
    """What a run learns from and judges, with the number of examples in each part."""

    kind: Literal["divided"]
    division: Division
    sizes: Sizes


@dataclass(frozen=True)
class Plan:
    """Which audit made a study of which division, so that a later process can go on with it."""

    reference: str  # the name of a registered audit, else where its class is
    settings: dict[str, Any]
    learns: bool = False
    division: Division | None = None  # of older runs it is not known
    looks: tuple[Look, ...] = ()  # of the conditions of this audit


@dataclass(frozen=True)
class Wanted:
    """Under which conditions each audit wants answers."""

    kind: Literal["wanted"]
    conditions: dict[str, tuple[str, ...]]


@dataclass(frozen=True)
class LeftOut:
    """Which audits were not studied, and why."""

    kind: Literal["left out"]
    reasons: dict[str, str]


@dataclass(frozen=True)
class Asked:
    """What exactly answered: the model's revision, its decoding, the words around a question."""

    kind: Literal["asked"]
    identity: dict[str, Any]


class Results(Mapping[str, Result]):
    """Results by name; each is opened when it is asked for."""

    def __init__(self, folders: Mapping[str, Path], read: Callable[[Path], pl.DataFrame]) -> None:
        self._folders = folders
        self._read = read

    def __getitem__(self, name: str) -> Result:
        return Result.load(self._folders[name], self._read)

    def __iter__(self) -> Iterator[str]:
        return iter(self._folders)

    def __len__(self) -> int:
        return len(self._folders)


@dataclass(frozen=True, eq=False)
class Store:
    """A run folder."""

    folder: Path
    web: Web = field(default_factory=Web)  # what may be fetched of pictures that are only addresses
    _remembered: Remembered = field(default_factory=Remembered, repr=False)

    @property
    def manifest_file(self) -> Path:
        """Place what the run says of itself."""
        return self.folder / "manifest.json"

    @property
    def manifest(self) -> Manifest:
        """Read what the run says of itself."""
        if not self.manifest_file.is_file():
            advice = "make one with `eyechart study` or `eyechart audit`"
            raise FileFormatError(f"a run in {self.folder}", "no manifest.json there", advice)
        return read_record(self.manifest_file, Manifest)

    @property
    def division_file(self) -> Path:
        """Place the record of what is learned from and what is judged."""
        return self.folder / "division.json"

    @property
    def divided(self) -> Divided | None:
        """Read what is learned from and what is judged; None of a run of an older eyechart."""
        return read_record(self.division_file, Divided) if self.division_file.is_file() else None

    @property
    def data_folder(self) -> Path:
        """Place the dataset."""
        return self.folder / "data"

    @cached_property
    def about_data(self) -> DataManifest:
        """Read what the dataset says of itself."""
        return read_record(self.data_folder / "manifest.json", DataManifest)

    @property
    def examples(self) -> Stamped:
        """Find the examples."""
        return stamped(self.data_folder / "examples.parquet")

    @property
    def images(self) -> Stamped:
        """Find the images."""
        return stamped(self.data_folder / "images.parquet")

    @cached_property
    def data(self) -> Dataset:
        """Load the dataset, divided as the run is."""
        data, divided = Dataset.load(self.data_folder), self.divided
        data = data.fetching(self.web) if self.web != Web() else data
        return data if divided is None else data.under(divided.division)

    def data_with(self, names: Iterable[str]) -> Dataset:
        """Load the dataset with columns lent by studies: `splits.QT` is the column `QT` of the rows of study `splits`.

        Names that are columns already, or of no study, add nothing.
        """
        data = self.data
        for name in dict.fromkeys(names):
            study, _, column = name.partition(".")
            rows = self.rows(study)
            if name not in data.columns and column and rows is not None:
                lent = rows.scan()
                if column in lent.collect_schema():
                    data = data.lend(lent.select("id", pl.col(column).alias(name)))
        return data

    def picture_table(self, image: str) -> Images:
        """Load the one row of an image."""
        root = self.about_data.root
        one = self.images.scan().filter(pl.col("image") == image).collect()
        return Images(one, None if root is None else self.data_folder / root)

    def table(self, path: Path) -> pl.DataFrame:
        """Read a table of the run, once while its file stays the same."""
        return self._remembered.table(path)

    def lazy(self, path: Path) -> pl.LazyFrame:
        """Query a table of the run; where it is in memory already, its file is not read."""
        return self._remembered.lazy(path)

    def write(self, table: pl.DataFrame, path: Path) -> None:
        """Write a table of the run, and keep it for who asks for it."""
        write_table(table, path)
        self._remembered.keep(path, table)

    def save(self, result: Result, folder: Path) -> None:
        """Write a study or a result, and keep its tables for who asks for them."""
        result.save(folder)
        for name in (*OWN, *result.tables):
            self._remembered.keep(folder / f"{name}.parquet", result.table(name))

    def plan_file(self, audit: str) -> Path:
        """Place the plan of a study."""
        return self.folder / "studies" / f"{audit}.json"

    def plan(self, audit: str) -> Plan:
        """Read which audit made a study."""
        return read_record(self.plan_file(audit), Plan)

    def looks(self) -> list[Look]:
        """Gather how the conditions of all studies look."""
        plans = [self.plan(audit) for audit in self.studies() if self.plan_file(audit).is_file()]
        return list(dict.fromkeys(look for plan in plans for look in plan.looks))

    def study_folder(self, audit: str) -> Path:
        """Place a study."""
        return self.folder / "studies" / audit

    def result_folder(self, model: str, audit: str) -> Path:
        """Place a result."""
        return self.folder / "results" / _quoted(model) / audit

    def probe_file(self, condition: str) -> Path:
        """Place the probes of a condition."""
        return self.folder / "probes" / f"{_quoted(condition)}.parquet"

    @property
    def left_out_file(self) -> Path:
        """Place the record of audits that were not studied."""
        return self.folder / "left_out.json"

    def left_out(self) -> dict[str, str]:
        """Say why audits were not studied, those aside that were studied later."""
        reasons = read_record(self.left_out_file, LeftOut).reasons if self.left_out_file.is_file() else {}
        return {name: why for name, why in reasons.items() if not self.plan_file(name).is_file()}

    @property
    def wanted_file(self) -> Path:
        """Place the record of what each audit wants to be asked."""
        return self.folder / "probes" / "wanted.json"

    def wanted(self) -> dict[str, tuple[str, ...]]:
        """Name the conditions under which each audit wants answers."""
        return read_record(self.wanted_file, Wanted).conditions if self.wanted_file.is_file() else {}

    def answer_folder(self, model: str) -> Path:
        """Place the answers of a model."""
        return self.folder / "answers" / _quoted(model)

    def answer_file(self, model: str, condition: str) -> Path:
        """Place the answers of a model under a condition."""
        return self.answer_folder(model) / f"{_quoted(condition)}.parquet"

    def stock_file(self, model: str) -> Path:
        """Place the counts of what a model's files of answers hold."""
        return self.folder / "answers" / f"{_quoted(model)}.parquet"

    def asked_file(self, model: str) -> Path:
        """Place the record of what exactly answered."""
        return self.folder / "answers" / f"{_quoted(model)}.json"

    def lock_file(self, model: str) -> Path:
        """Place the file that the process which asks a model holds."""
        return self.folder / "answers" / f".{_quoted(model)}.lock"

    def studies(self) -> Results:
        """Name the studies made so far, to be opened when they are asked for."""
        return self._results(self.folder / "studies")

    def results(self) -> dict[str, Results]:
        """Name the results so far, by model and audit, to be opened when they are asked for."""
        return {model: self._results(place) for model, place in _folders(self.folder / "results").items()}

    def rows(self, audit: str, model: str | None = None) -> Stamped | None:
        """Find the rows of a study, or of a model's result; None where there are none."""
        return self.table_of("rows", audit, model)

    def table_of(self, name: str, audit: str, model: str | None = None) -> Stamped | None:
        """Find a table of a study, or of a model's result; None where there is none."""
        folder = self.study_folder(audit) if model is None else self.result_folder(model, audit)
        return _found(folder / f"{name}.parquet")

    def conditions(self) -> list[str]:
        """Name the conditions that were probed."""
        return _names(self.folder / "probes")

    def probes(self, condition: str) -> pl.DataFrame:
        """Read the probes of a condition."""
        return self.table(self.probe_file(condition))

    def probe_keys(self, condition: str) -> Stamped | None:
        """Find the probes of a condition; None where there are none."""
        return _found(self.probe_file(condition))

    def models(self) -> list[str]:
        """Name the models that answered."""
        return list(_folders(self.folder / "answers"))

    def answered(self, model: str) -> list[str]:
        """Name the conditions that a model answered under."""
        return _names(self.answer_folder(model))

    def answers(self, model: str) -> Predictions:
        """Read the answers of a model under all conditions."""
        files = [self.answer_file(model, condition) for condition in self.answered(model)]
        if not files:
            advice = "run `eyechart predict` first"
            raise FileFormatError(f"answers of {model} in {self.folder}", "none", advice)
        return Predictions(model, pl.concat([self.table(path) for path in files], how="diagonal"))

    def answers_under(self, model: str, condition: str) -> Stamped | None:
        """Find the answers of a model under a condition; None where there are none."""
        return _found(self.answer_file(model, condition))

    def stock(self, model: str) -> pl.DataFrame:
        """Read the counts of what a model's files of answers hold."""
        file = self.stock_file(model)
        return self.table(file) if file.is_file() else empty(COUNTS)

    def identity(self, model: str) -> dict[str, Any]:
        """Read what exactly answered; of a model that does not say, nothing."""
        file = self.asked_file(model)
        return read_record(file, Asked).identity if file.is_file() else {}

    def _results(self, place: Path) -> Results:
        return Results(_folders(place), lambda path: self._remembered.table(path, read_result_table))


def fingerprint(folder: Path) -> dict[str, str]:
    """Hash the tables of a saved dataset, and parts of its region features."""
    tables = {path.name: _hash(path) for path in sorted(folder.glob("*.parquet"))}
    features = Dataset.load(folder).images.features
    return tables if features is None else {**tables, "features": digest_arrays(features)}


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _quoted(name: str) -> str:
    # Names of models and conditions hold slashes and colons, which are not for file names everywhere.
    return quote(name, safe=" #+=@")


def _folders(place: Path) -> dict[str, Path]:
    found = sorted(path for path in place.iterdir() if path.is_dir()) if place.is_dir() else []
    return {unquote(path.name): path for path in found if not path.name.startswith(".")}


def _names(place: Path) -> list[str]:
    return [unquote(path.stem) for path in sorted(place.glob("*.parquet"))]


def _found(path: Path) -> Stamped | None:
    return stamped(path) if path.is_file() else None
