"""Answers that were paid for once: an SQLite file of what askers said, found by a hash of all that they were shown.

Write-ahead logging makes it safe under several processes and a kill at any moment. Failures are never kept.
"""

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, Protocol

from eyechart.errors import FileFormatError
from eyechart.models.shown import Said

PLACE = "EYECHART_CACHE"  # the environment variable that names another file
VERSION = 1  # of the tables below
_PATIENCE = 60  # seconds to wait for another process that is writing

_TABLES = """
CREATE TABLE IF NOT EXISTS askers (asker INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS answers (
    key TEXT PRIMARY KEY, asker INTEGER NOT NULL REFERENCES askers, said TEXT NOT NULL, at REAL NOT NULL
) WITHOUT ROWID;
"""
_GET = "SELECT key, said FROM answers WHERE key IN (SELECT value FROM json_each(?)) AND at >= ?"
_NAME = "INSERT OR IGNORE INTO askers (identity) VALUES (?)"
_PUT = "INSERT OR REPLACE INTO answers SELECT ?, asker, ?, ? FROM askers WHERE identity = ?"
_LIST = """
SELECT identity, count(*), sum(length(said)), min(at), max(at)
FROM answers JOIN askers USING (asker) GROUP BY asker ORDER BY max(at) DESC
"""
_CHOSEN = "at < ? AND asker IN (SELECT asker FROM askers WHERE instr(identity, ?) > 0)"

Put = Callable[[Mapping[str, Said]], None]


class Store(Protocol):
    """Where answers are found again by their keys."""

    def get(self, keys: Sequence[str]) -> dict[str, Said]:
        """Find what was said under these keys."""
        ...

    def writing(self, identity: str) -> AbstractContextManager[Put]:
        """Begin to keep what an asker says; failures are not kept."""
        ...


class Stored(NamedTuple):
    """What the cache holds of one asker."""

    identity: str
    answers: int
    characters: int
    oldest: float  # seconds since 1970
    newest: float


@dataclass
class ShortMemory:
    """Remember as long as the process runs, so that even without a file nothing is asked twice."""

    _said: dict[str, Said] = field(default_factory=dict)

    def get(self, keys: Sequence[str]) -> dict[str, Said]:
        """Find what was said under these keys."""
        return {key: self._said[key] for key in keys if key in self._said}

    @contextmanager
    def writing(self, identity: str) -> Iterator[Put]:  # noqa: ARG002 - part of the contract
        """Begin to keep what is said, except for failures."""
        yield lambda said: self._said.update(_worth_keeping(said))


@dataclass(frozen=True)
class AnswerCache:
    """A file of answers; `since` (seconds since 1970) leaves older ones unseen, so that they are asked anew."""

    path: Path
    since: float = 0.0

    def get(self, keys: Sequence[str]) -> dict[str, Said]:
        """Find what was said under these keys."""
        with self._open() as database:
            rows = database.execute(_GET, (json.dumps(list(keys)), self.since)).fetchall()
        return {key: _read(said) for key, said in rows}

    @contextmanager
    def writing(self, identity: str) -> Iterator[Put]:
        """Begin to keep what an asker says, except for failures; what is put is there for good at once."""
        with self._open() as database:

            def put(said: Mapping[str, Said]) -> None:
                now = time.time()
                rows = [(key, json.dumps(one), now, identity) for key, one in _worth_keeping(said).items()]
                with database:
                    database.execute(_NAME, (identity,))
                    database.executemany(_PUT, rows)

            yield put

    def list(self) -> list[Stored]:
        """Tell what is held of each asker, the latest first."""
        with self._open() as database:
            return [Stored(*row) for row in database.execute(_LIST)]

    def prune(self, before: float = float("inf"), containing: str = "") -> int:
        """Delete what is older than a time and whose asker's identity contains a text, and count it."""
        with self._open() as database:
            with database:
                n = database.execute(f"DELETE FROM answers WHERE {_CHOSEN}", (before, containing)).rowcount  # noqa: S608 - a constant
            database.execute("VACUUM")
        return n

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        # A connection for each piece of work: forks and copies of this object in other processes then need no care.
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with closing(sqlite3.connect(self.path, timeout=_PATIENCE, check_same_thread=False)) as database:
                # In WAL mode a kill loses nothing that was committed; only the machine's own crash could.
                database.execute("PRAGMA synchronous=NORMAL")
                self._prepare(database)
                yield database
        except sqlite3.DatabaseError as error:
            advice = "bring it back, or name another file with cache=FILE"
            raise FileFormatError(f"a cache of answers in {self.path}", str(error), advice) from None

    def _prepare(self, database: sqlite3.Connection) -> None:
        (found,) = database.execute("PRAGMA user_version").fetchone()
        if found == VERSION:
            return
        if found > VERSION:
            raise FileFormatError(
                f"a cache of version {VERSION} in {self.path}", f"version {found}", "upgrade eyechart"
            )
        database.execute("PRAGMA journal_mode=WAL")
        database.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version={VERSION}; COMMIT;")


def default_place() -> Path:
    """Name the file that is used where no other is named."""
    named = os.environ.get(PLACE)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(named) if named else Path(base) / "eyechart" / "answers.sqlite"


def _worth_keeping(said: Mapping[str, Said]) -> dict[str, Said]:
    return {key: one for key, one in said.items() if one.failed is None}


def _read(text: str) -> Said:
    said = Said(*json.loads(text))
    return said._replace(scores=said.scores and [(answer, score) for answer, score in said.scores])
