"""Cache responses in front of a backend: the same prompt and pictures are asked once.

Responses are in an SQLite file, keyed by a hash of everything that determines them. Write-ahead logging makes it safe
for several processes and against a kill at any moment. Failures are never stored.
"""

import json
import math
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, Protocol

import polars as pl

from eyechart.base.characters import storable
from eyechart.base.errors import FileFormatError
from eyechart.base.progress import tracked
from eyechart.data.pictures import Picture
from eyechart.data.protocols import WorkerKind
from eyechart.language.prompts import PromptBatch
from eyechart.models.backend import Backend, Response, StreamingBackend, worker_kind
from eyechart.models.messages import MAX_SIDE

CACHE_VARIABLE = "EYECHART_CACHE"  # the environment variable for another file
VERSION = 2  # of the tables below and the responses in them; 2 added why a text ends and the model's own name
CALLS = {"key": pl.String, "known": pl.Boolean, "pictures": pl.Int64, "tokens": pl.Int64}
_TIMEOUT = 60  # seconds to wait for another process that is writing

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

Put = Callable[[Mapping[str, Response]], None]


class ResponseStore(Protocol):
    """Responses by their keys."""

    def get(self, keys: Sequence[str]) -> dict[str, Response]:
        """Return the responses to the keys that have one."""
        ...

    def writing(self, identity: str) -> AbstractContextManager[Put]:
        """Start storing the responses of a backend; failures are not stored."""
        ...


class CacheUsage(NamedTuple):
    """The usage of the cache by one backend."""

    identity: str
    answers: int
    characters: int
    oldest: float  # seconds since 1970
    newest: float

    def describe(self) -> tuple[str, str, str]:
        """Describe the backend: its kind, model and settings."""
        identity = json.loads(self.identity)
        kind, model = identity.pop("kind"), identity.pop("model")
        return kind, model, " ".join(f"{name}={value}" for name, value in identity.items() if value is not None)


@dataclass
class MemoryStore:
    """Responses kept while the process runs, so that even without a file nothing is asked twice."""

    _responses: dict[str, Response] = field(default_factory=dict)

    def get(self, keys: Sequence[str]) -> dict[str, Response]:
        """Return the responses to the keys that have one."""
        return {key: self._responses[key] for key in keys if key in self._responses}

    @contextmanager
    def writing(self, identity: str) -> Iterator[Put]:  # noqa: ARG002 - part of the contract
        """Start storing responses, except for failures."""
        yield lambda responses: self._responses.update(_storable(responses))


@dataclass(frozen=True)
class AnswerCache:
    """A file of responses; `since` (seconds since 1970) hides older ones, so that they are asked again."""

    path: Path
    since: float = 0.0

    def get(self, keys: Sequence[str]) -> dict[str, Response]:
        """Return the responses to the keys that have one."""
        with self._open() as database:
            rows = database.execute(_GET, (json.dumps(list(keys)), self.since)).fetchall()
        return {key: _read_response(text) for key, text in rows}

    @contextmanager
    def writing(self, identity: str) -> Iterator[Put]:
        """Start storing the responses of a backend, except for failures; each is committed at once."""
        with self._open() as database:

            def put(responses: Mapping[str, Response]) -> None:
                now = time.time()
                rows = [(key, json.dumps(one), now, identity) for key, one in _storable(responses).items()]
                with database:
                    database.execute(_NAME, (identity,))
                    database.executemany(_PUT, rows)

            yield put

    def list(self) -> list[CacheUsage]:
        """Count the responses of each backend, the most recent first."""
        with self._open() as database:
            return [CacheUsage(*row) for row in database.execute(_LIST)]

    def prune(self, before: float = float("inf"), containing: str = "") -> int:
        """Delete responses older than a time whose backend's identity contains a text, and count them."""
        with self._open() as database:
            with database:
                n = database.execute(f"DELETE FROM answers WHERE {_CHOSEN}", (before, containing)).rowcount  # noqa: S608 - a constant
            database.execute("VACUUM")
        return n

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        # One connection per operation: forks and copies of this object in other processes then need no care.
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with closing(sqlite3.connect(self.path, timeout=_TIMEOUT, check_same_thread=False)) as database:
                # In WAL mode a kill loses nothing committed; only a crash of the machine could.
                database.execute("PRAGMA synchronous=NORMAL")
                self._prepare(database)
                yield database
        except sqlite3.DatabaseError as error:
            advice = "restore it, or name another file with cache=FILE"
            raise FileFormatError(f"a cache of responses in {self.path}", str(error), advice) from None

    def _prepare(self, database: sqlite3.Connection) -> None:
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version == VERSION:
            return
        if version > VERSION:
            raise FileFormatError(
                f"a cache of version {VERSION} in {self.path}", f"version {version}", "upgrade eyechart"
            )
        database.execute("PRAGMA journal_mode=WAL")
        database.executescript(f"BEGIN IMMEDIATE; {_TABLES} PRAGMA user_version={VERSION}; COMMIT;")


@dataclass(frozen=True)
class CachedBackend:
    """A backend with a store of responses in front of it."""

    backend: Backend
    store: ResponseStore

    @property
    def identity(self) -> str:
        """Return the identity of the backend itself."""
        return self.backend.identity

    @property
    def place(self) -> WorkerKind:
        """Return where the backend runs."""
        return worker_kind(self.backend)

    def respond(self, batch: PromptBatch) -> list[Response]:
        """Ask only for what is not in the store, the same content once, and store responses as they arrive."""
        keys = self.keys(batch)
        known = self.store.get(keys)
        rows = {key: row for row, key in enumerate(keys) if key not in known}
        new = self._ask(batch.take(list(rows.values())), list(rows)) if rows else {}
        return [known[key] if key in known else new[key] for key in keys]

    def keys(self, batch: PromptBatch) -> list[str]:
        """Hash everything that determines a response: backend, prompt, pixels as edited, options and draw."""
        return self._keys_to(batch, batch.all_pictures())

    def outdated(self, batch: PromptBatch) -> set[str]:
        """Return the keys without a response that have one to the pictures as earlier versions showed them."""
        pictures = batch.all_pictures()
        former = [tuple(one.former or one for one in own) for own in pictures]
        moved = {
            key: old for key, old in zip(self.keys(batch), self._keys_to(batch, former), strict=True) if key != old
        }
        known = self.store.get([*moved, *moved.values()])
        return {key for key, old in moved.items() if old in known and key not in known}

    def _keys_to(self, batch: PromptBatch, pictures: Sequence[Sequence[Picture]]) -> list[str]:
        parts = zip(batch.prompts, ([one.key for one in own] for own in pictures), batch.choices, strict=True)
        return [sha256(json.dumps([self.identity, *part, batch.draw]).encode()).hexdigest() for part in parts]

    def foresee(self, batch: PromptBatch) -> pl.DataFrame:
        """List the calls that asking would take: those with one key are made once, known ones not at all."""
        keys, pictures = self.keys(batch), batch.all_pictures()
        known = self.store.get(keys)
        columns = {
            "key": keys,
            "known": [key in known for key in keys],
            "pictures": [len(own) for own in pictures],
            "tokens": [estimate_tokens(text, own) for text, own in zip(batch.prompts, pictures, strict=True)],
        }
        return pl.DataFrame(columns, schema=CALLS)

    def _ask(self, batch: PromptBatch, keys: Sequence[str]) -> dict[str, Response]:
        responses: dict[str, Response] = {}
        with self.store.writing(self.identity) as put, tracked("answers", len(keys)) as advance:

            def on_response(row: int, response: Response) -> None:
                responses[keys[row]] = response
                put({keys[row]: response})
                advance(1)

            if isinstance(self.backend, StreamingBackend):
                self.backend.respond_each(batch, on_response)
            else:
                responses = dict(zip(keys, self.backend.respond(batch), strict=True))
                put(responses)
        return responses


def open_cache(path: str | None, *, fresh: bool = False) -> ResponseStore:
    """Open the default file, the given one, or none with `off`; `fresh` hides everything stored before."""
    if path == "off":
        return MemoryStore()
    return AnswerCache(Path(path) if path else default_cache_file(), since=time.time() if fresh else 0.0)


def default_cache_file() -> Path:
    """Return the file used by default."""
    named = os.environ.get(CACHE_VARIABLE)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(named) if named else Path(base) / "eyechart" / "answers.sqlite"


def estimate_tokens(text: str, pictures: Sequence[Picture]) -> int:
    """Estimate the size of a prompt: a token for 4 characters; for a picture 85, and 170 for each 512 x 512 tile."""
    return math.ceil(len(text) / 4) + sum(85 + 170 * _count_tiles(picture) for picture in pictures)


def _count_tiles(picture: Picture) -> int:
    height, width = map(int, picture.pixels.shape[:2])
    scale = min(1.0, MAX_SIDE / max(height, width))
    return math.ceil(height * scale / 512) * math.ceil(width * scale / 512)


def _storable(responses: Mapping[str, Response]) -> dict[str, Response]:
    return {key: one.edit_texts(storable) for key, one in responses.items() if one.failed is None}


def _read_response(text: str) -> Response:
    response = Response(*json.loads(text))
    return response._replace(scores=response.scores and [(answer, score) for answer, score in response.scores])
