"""The run: study, probe, predict and judge over one folder, so that work can stop and go on anywhere."""

import json
import logging
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

import polars as pl

from eyechart.audits import lacking, make_audit
from eyechart.audits.parsing import with_parsing
from eyechart.dataset import Dataset
from eyechart.engines.local import Local
from eyechart.errors import DataError, FileFormatError, ModelError
from eyechart.files import read_record, replacing_folder, write_record, write_table
from eyechart.layout import Asked, Layout, Manifest, Plan, Wanted, fingerprint
from eyechart.models.asking import AnswerLog, ask, asking_alone, foresee, unanswered
from eyechart.predictions import Predictions
from eyechart.progress import Progress, quiet, watched_by
from eyechart.protocols import Audit, Engine, Foreseeing, Identified, Model, Stocked
from eyechart.registry import reference_to
from eyechart.result import Result
from eyechart.tables import ANSWERS, COUNTS, empty

_log = logging.getLogger("eyechart.run")


@dataclass(frozen=True)
class Asking:
    """How a model is asked."""

    batch: int = 512
    fresh: bool = False  # ask anew what is answered already
    max_calls: int | None = None
    allow_partial: bool = False
    skip: bool = False  # leave out audits that the data or a file of answers do not allow, where none were named


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
        made = []
        with self.progress("studying", len(chosen)) as advance, watched_by(self.progress):
            for audit in chosen:
                if self._study_or_skip(audit):
                    made.append(audit.name)
                advance(1)
        return {name: Result.load(self.at.study_folder(name)) for name in made}

    def probe(self, turn: int = 0) -> dict[str, int]:
        """Write what a model must answer for every study, and count the probes of each condition."""
        written: set[str] = set()
        wanted = {name: list(conditions) for name, conditions in self.at.wanted().items()} if turn else {}
        for audit, study in self._studied():
            for condition, probes in audit.probe(self._data_for(audit), study, turn):
                wanted.setdefault(audit.name, []).append(condition)
                kept = condition in written or (turn > 0 and condition in self.at.conditions())
                before = self.at.probes(condition) if kept else probes.clear()
                write_table(_merge(before, probes, condition), self.at.probe_file(condition))
                written.add(condition)
        for condition in self.at.conditions():
            if turn == 0 and condition not in written:
                self.at.probe_file(condition).unlink()
        own = {name: tuple(dict.fromkeys(conditions)) for name, conditions in wanted.items()}
        write_record(Wanted("wanted", own), self.at.wanted_file)
        return {condition: self.at.probes(condition).height for condition in self.at.conditions()}

    def calls(self, model: Model) -> dict[str, int]:
        """Count the calls a model would still get, by condition."""
        return {condition: self._todo(model, condition).height * _draws(model) for condition in self.at.conditions()}

    def foresee(self, model: Foreseeing) -> pl.DataFrame:
        """Look at all that a model would still be shown and count, by condition, what asking would take."""
        todo = {condition: self._todo(model, condition) for condition in self.at.conditions()}
        total = sum(probes.height for probes in todo.values()) * model.draws
        with self.progress(f"looking ahead for {model.name}", total) as advance:
            return foresee(model, todo.items(), self.at.data, self.asking.batch, advance)

    def predict(self, model: Model) -> pl.DataFrame:
        """Ask a model what it has not answered yet, and count what files of answers hold and lack."""
        calls = {condition: n for condition, n in self.calls(model).items() if condition in self._served(model)}
        if not calls:
            raise FileFormatError(f"probes in {self.at.folder}", "none", "run `eyechart probe` first")
        self._keep_budget(model, sum(calls.values()))
        with asking_alone(self.at.lock_file(model.name), model.name), watched_by(self.progress):
            if self._from_scratch(model):
                shutil.rmtree(self.at.answer_folder(model.name), ignore_errors=True)
            if isinstance(model, Identified):
                self._keep_identity(model.name, json.loads(model.identity))
            stock = pl.concat([empty(COUNTS), *(self._predict(model, condition) for condition in calls)])
            write_table(stock, self.at.stock_file(model.name))
        return stock

    def judge(self, model: str) -> dict[str, Result]:
        """Measure a model by every study of the run."""
        predictions = self.at.answers(model)
        wanted = self._answered(predictions)
        for condition in self.at.conditions():
            if any(condition in conditions for conditions in wanted.values()):
                probes = self.at.probes(condition)
                predictions.check_against(probes, condition, allow_partial=self.asking.allow_partial)
        results = {}
        for audit, study in self._studied():
            if audit.name not in wanted:
                continue
            with watched_by(self.progress):
                found = audit.judge(self._data_for(audit), study, predictions, self.engine)
            results[audit.name] = with_parsing(found, self.at.data, predictions, self.at.probes)
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

    def _study_or_skip(self, audit: Audit) -> bool:
        try:
            self._study(audit)
        except DataError as error:
            if not self.asking.skip:
                raise
            _log.warning("audit %r left out: %s", audit.name, error)
            return False
        return True

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

    def _served(self, model: Model) -> set[str]:
        """Name the conditions to ask under: all, but of files of answers only those of audits that they serve."""
        wanted = self.at.wanted()
        if not (isinstance(model, Stocked) and self.asking.skip):
            return set(self.at.conditions())
        kept = {name: own for name, own in wanted.items() if all(model.holds(condition) for condition in own)}
        self._tell_lacking(model.name, wanted.keys() - kept.keys())
        if not kept:
            needed = ", ".join(sorted({condition for own in wanted.values() for condition in own}))
            advice = "name a file for each condition of an audit, as in predictions:plain=...,evidence=..."
            raise ModelError(f"answers of {model.name} for an audit (conditions {needed})", "too few", advice)
        return {condition for own in kept.values() for condition in own}

    def _answered(self, predictions: Predictions) -> dict[str, tuple[str, ...]]:
        """Name the audits to judge by, with their conditions; those without any answers under one may be left out."""
        wanted, known = self.at.wanted(), set(predictions.answers["condition"].unique())
        if not (self.asking.skip or self.asking.allow_partial):
            return wanted
        kept = {name: own for name, own in wanted.items() if known.issuperset(own)}
        self._tell_lacking(predictions.model, wanted.keys() - kept.keys())
        return kept or wanted

    def _tell_lacking(self, model: str, audits: Iterable[str]) -> None:
        for name in sorted(audits):
            _log.warning("audit %r left out: %s has no answers under some of its conditions", name, model)

    def _keep_budget(self, model: Model, calls: int) -> None:
        most = self.asking.max_calls
        if most is None or calls <= most:
            return
        if isinstance(model, Foreseeing):
            calls = int(self.foresee(model)["calls"].sum())
        if calls > most:
            advice = "raise --max-calls, or take fewer examples with --limit"
            raise ModelError(f"at most {most} calls of {model.name}", f"{calls} to make", advice)

    def _keep_identity(self, name: str, identity: dict[str, Any]) -> None:
        """Write down what exactly answers, and let nothing else go on with its answers; where it runs is its affair."""
        file = self.at.asked_file(name)
        if file.is_file() and any(self.at.answer_folder(name).glob("*")):
            before = read_record(file, Asked).identity
            changed = sorted(key for key in before | identity if before.get(key) != identity.get(key))
            if set(changed) - {"base_url"}:
                found = f"another {', '.join(changed)}"
                raise ModelError(f"the {name} that gave the answers so far", found, "ask it anew with --fresh")
        write_record(Asked("asked", identity), file)

    def _predict(self, model: Model, condition: str) -> pl.DataFrame:
        file = self.at.answer_file(model.name, condition)
        log = AnswerLog(file.with_suffix(".jsonl"))
        if (borrowed := self._borrowed(model, condition)).height:
            log.append(borrowed)
        todo = unanswered(self.at.probes(condition), self._known(model, condition), _draws(model))
        if todo.height:
            with self.progress(f"asking {model.name}, {condition}", todo.height * _draws(model)) as advance:
                for answers in ask(model, todo, self.at.data, self.engine, self.asking.batch):
                    log.append(answers)
                    advance(answers.height)
        write_table(self._known(model, condition), file)
        log.remove()
        return model.stock(self.at.probes(condition)) if isinstance(model, Stocked) else empty(COUNTS)

    def _borrowed(self, model: Model, condition: str) -> pl.DataFrame:
        """Copy the answers to the very same content of the same examples that were given under other conditions."""
        todo = unanswered(self.at.probes(condition), self._known(model, condition), _draws(model))
        files = [self.at.answer_file(model.name, other) for other in self.at.conditions() if other != condition]
        if isinstance(model, Stocked) or not todo.height or not any(file.is_file() for file in files):
            return empty(ANSWERS)
        given = pl.concat([pl.scan_parquet(file) for file in files if file.is_file()], how="diagonal_relaxed")
        same = given.filter(pl.col("status") != "failed").join(
            todo.lazy().select("id", "probe"), on=["id", "probe"], how="semi"
        )
        found = same.unique(["id", "probe", "draw"], keep="first", maintain_order=True).collect()
        return found.with_columns(pl.lit(condition).alias("condition"))

    def _todo(self, model: Model, condition: str) -> pl.DataFrame:
        probes = self.at.probes(condition)
        if self._from_scratch(model):
            return probes
        return unanswered(probes, self._known(model, condition), _draws(model))

    def _from_scratch(self, model: Model) -> bool:
        """Tell whether earlier answers are forgotten; files of answers may have changed and are cheap to read."""
        return self.asking.fresh or isinstance(model, Stocked)

    def _known(self, model: Model, condition: str) -> pl.DataFrame:
        """Read the answers so far, finished ones and logged ones."""
        file = self.at.answer_file(model.name, condition)
        saved = pl.read_parquet(file) if file.is_file() else empty(ANSWERS)
        logged = AnswerLog(file.with_suffix(".jsonl")).read()
        return pl.concat([saved, logged], how="diagonal").unique(ANSWERS.key, keep="last", maintain_order=True)


def _draws(model: Model) -> int:
    return model.draws if isinstance(model, Foreseeing) else 1


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
