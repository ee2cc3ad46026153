"""Ask one model what the studies of a run want to know: what is left to ask, what it takes, and the answers."""

import json
import logging
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from eyechart.errors import FileFormatError, ModelError
from eyechart.files import write_record
from eyechart.models.asking import Answering, AnswerLog, ask, asking_alone, foresee, unanswered
from eyechart.progress import Progress, watched_by
from eyechart.protocols import Engine, Foreseeing, Identified, Model, Stocked
from eyechart.store import Asked, Store
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
class Interview:
    """One model, the run whose probes it answers, and how it is asked."""

    model: Model
    store: Store
    engine: Engine
    progress: Progress
    asking: Asking

    def calls(self) -> dict[str, int]:
        """Count the calls the model would still get, by condition."""
        return {condition: self._todo(condition).height * self._draws for condition in self.store.conditions()}

    def foresee(self, model: Foreseeing) -> pl.DataFrame:
        """Look at all that the model would still be shown and count, by condition, what asking would take."""
        todo = {condition: self._todo(condition) for condition in self.store.conditions()}
        total = sum(probes.height for probes in todo.values()) * model.draws
        with self.progress(f"looking ahead for {model.name}", total) as advance:
            return foresee(model, todo.items(), self.store.data, self.asking.batch, advance)

    def predict(self) -> pl.DataFrame:
        """Ask the model what it has not answered yet, and count what files of answers hold and lack."""
        served = self._served()
        calls = {condition: n for condition, n in self.calls().items() if condition in served}
        if not calls:
            raise FileFormatError(f"probes in {self.store.folder}", "none", "run `eyechart probe` first")
        self._keep_budget(sum(calls.values()))
        name, step = self.model.name, Answering(self.model, self.store.data.images)
        with asking_alone(self.store.lock_file(name), name), watched_by(self.progress):
            if self._from_scratch:
                shutil.rmtree(self.store.answer_folder(name), ignore_errors=True)
            if isinstance(self.model, Identified):
                self._keep_identity(json.loads(self.model.identity))
            stock = pl.concat([empty(COUNTS), *(self._predict(step, condition) for condition in calls)])
            self.store.write(stock, self.store.stock_file(name))
        return stock

    def _served(self) -> set[str]:
        """Name the conditions to ask under: all, but of files of answers only those of audits that they serve."""
        wanted, model = self.store.wanted(), self.model
        if not (isinstance(model, Stocked) and self.asking.skip):
            return set(self.store.conditions())
        kept = {name: own for name, own in wanted.items() if all(model.holds(condition) for condition in own)}
        tell_lacking(self.model.name, wanted.keys() - kept.keys())
        if not kept:
            needed = ", ".join(sorted({condition for own in wanted.values() for condition in own}))
            advice = "name a file for each condition of an audit, as in predictions:plain=...,evidence=..."
            raise ModelError(f"answers of {self.model.name} for an audit (conditions {needed})", "too few", advice)
        return {condition for own in kept.values() for condition in own}

    def _keep_budget(self, calls: int) -> None:
        most = self.asking.max_calls
        if most is None or calls <= most:
            return
        if isinstance(self.model, Foreseeing):
            calls = int(self.foresee(self.model)["calls"].sum())
        if calls > most:
            advice = "raise --max-calls, or take fewer examples with --limit"
            raise ModelError(f"at most {most} calls of {self.model.name}", f"{calls} to make", advice)

    def _keep_identity(self, identity: dict[str, Any]) -> None:
        """Write down what exactly answers, and let nothing else go on with its answers; where it runs is its affair."""
        name = self.model.name
        file = self.store.asked_file(name)
        if file.is_file() and any(self.store.answer_folder(name).glob("*")):
            before = self.store.identity(name)
            changed = sorted(key for key in before | identity if before.get(key) != identity.get(key))
            if set(changed) - {"base_url"}:
                found = f"another {', '.join(changed)}"
                raise ModelError(f"the {name} that gave the answers so far", found, "ask it anew with --fresh")
        write_record(Asked("asked", identity), file)

    def _predict(self, step: Answering, condition: str) -> pl.DataFrame:
        file = self.store.answer_file(self.model.name, condition)
        log = AnswerLog(file.with_suffix(".jsonl"))
        if (borrowed := self._borrowed(condition)).height:
            log.append(borrowed)
        todo = self._unanswered(condition)
        if todo.height:
            with self.progress(f"asking {self.model.name}, {condition}", todo.height * self._draws) as advance:
                for answers in ask(step, todo, self.store.data, self.engine, self.asking.batch):
                    log.append(answers)
                    advance(answers.height)
        self.store.write(self._known(condition).sort(ANSWERS.key), file)  # in whichever order they came
        log.remove()
        return self.model.stock(self.store.probes(condition)) if isinstance(self.model, Stocked) else empty(COUNTS)

    def _borrowed(self, condition: str) -> pl.DataFrame:
        """Copy the answers to the very same content of the same examples that were given under other conditions."""
        todo = self._unanswered(condition)
        files = [
            self.store.answer_file(self.model.name, other) for other in self.store.conditions() if other != condition
        ]
        if isinstance(self.model, Stocked) or not todo.height or not any(file.is_file() for file in files):
            return empty(ANSWERS)
        given = pl.concat([self.store.lazy(file) for file in files if file.is_file()], how="diagonal_relaxed")
        same = given.filter(pl.col("status") != "failed").join(
            todo.lazy().select("id", "probe"), on=["id", "probe"], how="semi"
        )
        found = same.unique(["id", "probe", "draw"], keep="first", maintain_order=True).collect()
        return found.with_columns(pl.lit(condition).alias("condition"))

    def _todo(self, condition: str) -> pl.DataFrame:
        return self.store.probes(condition) if self._from_scratch else self._unanswered(condition)

    def _unanswered(self, condition: str) -> pl.DataFrame:
        return unanswered(self.store.probes(condition), self._known(condition), self._draws)

    def _known(self, condition: str) -> pl.DataFrame:
        """Read the answers so far, finished ones and logged ones."""
        file = self.store.answer_file(self.model.name, condition)
        saved = self.store.table(file) if file.is_file() else empty(ANSWERS)
        logged = AnswerLog(file.with_suffix(".jsonl")).read()
        return pl.concat([saved, logged], how="diagonal").unique(ANSWERS.key, keep="last", maintain_order=True)

    @property
    def _from_scratch(self) -> bool:
        """Tell whether earlier answers are forgotten; files of answers may have changed and are cheap to read."""
        return self.asking.fresh or isinstance(self.model, Stocked)

    @property
    def _draws(self) -> int:
        return self.model.draws if isinstance(self.model, Foreseeing) else 1


def tell_lacking(model: str, audits: Iterable[str]) -> None:
    """Say which audits a model cannot be judged by."""
    for name in sorted(audits):
        _log.warning("audit %r left out: %s has no answers under some of its conditions", name, model)
