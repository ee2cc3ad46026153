"""The findings of an audit about one subject, as plain values that JSON can hold."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Self

from eyechart.data.records import DivisionRecord, StudyPlan
from eyechart.data.result import Better, State, Unit, Verdict, speak
from eyechart.reporting.drawing import Drawing, plain

Role = Literal["study", "result"]


class Caution(NamedTuple):
    """A caveat about a result, in a few words and in a sentence."""

    short: str
    sentence: str


@dataclass(frozen=True)
class Learned:
    """The training a model reports: its pretraining data, and the audits whose intervention it was trained with."""

    model: str
    pretrained_on: tuple[str, ...]
    trained_on_the_metric: tuple[str, ...]

    def cautions(self, audit: str) -> tuple[Caution, ...]:
        """List the caveats about this model's result by an audit."""
        cautions = []
        if audit in self.trained_on_the_metric:
            sentence = (
                "It was trained with the same intervention that this audit applies. A good value shows that it has"
                " learned to handle it, not that it looks: do not compare it with models that were not trained so."
            )
            cautions.append(Caution("trained on what this audit measures", sentence))
        if self.pretrained_on:
            names = "; ".join(self.pretrained_on)
            sentence = f"It was pretrained on {names}, and may have seen the judged examples if they come from there."
            cautions.append(Caution("pretrained", sentence))
        return tuple(cautions)


@dataclass(frozen=True)
class MeasureRow:
    """One measure, with its interval both as numbers and as text."""

    name: str
    condition: str | None
    by: str | None
    group: str | None
    text: str
    value: float | None
    low: float | None
    high: float | None
    n: int
    clusters: int | None
    p: float | None
    q: float | None
    score: str | None
    unit: Unit
    better: Better
    note: str | None
    column: str | None = None  # of the rows, whose values it is the mean of; not all measures are means

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Take a measure from a row of a result's table of measures."""
        values = {name: plain(row[name]) for name in cls.__dataclass_fields__ if name not in ("text", "column")}
        return cls(**values, text=speak(row), column=row["of"])


@dataclass(frozen=True)
class CountRow:
    """The number of rows with one status and reason."""

    condition: str | None
    status: str
    reason: str | None
    n: int

    def cells(self) -> tuple[str, str, str, str]:
        """Format the row as the cells of a table, with dashes for unknown values."""
        condition, reason = ("-" if value is None else value for value in (self.condition, self.reason))
        return condition, self.status, reason, f"{self.n:,}"


@dataclass(frozen=True)
class Summary:
    """One row of the table of verdicts."""

    audit: str
    subject: str
    role: Role
    question: str
    state: State
    label: str
    sentence: str
    measure: str
    unit: Unit | None
    text: str
    n: int | None
    clusters: int | None
    judged: str = ""
    cautions: tuple[Caution, ...] = ()

    @property
    def measured(self) -> str:
        """Name the measure with its unit."""
        return f"{self.measure}, {self.unit}" if self.unit else self.measure

    @property
    def short_cautions(self) -> str:
        """Join the short forms of the cautions."""
        return "; ".join(caution.short for caution in self.cautions)


def join_questions(rows: Iterable[Summary]) -> str:
    """Join the questions that verdicts answer, each once: that of the data may differ from that of the models."""
    return " ".join(dict.fromkeys(row.question for row in rows if row.question))


@dataclass(frozen=True)
class Section:
    """The findings of one audit about one subject."""

    audit: str
    subject: str
    role: Role
    verdict: Verdict
    headline: MeasureRow | None  # the measure the verdict rests on
    measures: tuple[MeasureRow, ...]
    counts: tuple[CountRow, ...]
    drawings: tuple[Drawing, ...]
    settings: dict[str, Any]
    wants_more: bool
    judged: str = ""  # how many examples the verdict is about; empty if unknown
    cautions: tuple[Caution, ...] = ()
    further: tuple[tuple[Verdict, MeasureRow | None], ...] = ()  # verdicts on other questions, and what they rest on

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Return all verdicts, the one on the audit's own question first."""
        return self.verdict, *(verdict for verdict, _ in self.further)

    def summaries(self) -> Iterator[Summary]:
        """Reduce the section to its verdicts and headline measures."""
        for verdict, measure in ((self.verdict, self.headline), *self.further):
            yield self._summary(verdict, measure)

    def _summary(self, verdict: Verdict, measure: MeasureRow | None) -> Summary:
        return Summary(
            audit=self.audit,
            subject=self.subject,
            role=self.role,
            question=verdict.question,
            state=verdict.state,
            label=verdict.label,
            sentence=verdict.sentence,
            measure=measure.name if measure else "",
            unit=measure.unit if measure else None,
            text=measure.text if measure else "-",
            n=measure.n if measure else None,
            clusters=measure.clusters if measure else None,
            judged=self.judged,
            cautions=self.cautions,
        )


def describe_judged(plan: StudyPlan, divided: DivisionRecord | None, cluster: str) -> str:
    """Describe how many examples an audit judges; empty if its study used another or an unknown division."""
    if divided is None or plan.division != divided.division:
        return ""
    sizes = divided.sizes
    whole = sizes.learned + sizes.judged + sizes.neither
    if not plan.learns:
        is_all = sizes.judged == whole
        return f"judged on all {whole:,} examples" if is_all else f"judged on {sizes.judged:,} of {whole:,} examples"
    held_out = "" if divided.division.learn else f" held out by {cluster}"
    return f"judged on {sizes.held_out:,} of {whole:,} examples{held_out}, learned from {sizes.learned_apart:,}"
