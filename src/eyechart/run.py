"""The run: study, probe, predict and judge over one folder, so that work can stop and go on anywhere."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Self

import polars as pl

from eyechart.audits import lacking, make_audit
from eyechart.dataset import Dataset
from eyechart.engines.local import Local
from eyechart.errors import DataError, FileFormatError, ModelError
from eyechart.files import read_record, replacing_folder, write_record, write_table
from eyechart.layout import Layout, Manifest, Plan, fingerprint
from eyechart.models.asking import AnswerLog, ask, unanswered
from eyechart.progress import Progress, quiet, watched_by
from eyechart.protocols import Audit, Engine, Model, Stocked
from eyechart.registry import reference_to
from eyechart.result import Result
from eyechart.tables import ANSWERS, COUNTS, empty


@dataclass(frozen=True)
class Asking:
    """How a model is asked."""

    batch: int = 512
    fresh: bool = False  # ask anew what is answered already
    max_calls: int | None = None
    allow_partial: bool = False


@dataclass(frozen=True)
class Run:
    """One folder with data, studies, probes, answers and results, and the arrows between them."""

    at: Layout
    engine: Engine = field(default_factory=Local)
    progress: Progress = quiet
    asking: Asking = field(default_factory=Asking)

    def start(self, data: Dataset, command: str = "", seed: int = 0, limit: int | None = None) -> Self:
        """Put a dataset (or a sample of it) into the folder, or go on with what is there if it is on the same data."""
        data = data.sample(limit, seed)
        with tempfile.TemporaryDirectory() as place:
            data.save(Path(place) / "data")
            inputs = fingerprint(Path(place) / "data")
        if (self.at.folder / "manifest.json").exists():
            if self.at.manifest.inputs != inputs:
                advice = "name another folder for this run, or remove that one"
                raise FileFormatError(f"the run in {self.at.folder} to be on {data.name!r}", "other data there", advice)
            return self
        with replacing_folder(self.at.folder) as draft:
            data.save(draft / "data")
            write_record(Manifest("run", command, seed, limit, inputs), draft / "manifest.json")
        return self

    def study(self, audits: Iterable[Audit]) -> dict[str, Result]:
        """Let audits look at the data alone; a study made before with the same settings is kept."""
        chosen = sorted(audits, key=lambda audit: any("." in name for name in _texts(audit)))  # who borrows comes later
        with self.progress("studying", len(chosen)) as advance, watched_by(self.progress):
            for audit in chosen:
                self._study(audit)
                advance(1)
        return {audit.name: Result.load(self.at.study_folder(audit.name)) for audit in chosen}

    def probe(self, turn: int = 0) -> dict[str, int]:
        """Write what a model must answer for every study, and count the probes of each condition."""
        written: set[str] = set()
        for audit, study in self._studied():
            for condition, probes in audit.probe(self._data_for(audit), study, turn):
                kept = condition in written or (turn > 0 and condition in self.at.conditions())
                before = self.at.probes(condition) if kept else probes.clear()
                write_table(_merge(before, probes, condition), self.at.probe_file(condition))
                written.add(condition)
        for condition in self.at.conditions():
            if turn == 0 and condition not in written:
                self.at.probe_file(condition).unlink()
        return {condition: self.at.probes(condition).height for condition in self.at.conditions()}

    def calls(self, model: Model) -> dict[str, int]:
        """Count the calls a model would still get, by condition."""
        return {condition: self._todo(model, condition).height for condition in self.at.conditions()}

    def predict(self, model: Model) -> pl.DataFrame:
        """Ask a model what it has not answered yet, and count what files of answers hold and lack."""
        calls = self.calls(model)
        if not calls:
            raise FileFormatError(f"probes in {self.at.folder}", "none", "run `eyechart probe` first")
        most = self.asking.max_calls
        if most is not None and sum(calls.values()) > most:
            advice = "raise --max-calls, or take fewer examples with --limit"
            raise ModelError(f"at most {most} calls of {model.name}", f"{sum(calls.values())} to make", advice)
        if self._from_scratch(model):
            shutil.rmtree(self.at.answer_folder(model.name), ignore_errors=True)
        stock = pl.concat([empty(COUNTS), *(self._predict(model, condition) for condition in calls)])
        write_table(stock, self.at.stock_file(model.name))
        return stock

    def judge(self, model: str) -> dict[str, Result]:
        """Measure a model by every study of the run."""
        predictions = self.at.answers(model)
        for condition in self.at.conditions():
            probes = self.at.probes(condition)
            predictions.check_against(probes, condition, allow_partial=self.asking.allow_partial)
        results = {}
        for audit, study in self._studied():
            with watched_by(self.progress):
                results[audit.name] = audit.judge(self._data_for(audit), study, predictions, self.engine)
            results[audit.name].save(self.at.result_folder(model, audit.name))
        return results

    def audit(self, model: Model) -> dict[str, Result]:
        """Probe, predict and judge, round after round, until no audit wants more."""
        turn = 0
        while True:
            self.probe(turn)
            self.predict(model)
            results = self.judge(model.name)
            if not any(result.wants_more for result in results.values()):
                return results
            turn += 1

    def _study(self, audit: Audit) -> None:
        data = self._data_for(audit)
        lost = lacking(audit, data)
        if lost:
            found = f"no {', '.join(lost)} in {self.at.data.name}"
            advice = "map or add them; `eyechart ls audits --for DATA` lists what each audit needs"
            raise DataError(f"the columns that audit {audit.name!r} needs", found, advice)
        plan = self.at.plan_file(audit.name)
        if plan.is_file() and self._planned(plan) == audit:
            return
        audit.study(data, self.engine).save(self.at.study_folder(audit.name))
        write_record(Plan(reference_to(type(audit)), asdict(audit)), plan)  # type: ignore[call-overload]  # a dataclass

    def _data_for(self, audit: Audit) -> Dataset:
        """Add the columns of other studies that the settings of an audit name."""
        return self.at.data_with(_texts(audit))

    def _studied(self) -> Iterator[tuple[Audit, Result]]:
        studies = self.at.studies()
        if not studies:
            raise FileFormatError(f"studies in {self.at.folder}", "none", "run `eyechart study` first")
        for name, study in studies.items():
            yield self._planned(self.at.plan_file(name)), study

    def _planned(self, file: Path) -> Audit:
        plan = read_record(file, Plan)
        return make_audit(plan.reference, plan.settings)

    def _predict(self, model: Model, condition: str) -> pl.DataFrame:
        file = self.at.answer_file(model.name, condition)
        log = AnswerLog(file.with_suffix(".jsonl"))
        todo = unanswered(self.at.probes(condition), self._known(model, condition))
        if todo.height:
            with self.progress(f"asking {model.name}, {condition}", todo.height) as advance:
                for answers in ask(model, todo, self.at.data, self.engine, self.asking.batch):
                    log.append(answers)
                    advance(answers.height)
        write_table(self._known(model, condition), file)
        log.remove()
        return model.stock(self.at.probes(condition)) if isinstance(model, Stocked) else empty(COUNTS)

    def _todo(self, model: Model, condition: str) -> pl.DataFrame:
        probes = self.at.probes(condition)
        return probes if self._from_scratch(model) else unanswered(probes, self._known(model, condition))

    def _from_scratch(self, model: Model) -> bool:
        """Tell whether earlier answers are forgotten; files of answers may have changed and are cheap to read."""
        return self.asking.fresh or isinstance(model, Stocked)

    def _known(self, model: Model, condition: str) -> pl.DataFrame:
        """Read the answers so far, finished ones and logged ones."""
        file = self.at.answer_file(model.name, condition)
        saved = pl.read_parquet(file) if file.is_file() else empty(ANSWERS)
        logged = AnswerLog(file.with_suffix(".jsonl")).read()
        return pl.concat([saved, logged], how="diagonal").unique(ANSWERS.key, keep="last", maintain_order=True)


def _texts(audit: Audit) -> list[str]:
    """List the texts among the settings of an audit, alone or in a tuple."""
    values = asdict(audit).values()  # type: ignore[call-overload]  # audits are dataclasses
    listed = [item for value in values for item in (value if isinstance(value, tuple) else (value,))]
    return [item for item in listed if isinstance(item, str)]


def _merge(before: pl.DataFrame, probes: pl.DataFrame, condition: str) -> pl.DataFrame:
    """Unite the probes that several audits ask for under one condition."""
    united = pl.concat([before, probes], how="diagonal").unique(["id", "probe"], maintain_order=True).sort("id")
    if united["id"].is_duplicated().any():
        found = f"two for id {united.filter(united['id'].is_duplicated())['id'][0]!r}"
        raise DataError(f"one content for each probe of condition {condition!r}", found, "give conditions other names")
    return united
