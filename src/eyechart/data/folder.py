"""Name every file of a run folder, and list what is there, without reading any of it (docs/formats.md shows it)."""

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from eyechart.data.result import RECORD

REPORT = "report.html"  # the page of a run, unless another place is named


@dataclass(frozen=True, eq=False)
class RunFolder:
    """The places of everything in a run folder."""

    folder: Path

    @property
    def manifest_file(self) -> Path:
        """Return the file of the manifest."""
        return self.folder / "manifest.json"

    @property
    def division_file(self) -> Path:
        """Return the file that records the division."""
        return self.folder / "division.json"

    @property
    def data_folder(self) -> Path:
        """Return the folder of the dataset."""
        return self.folder / "data"

    @property
    def left_out_file(self) -> Path:
        """Return the file that records which audits were not studied."""
        return self.folder / "left_out.json"

    @property
    def wanted_file(self) -> Path:
        """Return the file that records the conditions each audit needs."""
        return self.folder / "probes" / "wanted.json"

    @property
    def people_file(self) -> Path:
        """Return the file of what people answered."""
        return self.folder / "people.jsonl"

    @property
    def report_file(self) -> Path:
        """Return the file of the report, unless another place is named."""
        return self.folder / REPORT

    def plan_file(self, audit: str) -> Path:
        """Return the file of the plan of a study."""
        return self.folder / "studies" / f"{audit}.json"

    def study_folder(self, audit: str) -> Path:
        """Return the folder of a study."""
        return self.folder / "studies" / audit

    def result_folder(self, model: str, audit: str) -> Path:
        """Return the folder of a result."""
        return self.folder / "results" / _quoted(model) / audit

    def probe_file(self, condition: str) -> Path:
        """Return the file of the probes of a condition."""
        return self.folder / "probes" / f"{_quoted(condition)}.parquet"

    def answer_folder(self, model: str) -> Path:
        """Return the folder of the answers of a model."""
        return self.folder / "answers" / _quoted(model)

    def answer_file(self, model: str, condition: str) -> Path:
        """Return the file of the answers of a model under a condition."""
        return self.answer_folder(model) / f"{_quoted(condition)}.parquet"

    def answer_log(self, model: str, condition: str) -> Path:
        """Return the file of the answers of a model that is being asked under a condition."""
        return self.answer_folder(model) / f"{_quoted(condition)}.jsonl"

    def stock_file(self, model: str) -> Path:
        """Return the file with the counts of a model's answer files."""
        return self.folder / "answers" / f"{_quoted(model)}.parquet"

    def asked_file(self, model: str) -> Path:
        """Return the file that records the identity of a model."""
        return self.folder / "answers" / f"{_quoted(model)}.json"

    def lock_file(self, model: str) -> Path:
        """Return the file that is locked while a process asks a model."""
        return self.folder / "answers" / f".{_quoted(model)}.lock"

    def study_folders(self) -> dict[str, Path]:
        """List the folders of the studies made so far, by audit."""
        return _list_folders(self.folder / "studies")

    def result_folders(self) -> dict[str, dict[str, Path]]:
        """List the folders of the results so far, by model and audit."""
        return {model: _list_folders(folder) for model, folder in _list_folders(self.folder / "results").items()}

    def verdict_files(self) -> list[Path]:
        """List the files with the verdicts of all studies and results."""
        folders = (self.study_folders(), *self.result_folders().values())
        return [folder / RECORD for by_audit in folders for folder in by_audit.values()]

    def plan_files(self) -> list[Path]:
        """List the plans of the studies, for those that have one."""
        return [file for audit in self.study_folders() if (file := self.plan_file(audit)).is_file()]

    def conditions(self) -> list[str]:
        """List the conditions that were probed."""
        return _list_tables(self.folder / "probes")

    def models(self) -> list[str]:
        """List the models that answered."""
        return list(_list_folders(self.folder / "answers"))

    def answered(self, model: str) -> list[str]:
        """List the conditions that a model answered under."""
        return _list_tables(self.answer_folder(model))

    def has_answers(self, model: str) -> bool:
        """Return whether there are answers of a model, be they saved or logged."""
        return any(self.answer_folder(model).glob("*"))


def _quoted(name: str) -> str:
    # Names of models and conditions contain slashes and colons, which not every system allows in file names.
    return quote(name, safe=" #+=@")


def _list_folders(parent: Path) -> dict[str, Path]:
    folders = sorted(path for path in parent.iterdir() if path.is_dir()) if parent.is_dir() else []
    return {unquote(path.name): path for path in folders if not path.name.startswith(".")}


def _list_tables(folder: Path) -> list[str]:
    return [unquote(path.stem) for path in sorted(folder.glob("*.parquet"))]
