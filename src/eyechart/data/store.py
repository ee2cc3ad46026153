"""Open the folder of a run lazily, reading each table when it is needed.

All code that reads a run uses the store: names of studies, models and conditions are known without loading
anything, and a table is read only once while its file is unchanged. docs/formats.md shows the folder.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from eyechart.base.errors import FileFormatError
from eyechart.base.files import digest_arrays, read_format, read_record, write_table
from eyechart.data.dataset import Dataset, DatasetManifest
from eyechart.data.folder import RunFolder
from eyechart.data.furniture import Look
from eyechart.data.images import Images
from eyechart.data.predictions import Predictions
from eyechart.data.records import (
    DivisionRecord,
    LeftOutAudits,
    ModelIdentity,
    RunManifest,
    StudyPlan,
    WantedConditions,
)
from eyechart.data.result import OWN_TABLES, Result, read_result_table
from eyechart.data.stored import TableCache, TableFile, stat_table
from eyechart.data.tables import COUNTS, empty
from eyechart.data.web import Web

DIVIDED = 2  # the first format whose runs record their division


class Results(Mapping[str, Result]):
    """Results by name, each opened when needed."""

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
class Store(RunFolder):
    """A run folder, whose contents are read when they are needed."""

    web: Web = field(default_factory=Web)  # pictures that may be fetched when only their addresses are known
    _tables: TableCache = field(default_factory=TableCache, repr=False)

    @property
    def manifest(self) -> RunManifest:
        """Read the record of how the run was made."""
        if not self.manifest_file.is_file():
            advice = "make one with `eyechart study` or `eyechart audit`"
            raise FileFormatError(f"a run in {self.folder}", "no manifest.json there", advice)
        return read_record(self.manifest_file, RunManifest)

    @property
    def divided(self) -> DivisionRecord | None:
        """Read the division; return None for runs of older versions."""
        if self.division_file.is_file():
            return read_record(self.division_file, DivisionRecord)
        if read_format(self.manifest_file) < DIVIDED:
            return None
        advice = "restore it, or start another run: without it nobody knows what was judged"
        raise FileFormatError(f"a file {self.division_file}", "none", advice)

    @cached_property
    def about_data(self) -> DatasetManifest:
        """Read the manifest of the dataset."""
        return read_record(self.data_folder / "manifest.json", DatasetManifest)

    @property
    def examples(self) -> TableFile:
        """Return the table of examples."""
        return stat_table(self.data_folder / "examples.parquet")

    @property
    def images(self) -> TableFile:
        """Return the table of images."""
        return stat_table(self.data_folder / "images.parquet")

    @cached_property
    def data(self) -> Dataset:
        """Load the dataset with the run's division."""
        data, divided = Dataset.load(self.data_folder), self.divided
        data = data.fetching(self.web) if self.web != Web() else data
        return data if divided is None else data.under(divided.division)

    def data_with(self, names: Iterable[str]) -> Dataset:
        """Load the dataset with columns of studies: `splits.QT` is the column `QT` of the rows of study `splits`.

        Names of existing columns, or of no study, add nothing.
        """
        data = self.data
        for name in dict.fromkeys(names):
            study, _, column = name.partition(".")
            table = self.rows(study)
            if name not in data.columns and column and table is not None:
                rows = table.scan()
                if column in rows.collect_schema():
                    data = data.lend(rows.select("id", pl.col(column).alias(name)))
        return data

    def picture_table(self, image: str) -> Images:
        """Load the row of an image."""
        one = self.images.scan().filter(pl.col("image") == image).collect()
        return Images(one, self.about_data.image_root(self.data_folder), web=self.web)

    def table(self, path: Path) -> pl.DataFrame:
        """Read a table of the run, only once while its file is unchanged."""
        return self._tables.table(path)

    def lazy(self, path: Path) -> pl.LazyFrame:
        """Query a table of the run without reading its file if it is already in memory."""
        return self._tables.lazy(path)

    def write(self, table: pl.DataFrame, path: Path) -> None:
        """Write a table of the run, and keep it in memory."""
        write_table(table, path)
        self._tables.keep(path, table)

    def save(self, result: Result, folder: Path) -> None:
        """Write a study or a result, and keep its tables in memory."""
        result.save(folder)
        for name in (*OWN_TABLES, *result.tables):
            self._tables.keep(folder / f"{name}.parquet", result.table(name))

    def plan(self, audit: str) -> StudyPlan:
        """Read which audit made a study."""
        return read_record(self.plan_file(audit), StudyPlan)

    def looks(self) -> list[Look]:
        """Collect the looks of the conditions of all studies."""
        plans = [read_record(file, StudyPlan) for file in self.plan_files()]
        return list(dict.fromkeys(look for plan in plans for look in plan.looks))

    def left_out(self) -> dict[str, str]:
        """Read why audits were not studied, except for those that were studied later."""
        if not self.left_out_file.is_file():
            return {}
        return read_record(self.left_out_file, LeftOutAudits).unless(lambda audit: self.plan_file(audit).is_file())

    def wanted(self) -> WantedConditions:
        """Read the conditions under which each audit needs answers, whose probes must be there."""
        advice = "run `eyechart probe` first"
        if not self.wanted_file.is_file():
            found = f"no {self.wanted_file.name}" if self.conditions() else "none"
            raise FileFormatError(f"probes in {self.folder}", found, advice)
        wanted = read_record(self.wanted_file, WantedConditions)
        if not wanted.conditions and self.study_folders():
            raise FileFormatError(f"conditions in {self.wanted_file}", "none, though there are studies", advice)
        for condition in wanted.every:
            if not self.probe_file(condition).is_file():
                raise FileFormatError(f"a file {self.probe_file(condition)}", "none", "run `eyechart probe` again")
        return wanted

    def studies(self) -> Results:
        """Return the studies made so far, each opened when needed."""
        return self._results(self.study_folders())

    def results(self) -> dict[str, Results]:
        """Return the results so far by model and audit, each opened when needed."""
        return {model: self._results(folders) for model, folders in self.result_folders().items()}

    def rows(self, audit: str, model: str | None = None) -> TableFile | None:
        """Find the rows of a study or of a model's result, None if there are none."""
        return self.table_of("rows", audit, model)

    def table_of(self, name: str, audit: str, model: str | None = None) -> TableFile | None:
        """Find a table of a study or of a model's result, None if it is missing."""
        folder = self.study_folder(audit) if model is None else self.result_folder(model, audit)
        return _find_table(folder / f"{name}.parquet")

    def probes(self, condition: str) -> pl.DataFrame:
        """Read the probes of a condition."""
        return self.table(self.probe_file(condition))

    def probe_keys(self, condition: str) -> TableFile | None:
        """Find the probes of a condition; None if there are none."""
        return _find_table(self.probe_file(condition))

    def answers(self, model: str) -> Predictions:
        """Read the answers of a model under all conditions."""
        files = [self.answer_file(model, condition) for condition in self.answered(model)]
        if not files:
            advice = "run `eyechart predict` first"
            raise FileFormatError(f"answers of {model} in {self.folder}", "none", advice)
        return Predictions(model, pl.concat([self.table(path) for path in files], how="diagonal"))

    def answers_under(self, model: str, condition: str) -> TableFile | None:
        """Find the answers of a model under a condition; None if there are none."""
        return _find_table(self.answer_file(model, condition))

    def stock(self, model: str) -> pl.DataFrame:
        """Read the counts of a model's answer files."""
        file = self.stock_file(model)
        return self.table(file) if file.is_file() else empty(COUNTS)

    def identity(self, model: str) -> dict[str, Any]:
        """Read the identity of a model; it is empty for a model that has none."""
        file = self.asked_file(model)
        return read_record(file, ModelIdentity).identity if file.is_file() else {}

    def _results(self, folders: Mapping[str, Path]) -> Results:
        return Results(folders, lambda path: self._tables.table(path, read_result_table))


def fingerprint(folder: Path) -> dict[str, str]:
    """Hash the tables of a saved dataset, and parts of its region features."""
    tables = {path.name: _hash(path) for path in sorted(folder.glob("*.parquet"))}
    features = Dataset.load(folder).images.features
    return tables if features is None else {**tables, "features": digest_arrays(features)}


def _hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _find_table(path: Path) -> TableFile | None:
    return stat_table(path) if path.is_file() else None
