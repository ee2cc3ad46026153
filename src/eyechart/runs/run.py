"""The run: study, probe, predict and judge in one folder, so that work can stop and continue at any point."""

import logging
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import NamedTuple, Self

import polars as pl

from eyechart.audits import lacking, learns, refer_to, remake_audit
from eyechart.audits.parsing import warn_of_unknown_options, with_parsing
from eyechart.base.errors import DataError, FileFormatError
from eyechart.base.files import replacing_folder, write_record
from eyechart.base.progress import Progress, quiet, watched_by
from eyechart.data.dataset import Dataset
from eyechart.data.folder import RunFolder
from eyechart.data.furniture import furniture_of
from eyechart.data.predictions import Predictions
from eyechart.data.protocols import Audit, Engine, EstimatingModel, LenientAudit, Model
from eyechart.data.records import DivisionRecord, LeftOutAudits, RunManifest, StudyPlan, WantedConditions
from eyechart.data.result import Result
from eyechart.data.store import Store, fingerprint
from eyechart.data.web import Web
from eyechart.engines import Local
from eyechart.runs.interview import Asking, Interview, warn_left_out
from eyechart.runs.wording import read_stored_answers

_log = logging.getLogger("eyechart.runs.run")


class NamedSplits(NamedTuple):
    """The splits to learn from and to judge on; None where the user names none."""

    learn: Sequence[str] | None = None
    judge: Sequence[str] | None = None


@dataclass(frozen=True)
class Run:
    """One folder of data, studies, probes, answers and results, and the steps between them."""

    store: Store
    engine: Engine = field(default_factory=Local)
    progress: Progress = quiet
    asking: Asking = field(default_factory=Asking)

    def start(
        self,
        data: Dataset,
        command: str = "",
        seed: int = 0,
        limit: int | None = None,
        parts: NamedSplits | None = None,
    ) -> Self:
        """Write a dataset (or a sample of it) into the folder, or continue the run there if it is on the same data.

        The data are divided here, once, into those to learn from and those to judge, unless they already are; later
        calls can only name the same division.
        """
        data, named = data.sample(limit, seed), parts or NamedSplits()
        if self.store.manifest_file.exists():
            self._continue(data, command, seed, named)
            return self
        data = _divide(data, named, seed)
        with replacing_folder(self.store.folder) as folder:
            draft = RunFolder(folder)
            data.save(draft.data_folder)
            inputs = fingerprint(draft.data_folder)
            write_record(RunManifest("run", command, seed, limit, inputs), draft.manifest_file)
            _write_division(data, draft.division_file)
        return self

    def _continue(self, data: Dataset, command: str, seed: int, named: NamedSplits) -> None:
        """Continue the run in the folder if it is on the same data, divided in the same way."""
        with data.on_disk() as folder:
            same = self.store.manifest.inputs == fingerprint(folder)
        if not same:
            advice = "choose another folder for this run, or remove that one"
            raise FileFormatError(f"a run on {data.name!r} in {self.store.folder}", "one on other data", advice)
        known, is_requested = self.store.divided, named != NamedSplits() or data.division is not None
        if known is None:  # an older eyechart made it
            _write_division(_divide(data, named, seed), self.store.division_file)
        elif is_requested and _divide(data, named, known.division.seed).division != known.division:
            advice = "choose another folder for this run, or leave out --learn and --judge"
            expected = f"a run in {self.store.folder} that divides the data as requested"
            raise FileFormatError(expected, f"{known.division}", advice)
        manifest = self.store.manifest
        if (continued := manifest.after(command)) != manifest:
            write_record(continued, self.store.manifest_file)

    def study(self, audits: Iterable[Audit], left_out: Mapping[str, str] | None = None) -> dict[str, Result]:
        """Study the data by audits, without a model; an earlier study with the same settings is kept.

        `left_out` gives the reasons why other audits are missing, to be recorded in the run.
        """
        # Audits that use columns of other studies run last.
        chosen = sorted(audits, key=lambda audit: any("." in name for name in _texts(audit)))
        made, unmade = [], dict(left_out or {})
        with self.progress("studying", len(chosen)) as advance, watched_by(self.progress):
            for audit in chosen:
                if (reason := self._study_or_skip(audit)) is None:
                    made.append(audit.name)
                else:
                    unmade[audit.name] = reason
                advance(1)
        if chosen and not made:
            advice = "add what they need; `eyechart ls audits --for DATA` shows it"
            raise DataError("data that an audit can study", "; ".join(unmade.values()), advice)
        if unmade:
            write_record(LeftOutAudits("left out", self.store.left_out() | unmade), self.store.left_out_file)
        studies = self.store.studies()
        return {name: studies[name] for name in made}

    def probe(self, turn: int = 0) -> dict[str, int]:
        """Write the probes of every study, and count those of each condition."""
        written: set[str] = set()
        before = self.store.wanted().conditions if turn else {}
        wanted = {name: list(conditions) for name, conditions in before.items()}
        lenient = {}
        for audit, study in self._studied():
            if isinstance(audit, LenientAudit):
                lenient[audit.name] = audit.can_spare
            for condition, probes in audit.probe(self._data_for(audit), study, turn):
                wanted.setdefault(audit.name, []).append(condition)
                kept = condition in written or (turn > 0 and condition in self.store.conditions())
                known = self.store.probes(condition) if kept else probes.clear()
                self.store.write(_merge(known, probes, condition), self.store.probe_file(condition))
                written.add(condition)
        for condition in self.store.conditions():
            if turn == 0 and condition not in written:
                self.store.probe_file(condition).unlink()
        own = {name: tuple(dict.fromkeys(conditions)) for name, conditions in wanted.items()}
        spare = {name: tuple(filter(can_spare, own.get(name, ()))) for name, can_spare in lenient.items()}
        write_record(WantedConditions("wanted", own, spare), self.store.wanted_file)
        return {condition: self.store.probes(condition).height for condition in self.store.conditions()}

    def calls(self, model: Model) -> dict[str, int]:
        """Count the calls of a model that are left to make, by condition."""
        return self._interview(model).calls()

    def foresee(self, model: EstimatingModel) -> pl.DataFrame:
        """Build all remaining prompts for a model, and count by condition what asking them would take."""
        interview = self._interview(model)
        with watched_by(self.progress):
            interview.tell_pictures()
        return interview.foresee(model)

    def predict(self, model: Model) -> pl.DataFrame:
        """Ask a model what it has not answered yet, and count what an answer file contains and lacks."""
        return self._interview(model).predict()

    def judge(self, model: str) -> dict[str, Result]:
        """Judge a model by every study of the run, after its answers are read out of their wording."""
        read_stored_answers(self.store, model)
        predictions = self.store.answers(model)
        wanted = self._answered(predictions)
        for condition in dict.fromkeys(name for conditions in wanted.values() for name in conditions):
            probes = self.store.probes(condition)
            predictions.check_against(probes, condition, allow_partial=self.asking.allow_partial)
        names = [name for name in self.store.studies() if name in wanted]
        if isinstance(self.engine, Local) or len(names) == 1:
            for name in names:
                self.judge_by(name, predictions)
        else:
            for name in names:
                self._remade(
                    self.store.plan(name)
                )  # refuses untrusted code here, as other processes know no permission
            batches = [pl.DataFrame({"audit": [name]}) for name in names]
            for _ in self.engine.map(JudgeStep(self.store.folder.resolve(), self.store.web, model), batches):
                pass
        judged = self.store.results()[model]
        results = {name: judged[name] for name in names}
        if any(result.settings.get("score") in {"auto", "choice"} for result in results.values()):
            warn_of_unknown_options(self.store.data, predictions)
        return results

    def judge_by(self, name: str, predictions: Predictions) -> None:
        """Judge a model by one study of the run, and write the result into the folder."""
        audit, study = self._remade(self.store.plan(name)), self.store.studies()[name]
        with watched_by(self.progress):
            result = audit.judge(self._data_for(audit), study, predictions, self.engine)
        whole = with_parsing(result, self.store.data, predictions, self.store.probes)
        self.store.save(whole, self.store.result_folder(predictions.model, name))

    def audit(self, model: Model) -> dict[str, Result]:
        """Probe, predict and judge, round after round, until no audit wants more."""
        [results] = self.audit_each([model])
        return results

    def audit_each(self, models: Iterable[Model]) -> Iterator[dict[str, Result]]:
        """Audit one model after another; they share the probes, but not the further rounds that one of them needs."""
        turn = None
        for model in models:
            if turn != 0:
                self.probe()
            turn = 0
            while _want_more(results := self._ask(model)):
                turn += 1
                self.probe(turn)
            yield results

    def _ask(self, model: Model) -> dict[str, Result]:
        self.predict(model)
        return self.judge(model.name)

    def _study_or_skip(self, audit: Audit) -> str | None:
        """Study by an audit, or return the reason why that is impossible."""
        try:
            self._study(audit)
        except DataError as error:
            if not self.asking.skip:
                raise
            _log.warning("audit %r left out: %s", audit.name, error)
            return str(error)
        return None

    def _study(self, audit: Audit) -> None:
        data = self._data_for(audit)
        missing = lacking(audit, data)
        if missing:
            found = f"no {', '.join(missing)} in {self.store.data.name}"
            advice = "map or add them; `eyechart ls audits --for DATA` shows what each audit needs"
            raise DataError(f"the columns that audit {audit.name!r} needs", found, advice)
        file, settings = self.store.plan_file(audit.name), asdict(audit)  # type: ignore[call-overload]  # a dataclass
        furniture = furniture_of(audit)
        plan = StudyPlan(refer_to(audit), settings, learns(audit), data.division, furniture.looks, furniture.about)
        changed = self._find_change(audit, plan) if file.is_file() else "its study is new"
        if changed is None:
            return
        self.store.save(audit.study(data, self.engine), self.store.study_folder(audit.name))
        self._remove_results(audit.name, changed)
        write_record(plan, file)

    def _find_change(self, audit: Audit, plan: StudyPlan) -> str | None:
        """Say how the plan of a study differs from the one already made; None if it does not."""
        made = self.store.plan(audit.name)
        if made.division == plan.division:
            return None if self._remade(made) == audit else "its settings changed"
        return "an older version studied the data" if made.division is None else "its division changed"

    def _remove_results(self, audit: str, changed: str) -> None:
        """Remove the results that models have by a study that is replaced."""
        old = {model: by_audit[audit] for model, by_audit in self.store.result_folders().items() if audit in by_audit}
        for folder in old.values():
            shutil.rmtree(folder)
        if old:
            message = "removed the results of audit %r for %s: %s; `eyechart judge` makes new ones"
            _log.warning(message, audit, ", ".join(old), changed)

    def _data_for(self, audit: Audit) -> Dataset:
        """Return the data with the columns of other studies that an audit's settings name."""
        return self.store.data_with(_texts(audit))

    def _studied(self) -> Iterator[tuple[Audit, Result]]:
        studies = self.store.studies()
        if not studies:
            raise FileFormatError(f"studies in {self.store.folder}", "none", "run `eyechart study` first")
        for name, study in studies.items():
            yield self._remade(self.store.plan(name)), study

    def _answered(self, predictions: Predictions) -> dict[str, tuple[str, ...]]:
        """Return the audits to judge by, with their conditions, leaving out those without all answers if allowed."""
        wanted, known = self.store.wanted(), set(predictions.answers["condition"].unique())
        if not (self.asking.skip or self.asking.allow_partial):
            return wanted.without_spare(known.__contains__)
        kept = wanted.served_by(known.__contains__)
        warn_left_out(predictions.model, wanted.conditions.keys() - kept.keys())
        return kept or wanted.without_spare(known.__contains__)

    def _remade(self, plan: StudyPlan) -> Audit:
        return remake_audit(plan.reference, plan.settings, trust=self.asking.trust)

    def _interview(self, model: Model) -> Interview:
        return Interview(model, self.store, self.engine, self.progress, self.asking)


@dataclass(frozen=True)
class JudgeStep:
    """A step that judges a model by the audits named in a batch, reading and writing a run folder."""

    folder: Path
    web: Web
    model: str

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Judge by one audit after another, and return the batch."""
        run = Run(Store(self.folder, self.web), asking=Asking(trust=True))
        for name in batch["audit"]:
            run.judge_by(name, run.store.answers(self.model))
        return batch


def _divide(data: Dataset, named: NamedSplits, seed: int) -> Dataset:
    """Divide data by the named splits; if none are named, data already divided stay as they are."""
    return data if data.division and named == NamedSplits() else data.decide(*named, seed)


def _write_division(data: Dataset, file: Path) -> None:
    record = DivisionRecord.of(data)
    if record is not None:
        write_record(record, file)


def _want_more(results: Mapping[str, Result]) -> bool:
    return any(result.wants_more for result in results.values())


def _texts(audit: Audit) -> list[str]:
    """List the texts among the settings of an audit, alone or in tuples."""
    values = asdict(audit).values()  # type: ignore[call-overload]  # audits are dataclasses
    listed = [item for value in values for item in (value if isinstance(value, tuple) else (value,))]
    return [item for item in listed if isinstance(item, str)]


def _merge(before: pl.DataFrame, probes: pl.DataFrame, condition: str) -> pl.DataFrame:
    """Merge the probes that several audits need under one condition."""
    merged = pl.concat([before, probes], how="diagonal").unique(["id", "probe"]).sort("id")
    if merged["id"].is_duplicated().any():
        found = f"two for id {merged.filter(merged['id'].is_duplicated())['id'][0]!r}"
        raise DataError(f"one probe for each id under condition {condition!r}", found, "rename one of the conditions")
    return merged
