"""Where everything lies in the folder of a run, and how it is read back; docs/formats.md draws it."""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote, unquote

import polars as pl

from eyechart.dataset import Dataset
from eyechart.errors import FileFormatError
from eyechart.files import digest_arrays, read_record, read_table
from eyechart.predictions import Predictions
from eyechart.result import Result
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
class Plan:
    """Which audit made a study, so that a later process can go on with it."""

    reference: str
    settings: dict[str, Any]


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


@dataclass(frozen=True)
class Layout:
    """The places in a run folder."""

    folder: Path
    web: Web = field(default_factory=Web)  # what may be fetched of pictures that are only addresses

    @property
    def manifest(self) -> Manifest:
        """Read what the run says of itself."""
        file = self.folder / "manifest.json"
        if not file.is_file():
            advice = "make one with `eyechart study` or `eyechart audit`"
            raise FileFormatError(f"a run in {self.folder}", "no manifest.json there", advice)
        return read_record(file, Manifest)

    @cached_property
    def data(self) -> Dataset:
        """Load the dataset."""
        data = Dataset.load(self.folder / "data")
        return data.fetching(self.web) if self.web != Web() else data

    def data_with(self, names: Iterable[str]) -> Dataset:
        """Load the dataset with columns lent by studies: `splits.QT` is the column `QT` of the rows of study `splits`.

        Names that are columns already, or of no study, add nothing.
        """
        data = self.data
        for name in dict.fromkeys(names):
            study, _, column = name.partition(".")
            rows = self.study_folder(study) / "rows.parquet"
            if name not in data.columns and column and rows.is_file():
                lent = pl.scan_parquet(rows)
                if column in lent.collect_schema():
                    data = data.lend(lent.select("id", pl.col(column).alias(name)))
        return data

    def plan_file(self, audit: str) -> Path:
        """Place the plan of a study."""
        return self.folder / "studies" / f"{audit}.json"

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

    def studies(self) -> dict[str, Result]:
        """Load the studies made so far."""
        return {name: Result.load(place) for name, place in _folders(self.folder / "studies")}

    def results(self) -> dict[str, dict[str, Result]]:
        """Load the results so far, by model and audit."""
        models = _folders(self.folder / "results")
        return {model: {name: Result.load(at) for name, at in _folders(place)} for model, place in models}

    def conditions(self) -> list[str]:
        """Name the conditions that were probed."""
        return [unquote(path.stem) for path in sorted((self.folder / "probes").glob("*.parquet"))]

    def probes(self, condition: str) -> pl.DataFrame:
        """Read the probes of a condition."""
        return read_table(self.probe_file(condition))

    def models(self) -> list[str]:
        """Name the models that answered."""
        return [name for name, _ in _folders(self.folder / "answers")]

    def answers(self, model: str) -> Predictions:
        """Read the answers of a model under all conditions."""
        files = sorted(self.answer_folder(model).glob("*.parquet"))
        if not files:
            advice = "run `eyechart predict` first"
            raise FileFormatError(f"answers of {model} in {self.folder}", "none", advice)
        return Predictions(model, pl.concat([read_table(path) for path in files], how="diagonal"))

    def stock(self, model: str) -> pl.DataFrame:
        """Read the counts of what a model's files of answers hold."""
        file = self.stock_file(model)
        return read_table(file) if file.is_file() else empty(COUNTS)


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


def _folders(place: Path) -> Iterator[tuple[str, Path]]:
    found = sorted(path for path in place.iterdir() if path.is_dir()) if place.is_dir() else []
    return ((unquote(path.name), path) for path in found if not path.name.startswith("."))
