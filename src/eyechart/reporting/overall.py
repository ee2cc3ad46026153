"""One line a model: whether it looks, from its verdicts by all audits that say so or find shortcuts.

Any no is a no: a model that fails one test is not cleared by another. Without an audit that tests looking nothing is
known, however free of shortcuts the model is. Otherwise one open verdict leaves the line open. The line names what was
not tested, and the commands that would test it.
"""

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Self

from eyechart.audits import AUDITS, lacking_by_audit
from eyechart.base.errors import FileFormatError
from eyechart.data.furniture import About, furniture_of
from eyechart.data.result import Result, State, Verdict
from eyechart.data.store import Store
from eyechart.models import TAKES

QUESTION = "Does it look?"
MODEL = "MODEL"  # stands for a model that has the answers, where the run does not say how to ask this one
MODEL_OPTIONS = ("--base-url", "--draws", "--temperature", "--cache")  # options of a command that a model takes

Verdicts = Mapping[str, Sequence[Verdict]]  # of a model, by audit


@dataclass(frozen=True)
class Overall:
    """The line of a model: a state, the audits it follows from, and what was not tested."""

    model: str
    state: State
    sentence: str
    audits: tuple[str, ...]
    untested: dict[str, str]  # audit -> why it tested nothing, or not all it asks
    commands: dict[str, tuple[str, ...]]  # command -> the audits that it would test

    @classmethod
    def of(cls, model: str, verdicts: Verdicts, remedies: "Remedies") -> Self:
        """Combine the verdicts on a model by the audits that take part."""
        taking_part = {audit: kind for audit, kind in sorted(remedies.about.items()) if kind != "other"}
        states = {audit: {verdict.state for verdict in verdicts.get(audit, ())} for audit in taking_part}
        state, audits = combine(states, [audit for audit, kind in taking_part.items() if kind == "looking"])
        open_audits = [audit for audit, own in states.items() if not own or "not tested" in own]
        found = {audit: remedies.remedy(model, audit, verdicts.get(audit, ())) for audit in open_audits}
        untested = {audit: reason for audit, (reason, _) in found.items()}
        commands: dict[str, tuple[str, ...]] = {}
        for is_studied in (False, True):
            steps = {audit: each for audit, (_, each) in found.items() if each and (each != "audit") == is_studied}
            if steps:  # of the steps after a study, one command takes as many as any audit needs
                command = remedies.write_command(model, tuple(steps), max(steps.values(), key=len))
                commands[command] = tuple(steps)
        why = "no audit tested it" if state == "not tested" else _say(audits, state)
        rest = f" Not tested: {list_reasons(untested)}." if untested else ""
        return cls(model, state, f"{QUESTION} {state}: {why}.{rest}", audits, untested, commands)

    def tests(self) -> Iterator[tuple[str, str]]:
        """Pair the names of audits with the command that would test them."""
        yield from ((join(audits), command) for command, audits in self.commands.items())


def combine(states: Mapping[str, Iterable[State]], looking: Iterable[str]) -> tuple[State, tuple[str, ...]]:
    """Combine the states of verdicts by audit, and return the audits that the result follows from."""
    by_audit = {audit: set(own) for audit, own in states.items()}
    saying: dict[State, tuple[str, ...]] = {
        state: tuple(audit for audit, own in by_audit.items() if state in own) for state in ("no", "cannot tell", "yes")
    }
    if saying["no"]:
        return "no", saying["no"]
    if not any(by_audit.get(audit, set()) - {"not tested"} for audit in looking):
        return "not tested", ()
    state: State = "cannot tell" if saying["cannot tell"] else "yes"
    return state, saying[state]


@dataclass(frozen=True)
class Remedies:
    """What would test what a run has not tested; without a run, for results in memory."""

    store: Store | None
    about: Mapping[str, About]
    lacking: Mapping[str, Sequence[str]]  # columns that the data of the run lack for an audit

    @classmethod
    def of(cls, store: Store | None = None) -> Self:
        """Find what each audit is about: the registered ones by their class, others by the plan of their study."""
        registered = {name: furniture_of(AUDITS.get(name)).about for name in AUDITS.names()}
        if store is None:
            return cls(None, registered, {})
        studies = store.studies()
        own = [audit for audit in studies if audit not in registered and store.plan_file(audit).is_file()]
        about = {audit: store.plan(audit).about for audit in own} | registered
        is_all = all(audit in studies for audit, kind in about.items() if kind != "other")
        return cls(store, about, {} if is_all else lacking_by_audit(store.data))

    def remedy(self, model: str, audit: str, verdicts: Sequence[Verdict]) -> tuple[str, str]:
        """Say why an audit tested nothing, and by which steps it would: `audit`, those of a studied run, or none."""
        label, store = _label(verdicts), self.store
        if store is None:
            return (label, "") if label else ("not run", "audit")
        if audit in store.studies():
            steps, is_old = _steps(store, model, audit), any(verdict.is_outdated for verdict in verdicts)
            return label or "not judged", steps if steps != "judge" or is_old or not label else ""
        if missing := self.lacking.get(audit):
            return f"no {', '.join(missing)} in the data", ""
        reason = store.left_out().get(audit, "not run")
        # The study itself refused the data: the run lists its error, and no command would help.
        return ("left out", "") if reason.startswith("expected ") else (reason, "audit")

    def write_command(self, model: str, audits: Sequence[str], steps: str) -> str:
        """Write the command that tests audits, or several of them for a run that has studied the data."""
        store = self.store
        folder, asked = (str(store.folder), _model_words(store, model)) if store else ("RUN", ["-m", MODEL])
        if steps == "audit":
            data = str(store.data_folder) if store else "DATA"
            named = [word for audit in audits for word in ("-a", audit)]
            return shlex.join(["eyechart", "audit", data, *named, *asked, "-o", folder])
        words = {"probe": [], "predict": asked, "judge": ["-m", model]}
        return " && ".join(shlex.join(["eyechart", step, folder, *words[step]]) for step in steps.split())


def collect_overall(verdicts: Mapping[str, Verdicts], store: Store | None = None) -> tuple[Overall, ...]:
    """Write the line of every model that was judged or, in a run, has answered."""
    models = sorted({*verdicts, *(store.models() if store else ())})
    remedies = Remedies.of(store) if models else None
    return tuple(Overall.of(model, verdicts.get(model, {}), remedies) for model in models if remedies)


def read_overall(store: Store) -> tuple[Overall, ...]:
    """Write the lines of a run from the verdicts in its folder."""
    return collect_overall({model: verdicts_of(results) for model, results in store.results().items()}, store)


def verdicts_of(results: Mapping[str, Result]) -> Verdicts:
    """List the verdicts of the results of a model."""
    return {audit: result.verdicts for audit, result in results.items()}


def join(names: Sequence[str]) -> str:
    """Join names as in a sentence."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _say(audits: Sequence[str], state: State) -> str:
    verb = "" if state == "cannot tell" else "say " if len(audits) > 1 else "says "
    return f"{join(audits)} {verb}{state}"


def list_reasons(untested: Mapping[str, str]) -> str:
    """List audits with the reason behind those that share it."""
    shared: dict[str, list[str]] = {}
    for audit, reason in untested.items():
        shared.setdefault(reason, []).append(audit)
    return "; ".join(f"{join(audits)} ({reason})" for reason, audits in shared.items())


def _label(verdicts: Sequence[Verdict]) -> str:
    """Sum up the untested verdicts of an audit; where another is tested, with their questions."""
    untested = [verdict for verdict in verdicts if verdict.state == "not tested"]
    whole = len(untested) == len(verdicts)
    return "; ".join(dict.fromkeys(each.label if whole else f"{each.question} {each.label}" for each in untested))


def _steps(store: Store, model: str, audit: str) -> str:
    """Name the steps from a study to a verdict that are left for a model."""
    try:
        wanted = store.wanted().conditions.get(audit)
    except FileFormatError:  # there are no probes, or only some
        wanted = None
    if wanted is None:
        return "probe predict judge"
    return "judge" if set(wanted) <= set(store.answered(model)) else "predict judge"


def _model_words(store: Store, model: str) -> list[str]:
    """Find the words with which a command of the run named a model, unless its answers came from files."""
    if store.stock(model).height:
        return ["-m", MODEL]
    for command in reversed(store.manifest.commands):
        words = _split(command)
        pairs = list(pairwise(words))
        for spec in (value for name, value in pairs if name in ("-m", "--model")):
            if model in _names_of(spec):
                taken = TAKES.get(spec.partition(":")[0], ())
                kept = [pair for pair in pairs if pair[0] in MODEL_OPTIONS and _as_setting(pair[0]) in taken]
                return ["-m", spec, *(word for pair in kept for word in pair)]
    return ["-m", MODEL]


def _split(command: str) -> list[str]:
    """Split a recorded command into words, `--option=value` into two."""
    try:
        words = shlex.split(command)
    except ValueError:  # no command line, but a call from Python
        return []
    return [part for word in words for part in (word.split("=", 1) if word.startswith("--") else [word])]


def _names_of(spec: str) -> set[str]:
    """List the names that a model of this specification may have; opening it would tell, but may run code."""
    rest = spec.partition(":")[2] or spec
    place, *settings = rest.split(",")
    named = {setting.removeprefix("name=") for setting in settings if setting.startswith("name=")}
    return {rest, place, rest.rpartition(":")[2], Path(place).name, Path(place).stem, *named}


def _as_setting(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")
