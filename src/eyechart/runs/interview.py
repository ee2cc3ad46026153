"""The interview of one model on the probes of a run: what is left to ask, what that takes, and the answers."""

import json
import logging
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl

from eyechart.base.errors import FileFormatError, ModelError
from eyechart.base.files import write_record
from eyechart.base.progress import Progress, watched_by
from eyechart.data.predictions import is_cut
from eyechart.data.protocols import Engine, EstimatingModel, IdentifiedModel, Model, PrerecordedModel
from eyechart.data.records import ModelIdentity
from eyechart.data.store import Store
from eyechart.data.tables import ANSWERS, COUNTS, empty
from eyechart.models.asking import AnswerLog, AnswerStep, ask, estimate_calls, lock_model, select_unanswered
from eyechart.models.first_responses import FirstResponses
from eyechart.models.own_names import doubt_names
from eyechart.runs.pictures import tell_pictures

_log = logging.getLogger("eyechart.runs.run")


@dataclass(frozen=True)
class Asking:
    """How to ask a model, and what to allow when judging it."""

    batch: int = 512
    fresh: bool = False  # ask again even what is already answered
    max_calls: int | None = None
    allow_partial: bool = False
    trust: bool = False  # import audits from code that the run names
    skip: bool = False  # skip audits that the data or an answer file do not support, if none were named


@dataclass(frozen=True)
class Interview:
    """One model, the run whose probes it answers, and how to ask it."""

    model: Model
    store: Store
    engine: Engine
    progress: Progress
    asking: Asking

    def calls(self) -> dict[str, int]:
        """Count the calls that are left to make, by condition."""
        return {condition: self._todo(condition).height * self._draws for condition in self.store.conditions()}

    def foresee(self, model: EstimatingModel) -> pl.DataFrame:
        """Build all remaining prompts, and count by condition what asking them would take."""
        todo = {condition: self._todo(condition) for condition in self.store.conditions()}
        total = sum(probes.height for probes in todo.values()) * model.draws
        with self.progress(f"building prompts for {model.name}", total) as advance:
            return estimate_calls(model, todo.items(), self.store.data, self.asking.batch, advance)

    def predict(self) -> pl.DataFrame:
        """Ask the model what it has not answered yet, and count what an answer file contains and lacks."""
        served = self._served_conditions()
        calls = {condition: n for condition, n in self.calls().items() if condition in served}
        if not calls:
            raise FileFormatError(f"probes in {self.store.folder}", "none", "run `eyechart probe` first")
        self._check_budget(sum(calls.values()))
        name, step = self.model.name, AnswerStep(self.model, self.store.data.images)
        with lock_model(self.store.lock_file(name), name), watched_by(self.progress):
            if self._from_scratch:
                shutil.rmtree(self.store.answer_folder(name), ignore_errors=True)
            if isinstance(self.model, IdentifiedModel):
                self._record_identity(json.loads(self.model.identity))
            self.tell_pictures()
            first = self._first_responses(calls)
            stock = pl.concat([empty(COUNTS), *(self._predict(step, condition, first) for condition in calls)])
            self.store.write(stock, self.store.stock_file(name))
            self._warn_of_responses()
        return stock

    def tell_pictures(self) -> None:
        """Warn of what is special about the pictures that are left to show, and refuse those that cannot be shown."""
        todo = {condition: self._todo(condition) for condition in self.store.conditions()}
        tell_pictures(self.model, self.store.data, todo)

    def _first_responses(self, conditions: Iterable[str]) -> FirstResponses | None:
        """Watch the first responses of a model that is asked and has answered nothing in this run yet."""
        known = any((self._known(condition)["status"] != "failed").any() for condition in conditions)
        return None if known or isinstance(self.model, PrerecordedModel) else FirstResponses(self.model.name)

    def _warn_of_responses(self) -> None:
        """Warn of answers that were cut off, and of a service that answers with another model."""
        name = self.model.name
        answers = self.store.answers(name).answers
        if n := answers.select(is_cut(answers).sum()).item():
            message = "%d of the %d answers of %s were cut off, so they are unparsed: raise max_new_tokens"
            _log.warning(message, n, answers.height, name)
        names = answers["model_name"].drop_nulls() if "model_name" in answers.columns else pl.Series(dtype=pl.String)
        asked = self.store.identity(name).get("model")
        doubt = doubt_names(dict(names.value_counts().iter_rows()), asked if isinstance(asked, str) else None)
        if doubt:
            _log.warning("the answers of %s may be those of another model: %s", name, doubt)

    def _served_conditions(self) -> set[str]:
        """Return the conditions to ask under: all, or for an answer file those of the audits that it covers."""
        wanted, model = self.store.wanted(), self.model
        if not isinstance(model, PrerecordedModel):
            return set(self.store.conditions())
        if not self.asking.skip:
            spare = {name for names in wanted.spare.values() for name in names if not model.holds(name)}
            return set(self.store.conditions()) - spare
        kept = wanted.served_by(model.holds)
        warn_left_out(self.model.name, wanted.conditions.keys() - kept.keys())
        if not kept:
            needed = ", ".join(sorted({name for conditions in wanted.conditions.values() for name in conditions}))
            advice = "name a file for each condition of an audit, as in predictions:plain=...,evidence=..."
            expected = f"answers of {self.model.name} under all conditions of some audit ({needed})"
            raise ModelError(expected, "too few", advice)
        return {name for conditions in kept.values() for name in conditions}

    def _check_budget(self, calls: int) -> None:
        limit = self.asking.max_calls
        if limit is None or calls <= limit:
            return
        if isinstance(self.model, EstimatingModel):
            calls = int(self.foresee(self.model)["calls"].sum())
        if calls > limit:
            advice = "raise --max-calls, or take fewer examples with --limit"
            raise ModelError(f"at most {limit} calls of {self.model.name}", f"{calls} to make", advice)

    def _record_identity(self, identity: dict[str, Any]) -> None:
        """Record the identity of the model, and refuse to mix its answers with those of another one."""
        name, current = self.model.name, ModelIdentity("asked", identity)
        file = self.store.asked_file(name)
        if file.is_file() and self.store.has_answers(name):
            changed = ModelIdentity("asked", self.store.identity(name)).differences(current)
            if changed:
                found = f"another {', '.join(changed)}"
                raise ModelError(f"the {name} that gave the answers so far", found, "ask it again with --fresh")
        write_record(current, file)

    def _predict(self, step: AnswerStep, condition: str, first: FirstResponses | None) -> pl.DataFrame:
        file = self.store.answer_file(self.model.name, condition)
        log = AnswerLog(self.store.answer_log(self.model.name, condition))
        todo = self._unanswered(condition)
        if (copied := self._copy_answers(condition, todo)).height:
            log.append(copied)
            todo = self._unanswered(condition)
        if todo.height:
            with self.progress(f"asking {self.model.name}, {condition}", todo.height * self._draws) as advance:
                for answers in ask(step, todo, self.store.data, self.engine, self.asking.batch, first=first):
                    log.append(answers)
                    advance(answers.height)
        self.store.write(self._known(condition).sort(ANSWERS.key), file)  # whatever order they arrived in
        log.remove()
        return (
            self.model.stock(self.store.probes(condition))
            if isinstance(self.model, PrerecordedModel)
            else empty(COUNTS)
        )

    def _copy_answers(self, condition: str, todo: pl.DataFrame) -> pl.DataFrame:
        """Copy the answers to these probes that were given to exactly the same content under other conditions."""
        files = [
            self.store.answer_file(self.model.name, other) for other in self.store.conditions() if other != condition
        ]
        if isinstance(self.model, PrerecordedModel) or not todo.height or not any(file.is_file() for file in files):
            return empty(ANSWERS)
        given = pl.concat([self.store.lazy(file) for file in files if file.is_file()], how="diagonal_relaxed")
        same = given.filter(pl.col("status") != "failed").join(
            todo.lazy().select("id", "probe"), on=["id", "probe"], how="semi"
        )
        copied = same.unique(["id", "probe", "draw"], keep="first", maintain_order=True).collect()
        return copied.with_columns(pl.lit(condition).alias("condition"))

    def _todo(self, condition: str) -> pl.DataFrame:
        return self.store.probes(condition) if self._from_scratch else self._unanswered(condition)

    def _unanswered(self, condition: str) -> pl.DataFrame:
        return select_unanswered(self.store.probes(condition), self._known(condition), self._draws)

    def _known(self, condition: str) -> pl.DataFrame:
        """Read the answers so far, saved and logged."""
        file = self.store.answer_file(self.model.name, condition)
        saved = self.store.table(file) if file.is_file() else empty(ANSWERS)
        logged = AnswerLog(self.store.answer_log(self.model.name, condition)).read()
        return pl.concat([saved, logged], how="diagonal").unique(ANSWERS.key, keep="last")

    @property
    def _from_scratch(self) -> bool:
        """Return whether to ignore earlier answers; answer files may have changed and are cheap to read."""
        return self.asking.fresh or isinstance(self.model, PrerecordedModel)

    @property
    def _draws(self) -> int:
        return self.model.draws if isinstance(self.model, EstimatingModel) else 1


def warn_left_out(model: str, audits: Iterable[str]) -> None:
    """Warn about the audits that a model cannot be judged by."""
    for name in sorted(audits):
        _log.warning("audit %r left out: %s has no answers under some of its conditions", name, model)
