"""The contents of a page, as plain values that JSON can hold."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Self

import polars as pl

from eyechart.data.furniture import Look
from eyechart.data.records import DivisionRecord, RunManifest, StudyPlan
from eyechart.data.result import Better, State, Unit, Verdict, speak
from eyechart.reporting.comparison_table import TextGrid, lay_out
from eyechart.reporting.drawing import Drawing, plain
from eyechart.reporting.overall import Overall

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

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """Take a measure from a row of a result's table of measures."""
        values = {name: plain(row[name]) for name in cls.__dataclass_fields__ if name != "text"}
        return cls(**values, text=speak(row))


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


@dataclass(frozen=True)
class Facts:
    """Facts about the audited data: sizes, splits, division, and the rows read and dropped."""

    name: str
    examples: int
    images: int
    splits: dict[str, int]
    modalities: tuple[str, ...]
    cluster: str
    counts: tuple[CountRow, ...]
    divided: DivisionRecord | None = None  # unknown for runs of an older eyechart

    def describe_division(self) -> str:
        """Describe how many examples are learned from and how many judged; empty if unknown."""
        if self.divided is None:
            return ""
        division, sizes = self.divided.division, self.divided.sizes
        parts = [f"Learned from: {sizes.learned:,} ({', '.join(division.learn)})."] if division.learn else []
        splits = f" ({', '.join(division.judge)})" if division.judge else ""
        parts.append(f"Judged: {sizes.judged:,}{splits}.")
        if not division.learn and sizes.held_out:
            parts.append(
                f"Audits that learn hold out part of these by {self.cluster}, with seed {division.seed}: "
                f"they learn from {sizes.learned_apart:,} and judge {sizes.held_out:,}."
            )
        if sizes.neither:
            parts.append(f"Unused: {sizes.neither:,}.")
        return " ".join(parts)


@dataclass(frozen=True)
class Origin:
    """The commands, settings and inputs of a run, needed to reproduce it."""

    command: str  # one per line if there are several
    seed: int
    limit: int | None
    inputs: dict[str, str]

    @classmethod
    def of(cls, manifest: RunManifest) -> Self:
        """Read the origin of a run from its manifest."""
        inputs = dict(sorted(manifest.inputs.items()))
        return cls("\n".join(manifest.commands), manifest.seed, manifest.limit, inputs)


@dataclass(frozen=True)
class Coverage:
    """The numbers of probes of a condition that a model answered, by status; `missing` probes got no answer at all."""

    model: str
    condition: str
    asked: int
    usable: int
    statuses: dict[str, int]

    @property
    def share(self) -> float:
        """Compute the share of the probes with a usable answer."""
        return self.usable / max(self.asked, 1)


@dataclass(frozen=True)
class Stock:
    """Counts of what a model's answer files contain and lack."""

    model: str
    counts: tuple[CountRow, ...]

    def cells(self) -> list[tuple[str, ...]]:
        """Format the counts as rows of a table that begin with the name of the model."""
        return [(self.model, *row.cells()) for row in self.counts]


@dataclass(frozen=True)
class Comparison:
    """Models side by side by one audit: a row of text per measure, over all examples and by group."""

    audit: str
    whole: TextGrid
    groups: TextGrid
    records: tuple[dict[str, Any], ...]  # the same as numbers
    drawings: tuple[Drawing, ...] = ()  # what the audit makes of all of them together

    @classmethod
    def of(cls, audit: str, table: pl.DataFrame) -> Self:
        """Lay out a compared table, separating measures over all examples from those by group."""
        whole, groups = (lay_out(table.filter(part)) for part in (pl.col("by").is_null(), pl.col("by").is_not_null()))
        return cls(audit, whole, groups, tuple(map(plain, table.iter_rows(named=True))))


@dataclass(frozen=True)
class Page:
    """Everything a page shows, in the order of the page."""

    title: str
    version: str
    facts: Facts | None
    coverage: tuple[Coverage, ...]
    stocks: tuple[Stock, ...]
    summary: tuple[Summary, ...]
    overviews: tuple[Drawing, ...]
    comparisons: tuple[Comparison, ...]
    sections: tuple[Section, ...]
    origin: Origin | None
    learned: tuple[Learned, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)  # audits not studied, and why
    looks: tuple[Look, ...] = ()  # of conditions
    overall: tuple[Overall, ...] = ()  # a line for each model

    @property
    def outdated(self) -> str:
        """Say how many results an older version of eyechart made; empty if none."""
        return describe_outdated(section.verdict for section in self.sections if section.role == "result")


def describe_outdated(verdicts: Iterable[Verdict]) -> str:
    """Say how many results an older version of eyechart made; empty if none."""
    n = sum(verdict.is_outdated for verdict in verdicts)
    made = "1 result was" if n == 1 else f"{n:,} results were"
    return f"{made} made by an older version of eyechart; run `eyechart judge RUN` to update." if n else ""
