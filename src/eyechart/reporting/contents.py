"""What a page consists of, as plain values that JSON can hold."""

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from eyechart.furniture import Look
from eyechart.reporting.comparing import TextGrid
from eyechart.reporting.drawing import Drawing
from eyechart.result import OUTDATED, Better, State, Unit, Verdict
from eyechart.store import Divided

Role = Literal["study", "result"]


@dataclass(frozen=True)
class Learned:
    """What a model says it learned from: data before its training, and audits whose own change it was trained with."""

    model: str
    pretrained_on: tuple[str, ...]
    trained_on_the_metric: tuple[str, ...]


class Caution(NamedTuple):
    """What a reader must know of a result, in a few words and in a sentence."""

    short: str
    sentence: str


@dataclass(frozen=True)
class MeasureRow:
    """One measure, with its interval both as numbers and as it is spoken."""

    name: str
    condition: str | None
    by: str | None
    group: str | None
    said: str
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


@dataclass(frozen=True)
class CountRow:
    """How many share one fate, and why."""

    condition: str | None
    status: str
    reason: str | None
    n: int


@dataclass(frozen=True)
class Section:
    """What one audit found about one subject."""

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
    judged: str = ""  # how many examples the verdict is about; nothing where it is not known
    cautions: tuple[Caution, ...] = ()


@dataclass(frozen=True)
class Summary:
    """One row of the table that a reader sees first."""

    audit: str
    subject: str
    role: Role
    question: str
    state: State
    label: str
    sentence: str
    measure: str
    said: str
    n: int | None
    clusters: int | None
    judged: str = ""
    cautions: tuple[Caution, ...] = ()


@dataclass(frozen=True)
class Facts:
    """What data were audited, and what became of what was read."""

    name: str
    examples: int
    images: int
    splits: dict[str, int]
    modalities: tuple[str, ...]
    cluster: str
    counts: tuple[CountRow, ...]
    divided: Divided | None = None  # of runs of an older eyechart it is not known


@dataclass(frozen=True)
class Origin:
    """How a run came about, so that it can be made again."""

    command: str  # several on a line each
    seed: int
    limit: int | None
    inputs: dict[str, str]


@dataclass(frozen=True)
class Coverage:
    """How many of the probes of a condition a model answered, by status; `missing` got no answer at all."""

    model: str
    condition: str
    asked: int
    usable: int
    statuses: dict[str, int]


@dataclass(frozen=True)
class Stock:
    """What the files of answers of a model hold and lack."""

    model: str
    counts: tuple[CountRow, ...]


@dataclass(frozen=True)
class Comparison:
    """Models side by side by one audit: a row of text for each measure, over all examples and by group."""

    audit: str
    whole: TextGrid
    groups: TextGrid
    records: tuple[dict[str, Any], ...]  # the same as numbers


@dataclass(frozen=True)
class Page:
    """All that a page says, in the order in which it is said."""

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

    @property
    def outdated(self) -> str:
        """Say how many results an older eyechart made; nothing where none."""
        n = sum(section.role == "result" and section.verdict == OUTDATED for section in self.sections)
        made = "1 result was" if n == 1 else f"{n:,} results were"
        return f"{made} made by an older eyechart: `eyechart judge RUN` concludes anew." if n else ""
