"""Define Result, View and Verdict: what an audit found, as tables and plain words, without figures."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, Self

import polars as pl

from eyechart.base.errors import TableError
from eyechart.base.files import missing, read_record, read_table, replacing_folder, write_record, write_table
from eyechart.data.representation import represent
from eyechart.data.tables import COUNTS, MEASURES, ROWS, check, empty

State = Literal["yes", "no", "cannot tell", "not tested"]
Unit = Literal["points", "number", "count", "ratio"]  # a share is stored as 0..1 and shown as points out of a hundred
Better = Literal["higher", "lower", "neither"]  # neither: constants and descriptions, which nothing is ranked by
ViewKind = Literal["bars", "histogram", "lines", "matrix", "scatter", "table", "gallery"]
Read = Callable[[Path], pl.DataFrame]
RECORD = "settings.json"  # the file that marks a folder as a result
OWN_TABLES = ("measures", "rows")  # the tables of every result, besides its counts


@dataclass(frozen=True)
class Key:
    """What identifies a measure in a result."""

    name: str
    condition: str | None = None
    by: str | None = None
    group: str | None = None


@dataclass(frozen=True)
class Verdict:
    """The answer to an audit's question, which is phrased so that yes is good, and the measure it is based on.

    `label` gives it in two or three words ("looks", "follows shortcuts"), `sentence` in full. `margin` is how far the
    measure may be from the ideal before that counts, in the measure's own unit.
    """

    state: State
    question: str
    label: str
    sentence: str
    measure: Key | None = None  # None only if nothing was measured
    margin: float | None = None

    @property
    def is_outdated(self) -> bool:
        """Return whether an older version drew the conclusion, which answered no question."""
        return self.state == "not tested" and not self.question


@dataclass(frozen=True)
class View:
    """A chart as data: which columns of which table, and one sentence on how to read it.

    `units` names the units of columns of floats; others are plain numbers. In the table `measures` every row has its
    own unit.
    """

    kind: ViewKind
    table: str
    title: str
    reading: str
    columns: dict[str, str] = field(default_factory=dict)  # channel (x, y, low, high, color) -> column
    where: dict[str, str | None] = field(default_factory=dict)  # rows to draw: column -> value
    units: dict[str, Unit] = field(default_factory=dict)  # column -> unit


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
    unit: Unit = "points"
    better: Better = "neither"
    p: float | None = None
    q: float | None = None
    note: str | None = None

    @property
    def key(self) -> Key:
        """Return the key of the measure."""
        return Key(self.name, self.condition, self.by, self.group)


def measures_table(measures: Iterable[Measure]) -> pl.DataFrame:
    """Return measures as a table."""
    rows = [asdict(measure) for measure in measures]
    return pl.DataFrame(rows, schema=empty(MEASURES).schema)


@dataclass(frozen=True)
class ResultRecord:
    """The description of a saved result, next to its tables."""

    audit: str
    subject: str
    settings: dict[str, Any]
    verdict: Verdict
    wants_more: bool
    tables: tuple[str, ...]
    further: tuple[Verdict, ...] = ()

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the record of a result in any format."""
        return read_record(folder / RECORD, cls, _upgrade_verdict)


class ResultTables(Mapping[str, pl.DataFrame]):
    """The tables of a saved result by name, each read when needed."""

    def __init__(self, folder: Path, names: Iterable[str], read: Read) -> None:
        self._files = {name: folder / f"{name}.parquet" for name in names}
        self._read = read
        for file in self._files.values():
            if not file.is_file():
                raise missing(file)

    def __getitem__(self, name: str) -> pl.DataFrame:
        return self._read(self._files[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


@dataclass(frozen=True)
class Result:
    """The findings of a study or a judgement about a subject (a dataset or a model).

    `verdict` answers the audit's question, `further` others that it asks. The tables of a saved result are read when
    needed.
    """

    audit: str
    subject: str
    settings: dict[str, Any]
    measures: pl.DataFrame
    rows: pl.DataFrame
    tables: Mapping[str, pl.DataFrame]
    views: tuple[View, ...]
    verdict: Verdict
    wants_more: bool = False
    further: tuple[Verdict, ...] = ()

    def __post_init__(self) -> None:
        for name, schema in (("measures", MEASURES), ("rows", ROWS)):
            object.__setattr__(self, name, check(getattr(self, name), schema).sort(schema.key))
        if "counts" not in self.tables:
            raise TableError(f"a table 'counts' in the result of {self.audit}", "none", "count every example")
        check(self.tables["counts"], COUNTS)
        for view in self.views:
            self._check_view(view)
        for verdict in self.verdicts:
            self._check_verdict(verdict)

    def __getattr__(self, name: str) -> pl.DataFrame:
        """Read the measures or the rows of a saved result."""
        if name not in OWN_TABLES or "_own" not in self.__dict__:
            raise AttributeError(name)
        own: ResultTables = self.__dict__["_own"]
        return own[name]

    def table(self, name: str) -> pl.DataFrame:
        """Return the measures, the rows or a further table by name."""
        if name in OWN_TABLES:
            return self.measures if name == "measures" else self.rows
        return self.tables[name]

    def measure(
        self, name: str, condition: str | None = None, by: str | None = None, group: str | None = None
    ) -> Measure:
        """Return one measure by its key."""
        wanted = Key(name, condition, by, group)
        rows = self._find(wanted)
        if rows.height != 1:
            raise TableError(
                f"a measure {asdict(wanted)} of {self.audit}", f"{rows.height} rows", "see result.measures"
            )
        return Measure(**rows.row(0, named=True))

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        """Return all verdicts, the one on the audit's own question first."""
        return self.verdict, *self.further

    @property
    def headline(self) -> Measure | None:
        """Return the measure that the verdict is based on."""
        return self.headlines[0]

    @property
    def headlines(self) -> tuple[Measure | None, ...]:
        """Return the measure that each verdict is based on."""
        keys = (verdict.measure for verdict in self.verdicts)
        return tuple(None if key is None else self.measure(**asdict(key)) for key in keys)

    def save(self, folder: Path) -> None:
        """Write the result as a folder of Parquet and JSON files."""
        with replacing_folder(folder, mark=RECORD) as draft:
            for name in ("measures", "rows", *self.tables):
                write_table(self.table(name), draft / f"{name}.parquet")
            record = ResultRecord(
                self.audit, self.subject, self.settings, self.verdict, self.wants_more, tuple(self.tables), self.further
            )
            write_record({"views": self.views}, draft / "views.json")
            write_record(record, draft / RECORD)

    @classmethod
    def load(cls, folder: Path, read: Read | None = None) -> Self:
        """Open a result folder; `read` reads its tables and may cache them."""
        record = ResultRecord.read(folder)
        reading = read or cache(read_result_table)
        result = object.__new__(cls)  # tables are checked when they are written
        result.__dict__.update(
            audit=record.audit,
            subject=record.subject,
            settings=record.settings,
            tables=ResultTables(folder, record.tables, reading),
            views=read_record(folder / "views.json", dict[str, tuple[View, ...]])["views"],
            verdict=record.verdict,
            wants_more=record.wants_more,
            further=record.further,
            _own=ResultTables(folder, OWN_TABLES, reading),
        )
        return result

    def read(self) -> Self:
        """Read every table now, so that the folder is no longer needed."""
        return replace(self, tables=dict(self.tables))

    def __str__(self) -> str:
        lines = [f"{self.audit} of {self.subject}: {' '.join(verdict.sentence for verdict in self.verdicts)}"]
        names = [name_measure(row) for row in self.measures.iter_rows(named=True)]
        width = max(map(len, names), default=0)
        for name, row in zip(names, self.measures.iter_rows(named=True), strict=True):
            lines.append(f"  {name:<{width}}  {speak(row)}  n={row['n']}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        pairs = zip(self.verdicts, self.headlines, strict=True)
        return f"{self.audit} of {self.subject}: {'; '.join(_sum_up(*pair) for pair in pairs)}"

    def _repr_html_(self) -> str:
        return represent("result", self)

    def _find(self, key: Key) -> pl.DataFrame:
        wanted = asdict(key).items()
        return self.measures.filter(pl.col(name).eq_missing(pl.lit(value, pl.String)) for name, value in wanted)

    def _check_view(self, view: View) -> None:
        known = (*OWN_TABLES, *self.tables)
        if view.table not in known:
            raise TableError(f"view {view.title!r} to draw one of {', '.join(known)}", view.table, "name its table")
        missing_columns = {*view.columns.values(), *view.where, *view.units} - set(self.table(view.table).columns)
        if missing_columns:
            found = f"no {', '.join(sorted(missing_columns))} in table {view.table!r}"
            raise TableError(f"view {view.title!r} to draw columns that exist", found, "name its columns")

    def _check_verdict(self, verdict: Verdict) -> None:
        """Reject a verdict without a measure, unless nothing was measured."""
        key, expected = verdict.measure, f"the verdict of {self.audit} to name the measure it is based on"
        advice = "name it by Key(name, condition, by, group)"
        if key is None and verdict.state != "not tested":
            raise TableError(expected, f"{verdict.state!r} without a measure", advice)
        if key is not None and type(key) is not Key:  # from code that no type checker has seen
            raise TableError(expected, repr(key), advice)
        if key is not None and self._find(key).height != 1:
            advice = "add the measure, or name another"
            raise TableError(f"the verdict of {self.audit} to be based on one of its measures", f"none {key}", advice)


def _sum_up(verdict: Verdict, measure: Measure | None) -> str:
    """Write a verdict with its value."""
    said = f"{verdict.state}, {verdict.label}" if verdict.label else verdict.state
    return said if measure is None else f"{said}: {measure.name} {speak(vars(measure))}"


def read_result_table(path: Path) -> pl.DataFrame:
    """Read a table of a saved result, checking it if its schema is known."""
    table = read_table(path)
    if path.stem == "measures":
        return check(_upgrade_units(table), MEASURES)
    return check(table, ROWS) if path.stem == "rows" else table


OUTDATED = Verdict(
    "not tested",
    "",
    "judged by an older version",
    "An older eyechart drew this conclusion; run `eyechart judge RUN` (for the data, `eyechart study`) for a new one.",
)
_UNITS_BEFORE: dict[str | None, Unit] = {"share": "points", "ratio": "ratio"}


def _upgrade_verdict(content: dict[str, Any]) -> dict[str, Any]:
    """Upgrade the record of a result in format 1, whose verdicts had no question and no condition for the measure."""
    before = content["verdict"]
    described = replace(OUTDATED, label="describes", sentence=str(before["sentence"]))
    return content | {"verdict": asdict(described if before["state"] == "none" else OUTDATED)}


def _upgrade_units(measures: pl.DataFrame) -> pl.DataFrame:
    """Upgrade the measures of format 1, which did not state which way is better."""
    if "better" in measures.columns:
        return measures
    unit = pl.col("unit").replace_strict(_UNITS_BEFORE, default="number", return_dtype=pl.String)
    return measures.with_columns(unit, pl.lit("neither").alias("better"))


_DIGITS: dict[Unit, int] = {"points": 1, "number": 3, "count": 0, "ratio": 3}


def speak(row: Mapping[str, Any]) -> str:
    """Write a measure with its interval, shares as points out of a hundred, counts without decimals."""
    scale = 100 if row["unit"] == "points" else 1
    value, low, high = (_number(row[name], scale, _DIGITS[row["unit"]]) for name in ("value", "low", "high"))
    return f"{value} [{low}, {high}]"


def _number(value: float | None, scale: int, digits: int) -> str:
    return "-" if value is None or math.isnan(value) else f"{value * scale:,.{digits}f}"


def name_measure(row: Mapping[str, Any]) -> str:
    """Return the name of a measure with its condition and its group."""
    group = f" ({row['by']} = {row['group']})" if row["by"] else ""
    condition = f" [{row['condition']}]" if row["condition"] not in (None, "plain") else ""
    return f"{row['name']}{condition}{group}"
