"""The first glance: what was found in a few sentences, models by audits, the data, and one example to play with.

It says who each model is, whether it looks, and which audits say so; of the data, whether they are sound.
"""

import math
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from eyechart.audits import AUDITS
from eyechart.data.furniture import furniture_of
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.result import Better, State, Unit, Verdict
from eyechart.data.store import Store
from eyechart.reporting.overall import Overall, join
from eyechart.reporting.sections import MeasureRow, Section
from eyechart.reporting.showcase import Change, Showcase, find_showcase, measure_changes

ARROWS: dict[Better, str] = {"higher": "↑", "lower": "↓", "neither": ""}
ONE: dict[State, str] = {
    "no": "does not look",
    "yes": "looks",
    "cannot tell": "may or may not look",
    "not tested": "was not tested for looking",
}
MANY: dict[State, str] = {
    "no": "do not look",
    "yes": "look",
    "cannot tell": "may or may not look",
    "not tested": "were not tested for looking",
}
NO_MODEL = "No model has answered yet."
FEW = 0.005  # of the answers: rounds to none, or to all
MOST_TIMES = 20  # as many examples; more is no advice


@dataclass(frozen=True)
class Cell:
    """A verdict with the number it is based on."""

    audit: str
    question: str
    state: State
    label: str
    sentence: str
    margin: float | None = None
    measure: str = ""
    text: str = ""  # the number with its interval
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    unit: Unit | None = None
    better: Better = "neither"
    column: str | None = None  # of the rows, whose values the number is the mean of

    @property
    def advice(self) -> str:
        """Say how many more examples would tell, where the interval alone leaves the verdict open."""
        if self.state != "cannot tell" or None in (self.value, self.low, self.high, self.margin):
            return ""
        value, low, high, margin = (float(each or 0) for each in (self.value, self.low, self.high, self.margin))
        distance = min(abs(value - margin), abs(value + margin))
        wide = (high - low) / 2
        if not low <= margin <= high and not low <= -margin <= high:
            return ""  # something else leaves it open, which the label says
        times = (wide / distance) ** 2 if distance else math.inf
        if times > MOST_TIMES:
            return "more than 20 times as many examples would be needed"
        return f"about {max(times, 1.1):.1f} times as many examples like these would tell"

    @classmethod
    def of(cls, audit: str, verdict: Verdict, measure: MeasureRow | None) -> Self:
        """Combine a verdict with its measure."""
        cell = cls(audit, verdict.question, verdict.state, verdict.label, verdict.sentence, verdict.margin)
        if measure is None:
            return cell
        names = ("text", "value", "low", "high", "n", "unit", "better", "column")
        return replace(cell, measure=measure.name, **{name: getattr(measure, name) for name in names})


@dataclass(frozen=True)
class ModelLine:
    """A row of the matrix: who the model is, how often it is right, whether it looks, and a cell for each audit."""

    model: str
    about: str
    right: MeasureRow | None
    overall: Overall
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Glance:
    """Everything on the first screen."""

    sentences: tuple[str, ...]
    heads: tuple[tuple[str, str], ...]  # the audits of models, with their questions
    models: tuple[ModelLine, ...]
    data: tuple[Cell, ...]  # verdicts on the data
    changes: tuple[Change, ...]
    showcase: Showcase | None
    steps: tuple[tuple[str, str], ...] = ()  # what else to do next, and its command

    def arrow(self, audit: str) -> str:
        """Show which way the numbers of an audit are better."""
        cells = (cell for line in self.models for cell in line.cells if cell.audit == audit and cell.measure)
        return next((ARROWS[cell.better] for cell in cells), "")

    def advice(self) -> Iterator[tuple[str, str]]:
        """Say what would tell where a verdict leaves open whether a model looks: who it is about, and what."""
        for line in self.models:
            for cell in line.cells if line.overall.state != "no" else ():
                if cell.advice:
                    yield line.model, f"{cell.audit}, {cell.label}: {cell.advice}"

    def commands(self) -> Iterator[tuple[str, str, str]]:
        """List the commands that test what was not tested: for whom, by which audits, and the command."""
        sharing: dict[tuple[str, str], list[str]] = {}
        for line in self.models:
            for audits, command in line.overall.tests():
                sharing.setdefault((audits, command), []).append(line.model)
        yield from ((join(models), *step) for step, models in sharing.items())


NOTHING = Glance((), (), (), (), (), None)


def glance_at(sections: Sequence[Section], overall: Sequence[Overall], store: Store | None = None) -> Glance:
    """Sum up the sections of a page; with the run they come from, say who the models are and show an example."""
    if store is None:
        return sum_up(sections, overall)
    return sum_up(sections, overall, store, measure_changes(store), find_showcase(store))


def sum_up(
    sections: Sequence[Section],
    overall: Sequence[Overall],
    store: Store | None = None,
    changes: tuple[Change, ...] = (),
    showcase: Showcase | None = None,
) -> Glance:
    """Sum up the sections of a page with what was already read from the answers of its run."""
    heads = {section.audit: section.verdict.question for section in sections if section.role == "result"}
    lines = tuple(_line(each, heads, sections, store) for each in overall)
    data = tuple(
        Cell.of(section.audit, verdict, measure)
        for section in sections
        if section.role == "study"
        for verdict, measure in ((section.verdict, section.headline), *section.further)
        if verdict.state != "not tested"
    )
    told = (*_tell_models(lines, changes), *_tell_data(data), *([] if lines else [NO_MODEL] if sections else []))
    to_do = tuple(_next(data, store)) if store else ()
    return Glance(told, tuple(heads.items()), lines, data, changes, showcase, to_do)


def _next(data: Iterable[Cell], store: Store) -> Iterator[tuple[str, str]]:
    """List what to do about data that are not sound, and how to see the examples."""
    unsound = dict.fromkeys(cell.audit for cell in data if cell.state == "no" and cell.audit in AUDITS.names())
    for audit in unsound:
        for name in list(furniture_of(AUDITS.get(audit)).exports)[:1]:
            command = shlex.join(["eyechart", "export", str(store.folder), "--to", name, "-o", "repaired"])
            yield "To try a repair of the data", f"{command}  (eyechart ls exports lists other forms)"
    yield "To see the examples behind every number", shlex.join(["eyechart", "view", str(store.folder)])


def _line(overall: Overall, heads: Mapping[str, str], sections: Iterable[Section], store: Store | None) -> ModelLine:
    about = describe(store.identity(overall.model)) if store else ""
    own = {each.audit: each for each in sections if each.role == "result" and each.subject == overall.model}
    cells = []
    for audit, question in heads.items():
        reason = overall.untested.get(audit, "not run")
        missing = Cell(audit, question, "not tested", reason, f"Not tested: {reason}.")
        cells.append(Cell.of(audit, own[audit].verdict, own[audit].headline) if audit in own else missing)
    return ModelLine(overall.model, about, _rightness(own), overall, tuple(cells))


def _rightness(sections: Mapping[str, Section]) -> MeasureRow | None:
    """Find how often a model is right, in the result of the audit that scores the unchanged examples."""
    for audit in sorted(sections.keys() & {*AUDITS.names()}):
        scored = furniture_of(AUDITS.get(audit)).scored
        for row in sections[audit].measures if scored else ():
            if (row.name, row.condition, row.by) == (scored, PLAIN_CONDITION, None):
                return row
    return None


def describe(identity: Mapping[str, Any]) -> str:
    """Describe in a few words who a model is, by what it recorded about itself."""
    named = {name: str(value) for name, value in identity.items() if value is not None}
    model, host = named.get("model", ""), named.get("base_url", "").partition("://")[2].partition("/")[0]
    kinds = {
        "hf": f"{model}, a Hugging Face model",
        "openai": f"{model}, asked at {host or 'the OpenAI API'}",
        "people": "people, asked in the browser",
        "predictions": "answers from a file",
        "python": f"the Python function {named.get('reference', '')}",
        "world": named.get("behaviour", ""),
        "zoo": f"{model}, trained here with {named.get('method', '')}",
    }
    return kinds.get(named.get("kind", ""), "")


def _tell_models(lines: Sequence[ModelLine], changes: Sequence[Change]) -> Iterator[str]:
    """Tell of each state the model that is right most often, and name the others."""
    for state, one in ONE.items():
        own = sorted((line for line in lines if line.overall.state == state), key=_by_rightness)
        if own:
            yield _tell(own[0], changes)
        if others := [line.model for line in own[1:]]:
            also = {"no": "Nor", "yes": "So"}.get(state)
            do, words = ("does", one) if len(others) == 1 else ("do", MANY[state])
            yield f"{also} {do} {join(others)}." if also else f"{join(others)} {words}."


def _by_rightness(line: ModelLine) -> tuple[float, str]:
    return -(line.right.value or 0) if line.right else 0.0, line.model


def _tell(line: ModelLine, changes: Iterable[Change]) -> str:
    """Tell how often a model is right, whether it looks, and what shows it."""
    state, right = line.overall.state, line.right.value if line.right else None
    often = "" if right is None else f"is right {right:.0%} of the time".replace("%", " %")
    beginning = " ".join(filter(None, [line.model, often, often and ("but" if state == "no" else "and"), ONE[state]]))
    for change in changes:
        if change.model == line.model and change.audit in line.overall.audits and state in ("yes", "no"):
            return f"{beginning}: with {change.label} {say_share(change.share)} of its answers change."
    labels = [cell.label for cell in line.cells if cell.audit in line.overall.audits and cell.label != ONE[state]]
    return f"{beginning} ({join(labels)})." if labels else f"{beginning}."


def say_share(share: float) -> str:
    """Write a share of answers, in a word where it is none or all."""
    return "none" if share < FEW else "all" if share > 1 - FEW else f"{100 * share:.0f} %"


def _tell_data(data: Sequence[Cell]) -> Iterator[str]:
    """Tell whether the data are sound, and what gives answers away."""
    if bad := [cell for cell in data if cell.state == "no"]:
        yield f"The data are not sound: {'; '.join(f'{cell.label} ({_measured(cell)})' for cell in bad)}."
    elif data:
        yield f"The data: {' '.join(f'{cell.question} {cell.state.capitalize()} ({cell.label}).' for cell in data)}"


def _measured(cell: Cell) -> str:
    value = cell.value or 0.0
    base = f" over {cell.measure.rpartition(' over ')[2]}" if " over " in cell.measure else ""
    return (f"{100 * value:+.0f} points" if cell.unit == "points" else f"{value:+.3g}") + base
