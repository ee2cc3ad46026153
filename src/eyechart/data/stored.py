"""Stored tables: Parquet files whose columns are known at once and whose rows are read when needed."""

import shutil
from collections import OrderedDict
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import NamedTuple, Self, TypeVar

import polars as pl

from eyechart.base.files import missing, read_table, reading, replacing, scan_table, write_table
from eyechart.data.tables import Schema, check, check_columns, empty

Answer = TypeVar("Answer")
CACHE_SIZE = 1 << 30  # bytes of tables kept in memory
GROUP = 50_000  # rows in a row group of a table written from other files


@dataclass(frozen=True)
class StoredTable:
    """A table on disk; `file` is exactly this table, and `owner` keeps a temporary folder alive."""

    frame: pl.LazyFrame
    path: Path
    file: Path | None = None
    group: int = GROUP
    owner: object = None

    @classmethod
    def open(cls, path: Path) -> Self:
        """Open a Parquet table we wrote, reading only its schema."""
        return cls(scan_table(path), path, path)

    @cached_property
    def columns(self) -> pl.Schema:
        """Return the columns and their types."""
        return self._query(self.frame.collect_schema)

    @cached_property
    def height(self) -> int:
        """Count the rows."""
        return int(self._query(lambda: self.frame.select(pl.len()).collect()).item())

    def select(self, names: Collection[str]) -> Self:
        """Keep some columns, in their order."""
        kept = [name for name in self.columns if name in names]
        if len(kept) == len(self.columns):
            return self
        narrow = self.changed(self.frame.select(kept))
        if "height" in self.__dict__:  # it has as many rows
            narrow.__dict__["height"] = self.height
        return narrow

    def filter(self, keep: pl.Expr) -> Self:
        """Keep the rows for which an expression of columns is true."""
        return self.changed(self.frame.filter(keep))

    def changed(self, frame: pl.LazyFrame) -> Self:
        """Replace the query, keeping the same files."""
        return replace(self, frame=frame, file=None)

    def read(self) -> pl.DataFrame:
        """Read all of it."""
        table: pl.DataFrame = self._query(self.frame.collect)
        return table

    def write(self, path: Path) -> None:
        """Write the table as one Parquet file, by copying or streaming, so that it is never whole in memory."""
        with replacing(path) as draft:
            if self.file is not None:
                shutil.copyfile(self.file, draft)
            else:
                self._query(lambda: self.frame.sink_parquet(draft, row_group_size=self.group))

    def _query(self, query: Callable[[], Answer]) -> Answer:
        with reading(self.path):
            return query()


class LazyTable:
    """A table in memory or on disk; one on disk is read and checked when it is first needed."""

    def __init__(self, given: pl.DataFrame | StoredTable, schema: Schema) -> None:
        self._schema = schema
        self._table: pl.DataFrame | None = None
        self.stored: StoredTable | None = None
        if isinstance(given, StoredTable):
            check_columns(given.columns.to_frame(), schema)
            self.stored = given
        else:
            self._table = check(given, schema)

    @property
    def table(self) -> pl.DataFrame:
        """Return the whole table."""
        if self._table is None and self.stored is not None:
            self._table = check(self.stored.read(), self._schema)
        return self._table if self._table is not None else empty(self._schema)

    @property
    def columns(self) -> pl.Schema:
        """Return the columns and their types."""
        return self.table.schema if self.stored is None else self.stored.columns

    @property
    def height(self) -> int:
        """Count the rows."""
        return self.table.height if self.stored is None else self.stored.height

    def lazy(self) -> pl.LazyFrame:
        """Return a lazy frame, so that a query reads only what it needs and is not yet in memory."""
        return self.stored.frame if self.stored is not None and self._table is None else self.table.lazy()

    def only(self, names: Collection[str]) -> pl.DataFrame | StoredTable:
        """Keep some columns, in their order, and the required ones."""
        always = {name for name, column in self._schema.columns.items() if column.required}
        wanted = [name for name in self.columns if name in always or name in names]
        return self.table.select(wanted) if self.stored is None else self.stored.select(wanted)

    def filter(self, keep: pl.Expr) -> pl.DataFrame | StoredTable:
        """Keep the rows for which an expression is true; one with embedded values needs the rows in memory."""
        if self.stored is None or not keep.meta.root_names():
            return self.table.filter(keep)
        return self.stored.filter(keep)

    def write(self, path: Path) -> None:
        """Write the table as Parquet."""
        if self.stored is None:
            write_table(self.table, path)
        else:
            self.stored.write(path)


class TableField:
    """A field of a dataclass that accepts a table or a stored one, and returns a table."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema

    def __set_name__(self, owner: type, name: str) -> None:
        """Store the name of the field."""
        self._name = name

    def __set__(self, owner: object, given: pl.DataFrame | StoredTable) -> None:
        """Check the table against the schema, and keep it."""
        owner.__dict__[f"_{self._name}"] = LazyTable(given, self._schema)

    def __get__(self, owner: object, kind: type) -> pl.DataFrame:
        """Return the table, reading it if need be."""
        if owner is None:  # a dataclass asks for the default, but there is none
            raise AttributeError(self._name)
        return self.kept(owner).table

    def kept(self, owner: object) -> LazyTable:
        """Return the table without reading it."""
        found: LazyTable = owner.__dict__[f"_{self._name}"]
        return found


class TableFile(NamedTuple):
    """The state of a table file; data read from it are valid as long as this is unchanged."""

    path: Path
    changed: int
    size: int
    number: int

    def scan(self) -> pl.LazyFrame:
        """Read the file lazily."""
        return scan_table(self.path)


def stat_table(path: Path) -> TableFile:
    """Read the state of a table file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        raise missing(path) from None
    return TableFile(path, status.st_mtime_ns, status.st_size, status.st_ino)


class TableCache:
    """Read tables, and cache the latest ones as long as their files are unchanged."""

    def __init__(self, most: int = CACHE_SIZE) -> None:
        self._most = most
        self._tables: OrderedDict[Path, tuple[TableFile, pl.DataFrame]] = OrderedDict()
        self._size = 0.0  # of all these, counted along: a run keeps thousands
        self._lock = Lock()

    def table(self, path: Path, read: Callable[[Path], pl.DataFrame] = read_table) -> pl.DataFrame:
        """Return a table, reading it unless its current state is cached."""
        now = stat_table(path)
        with self._lock:
            known = self._tables.get(path)
            if known is not None and known[0] == now:
                self._tables.move_to_end(path)
                return known[1]
        table = read(path)
        self._keep(now, table)
        return table

    def keep(self, path: Path, table: pl.DataFrame) -> None:
        """Cache a table that has just been written."""
        self._keep(stat_table(path), table)

    def lazy(self, path: Path) -> pl.LazyFrame:
        """Return a lazy frame of a table, from the cache if it is valid."""
        now = stat_table(path)
        with self._lock:
            known = self._tables.get(path)
        return known[1].lazy() if known is not None and known[0] == now else now.scan()

    def _keep(self, now: TableFile, table: pl.DataFrame) -> None:
        with self._lock:
            if now.path in self._tables:
                self._size -= self._tables.pop(now.path)[1].estimated_size()
            self._tables[now.path] = (now, table)
            self._size += table.estimated_size()
            while self._tables and self._size > self._most:
                _, (_, oldest) = self._tables.popitem(last=False)
                self._size -= oldest.estimated_size()
