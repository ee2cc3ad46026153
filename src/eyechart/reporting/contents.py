"""The contents of a page, as plain values that JSON can hold."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import polars as pl

from eyechart.data.furniture import Look
from eyechart.data.records import DivisionRecord, RunManifest
from eyechart.data.result import Verdict
from eyechart.reporting.comparison_table import TextGrid, lay_out
from eyechart.reporting.drawing import Drawing, plain
from eyechart.reporting.glance import NOTHING, Glance
from eyechart.reporting.overall import Overall
from eyechart.reporting.sections import CountRow, Learned, Section, Summary


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
    comparisons: tuple[Comparison, ...]
    sections: tuple[Section, ...]
    origin: Origin | None
    learned: tuple[Learned, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)  # audits not studied, and why
    looks: tuple[Look, ...] = ()  # of conditions
    overall: tuple[Overall, ...] = ()  # a line for each model
    glance: Glance = NOTHING  # what the first screen shows

    def drawings(self) -> Iterator[Drawing]:
        """List all drawings."""
        yield from (drawing for section in self.sections for drawing in section.drawings)
        yield from (drawing for comparison in self.comparisons for drawing in comparison.drawings)

    @property
    def outdated(self) -> str:
        """Say how many results an older version of eyechart made; empty if none."""
        return describe_outdated(section.verdict for section in self.sections if section.role == "result")


def describe_outdated(verdicts: Iterable[Verdict]) -> str:
    """Say how many results an older version of eyechart made; empty if none."""
    n = sum(verdict.is_outdated for verdict in verdicts)
    made = "1 result was" if n == 1 else f"{n:,} results were"
    return f"{made} made by an older version of eyechart; run `eyechart judge RUN` to update." if n else ""
