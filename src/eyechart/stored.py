"""Tables that may lie in Parquet files: their columns are known at once, their rows are read when asked for."""

import shutil
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Self, TypeVar

import polars as pl
from polars.exceptions import PolarsError

from eyechart.files import damaged, missing, read_table, replacing, write_table
from eyechart.tables import Schema, check, check_columns, empty

Told = TypeVar("Told")
REMEMBERED = 1 << 30  # bytes of tables that are kept for who asks again
GROUP = 50_000  # rows of a row group of a table that is written from other files


@dataclass(frozen=True)
class Stored:
    """A table on disk; `file` holds exactly this table, and `owner` keeps a temporary folder alive."""

    frame: pl.LazyFrame
    place: Path
    file: Path | None = None
    group: int = GROUP
    owner: object = None

    @classmethod
    def open(cls, path: Path) -> Self:
        """Look at the columns of a Parquet table we wrote."""
        stored = cls(pl.scan_parquet(path), path, path)
        _ = stored.columns  # so that a file that is none is told at once
        return stored

    @cached_property
    def columns(self) -> pl.Schema:
        """Name the columns and their types."""
        return self._asked(self.frame.collect_schema)

    @cached_property
    def height(self) -> int:
        """Count the rows."""
        return int(self._asked(lambda: self.frame.select(pl.len()).collect()).item())

    def select(self, names: Collection[str]) -> Self:
        """Keep some columns, in their order."""
        kept = [name for name in self.columns if name in names]
        return self if len(kept) == len(self.columns) else self.changed(self.frame.select(kept))

    def filter(self, keep: pl.Expr) -> Self:
        """Keep the rows for which an expression of columns holds."""
        return self.changed(self.frame.filter(keep))

    def changed(self, frame: pl.LazyFrame) -> Self:
        """Put a query over the same files in the place of the table."""
        return replace(self, frame=frame, file=None)

    def read(self) -> pl.DataFrame:
        """Read all of it."""
        table: pl.DataFrame = self._asked(self.frame.collect)
        return table

    def write(self, path: Path) -> None:
        """Write the table as one Parquet file: a copy of its file, else streamed, never whole in memory."""
        with replacing(path) as draft:
            if self.file is not None:
                shutil.copyfile(self.file, draft)
            else:
                self._asked(lambda: self.frame.sink_parquet(draft, row_group_size=self.group))

    def _asked(self, question: Callable[[], Told]) -> Told:
        try:
            return question()
        except FileNotFoundError:
            raise missing(self.place) from None
        except (PolarsError, OSError) as error:
            raise damaged(self.place, str(error)) from None


class Kept:
    """A table in memory or on disk; that on disk is read and checked when it is first asked for."""

    def __init__(self, given: pl.DataFrame | Stored, schema: Schema) -> None:
        self._schema = schema
        self._table: pl.DataFrame | None = None
        self.stored: Stored | None = None
        if isinstance(given, Stored):
            check_columns(given.columns.to_frame(), schema)
            self.stored = given
        else:
            self._table = check(given, schema)

    @property
    def table(self) -> pl.DataFrame:
        """Give the whole table."""
        if self._table is None and self.stored is not None:
            self._table = check(self.stored.read(), self._schema)
        return self._table if self._table is not None else empty(self._schema)

    @property
    def columns(self) -> pl.Schema:
        """Name the columns and their types."""
        return self.table.schema if self.stored is None else self.stored.columns

    @property
    def height(self) -> int:
        """Count the rows."""
        return self.table.height if self.stored is None else self.stored.height

    def lazy(self) -> pl.LazyFrame:
        """Let Polars read only what a query needs; what was read already is not read again."""
        return self.stored.frame if self.stored is not None and self._table is None else self.table.lazy()

    def only(self, names: Collection[str]) -> pl.DataFrame | Stored:
        """Keep some columns, in their order, and those that every such table has."""
        always = {name for name, column in self._schema.columns.items() if column.required}
        wanted = [name for name in self.columns if name in always or name in names]
        return self.table.select(wanted) if self.stored is None else self.stored.select(wanted)

    def filter(self, keep: pl.Expr) -> pl.DataFrame | Stored:
        """Keep the rows for which an expression holds; one that brings its own values needs the rows in memory."""
        if self.stored is None or not keep.meta.root_names():
            return self.table.filter(keep)
        return self.stored.filter(keep)

    def write(self, path: Path) -> None:
        """Write the table as Parquet."""
        if self.stored is None:
            write_table(self.table, path)
        else:
            self.stored.write(path)


class Table:
    """A field of a dataclass that takes a table or a stored one, and gives a table."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def __set_name__(self, owner: type, name: str) -> None:
        """Learn the name of the field."""
        self._name = name

    def __set__(self, owner: object, given: pl.DataFrame | Stored) -> None:
        """Keep what is given, if it fits the schema."""
        owner.__dict__[f"_{self._name}"] = Kept(given, self._schema)

    def __get__(self, owner: object, kind: type) -> pl.DataFrame:
        """Give the table, reading it if need be."""
        if owner is None:  # a dataclass asks for a default, which there is not
            raise AttributeError(self._name)
        return self.kept(owner).table

    def kept(self, owner: object) -> Kept:
        """Give what is kept, without reading it."""
        found: Kept = owner.__dict__[f"_{self._name}"]
        return found


class Stamped(NamedTuple):
    """A file as it is now: what was found in it may be kept as long as this stays equal."""

    path: Path
    changed: int
    size: int
    number: int

    def scan(self) -> pl.LazyFrame:
        """Read the file lazily."""
        return pl.scan_parquet(self.path, glob=False)


def stamped(path: Path) -> Stamped:
    """Look at when a file changed."""
    try:
        facts = path.stat()
    except FileNotFoundError:
        raise missing(path) from None
    return Stamped(path, facts.st_mtime_ns, facts.st_size, facts.st_ino)


class Remembered:
    """Read tables, and keep those that were asked for or written last as long as their files stay the same."""

    def __init__(self, most: int = REMEMBERED) -> None:
        self._most = most
        self._tables: OrderedDict[Path, tuple[Stamped, pl.DataFrame]] = OrderedDict()
        self._lock = Lock()

    def table(self, path: Path, read: Callable[[Path], pl.DataFrame] = read_table) -> pl.DataFrame:
        """Read a table, unless it is known as it is now."""
        now = stamped(path)
        with self._lock:
            known = self._tables.get(path)
            if known is not None and known[0] == now:
                self._tables.move_to_end(path)
                return known[1]
        table = read(path)
        self._keep(now, table)
        return table

    def keep(self, path: Path, table: pl.DataFrame) -> None:
        """Keep a table that was just written, so that nobody need read it."""
        self._keep(stamped(path), table)

    def lazy(self, path: Path) -> pl.LazyFrame:
        """Give a table that is known as it is now, else let Polars read only what a query needs."""
        now = stamped(path)
        with self._lock:
            known = self._tables.get(path)
        return known[1].lazy() if known is not None and known[0] == now else now.scan()

    def _keep(self, now: Stamped, table: pl.DataFrame) -> None:
        with self._lock:
            self._tables[now.path] = (now, table)
            self._tables.move_to_end(now.path)
            self._forget()

    def _forget(self) -> None:
        held = sum(table.estimated_size() for _, table in self._tables.values())
        while self._tables and held > self._most:
            _, (_, table) = self._tables.popitem(last=False)
            held -= table.estimated_size()
