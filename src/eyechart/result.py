"""Result, View and Verdict: what an audit found, as tables and plain words, with no figure inside."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import polars as pl

from eyechart.errors import TableError
from eyechart.files import read_record, read_table, replacing_folder, write_record, write_table
from eyechart.tables import COUNTS, MEASURES, ROWS, check, empty

State = Literal["clear", "caught", "undecided", "none"]
ViewKind = Literal["bars", "histogram", "lines", "matrix", "scatter", "table", "gallery"]


@dataclass(frozen=True)
class Verdict:
    """The answer in one plain sentence, and the measure it rests on."""

    state: State
    measure: str
    sentence: str


@dataclass(frozen=True)
class View:
    """Something to look at, as data: which columns of which table, and one sentence on how to read it."""

    kind: ViewKind
    table: str
    title: str
    reading: str
    columns: dict[str, str] = field(default_factory=dict)  # what is drawn (x, y, low, high, color) -> column
    where: dict[str, str | None] = field(default_factory=dict)  # rows to draw: column -> value


@dataclass(frozen=True)
class Measure:
    """One number with its interval; a row of the measures table."""

    name: str
    value: float
    low: float
    high: float
    n: int
    clusters: int | None = None
    of: str | None = None
    condition: str | None = None
    by: str | None = None
    group: str | None = None
    score: str | None = None
    unit: str = "share"
    p: float | None = None
    q: float | None = None
    note: str | None = None


def measures_table(measures: Iterable[Measure]) -> pl.DataFrame:
    """Lay measures out as a table."""
    rows = [asdict(measure) for measure in measures]
    return pl.DataFrame(rows, schema=empty(MEASURES).schema)


@dataclass(frozen=True)
class Record:
    """What a saved result says of itself beside its tables."""

    audit: str
    subject: str
    settings: dict[str, Any]
    verdict: Verdict
    wants_more: bool
    tables: tuple[str, ...]


@dataclass(frozen=True)
class Looks:
    """The views of a saved result."""

    views: tuple[View, ...]


@dataclass(frozen=True)
class Result:
    """What a study or a judgement found about a subject (a dataset or a model)."""

    audit: str
    subject: str
    settings: dict[str, Any]
    measures: pl.DataFrame
    rows: pl.DataFrame
    tables: dict[str, pl.DataFrame]
    views: tuple[View, ...]
    verdict: Verdict
    wants_more: bool = False

    def __post_init__(self) -> None:
        for name, schema in (("measures", MEASURES), ("rows", ROWS)):
            object.__setattr__(self, name, check(getattr(self, name), schema).sort(schema.key))
        if "counts" not in self.tables:
            raise TableError(f"a table 'counts' in the result of {self.audit}", "none", "count every example")
        check(self.tables["counts"], COUNTS)
        for view in self.views:
            self._check_view(view)

    def table(self, name: str) -> pl.DataFrame:
        """Find the measures, the rows or a further table by name."""
        return {"measures": self.measures, "rows": self.rows, **self.tables}[name]

    def measure(
        self, name: str, condition: str | None = None, by: str | None = None, group: str | None = None
    ) -> Measure:
        """Find one measure by its key."""
        wanted = {"name": name, "condition": condition, "by": by, "group": group}
        rows = self.measures.filter(pl.col(key).eq_missing(pl.lit(value)) for key, value in wanted.items())
        if rows.height != 1:
            raise TableError(f"a measure {wanted} of {self.audit}", f"{rows.height} rows", "look at result.measures")
        return Measure(**rows.row(0, named=True))

    def save(self, folder: Path) -> None:
        """Write the result as a folder of Parquet and JSON files."""
        with replacing_folder(folder, mark="settings.json") as draft:
            for name in ("measures", "rows", *self.tables):
                write_table(self.table(name), draft / f"{name}.parquet")
            record = Record(self.audit, self.subject, self.settings, self.verdict, self.wants_more, tuple(self.tables))
            write_record(Looks(self.views), draft / "views.json")
            write_record(record, draft / "settings.json")

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read a result folder, or say what is wrong with it."""
        record = read_record(folder / "settings.json", Record)
        tables = {name: read_table(folder / f"{name}.parquet") for name in ("measures", "rows", *record.tables)}
        return cls(
            record.audit,
            record.subject,
            record.settings,
            tables.pop("measures"),
            tables.pop("rows"),
            tables,
            read_record(folder / "views.json", Looks).views,
            record.verdict,
            record.wants_more,
        )

    def __str__(self) -> str:
        lines = [f"{self.audit} of {self.subject}: {self.verdict.sentence}"]
        names = [name_measure(row) for row in self.measures.iter_rows(named=True)]
        width = max(map(len, names), default=0)
        for name, row in zip(names, self.measures.iter_rows(named=True), strict=True):
            lines.append(f"  {name:<{width}}  {speak(row)}  n={row['n']}")
        return "\n".join(lines)

    def _check_view(self, view: View) -> None:
        known = ("measures", "rows", *self.tables)
        if view.table not in known:
            raise TableError(f"view {view.title!r} to draw one of {', '.join(known)}", view.table, "name its table")
        lost = {*view.columns.values(), *view.where} - set(self.table(view.table).columns)
        if lost:
            found = f"no {', '.join(sorted(lost))} in table {view.table!r}"
            raise TableError(f"view {view.title!r} to draw columns that exist", found, "name its columns")


def speak(row: Mapping[str, Any]) -> str:
    """Say a measure with its interval; shares are spoken in points of a hundred."""
    scale, digits = (100, 1) if row["unit"] == "share" else (1, 3)
    value, low, high = (_number(row[name], scale, digits) for name in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"


def _number(value: float | None, scale: int, digits: int) -> str:
    return "-" if value is None or math.isnan(value) else f"{value * scale:.{digits}f}"


def name_measure(row: Mapping[str, Any]) -> str:
    """Name a measure with its condition and its group."""
    place = f" ({row['by']} = {row['group']})" if row["by"] else ""
    condition = f" [{row['condition']}]" if row["condition"] not in (None, "plain") else ""
    return f"{row['name']}{condition}{place}"
