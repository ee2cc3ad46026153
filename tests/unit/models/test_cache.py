"""Answers are found again by content alone, survive other processes and kills, and failures are never among them."""

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Thread

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.errors import FileFormatError
from eyechart.base.progress import watched_by
from eyechart.data.pictures import Picture
from eyechart.language.prompts import PromptBatch, choose_template
from eyechart.models.backend import Response
from eyechart.models.cache import (
    AnswerCache,
    CachedBackend,
    MemoryStore,
    ResponseStore,
    default_cache_file,
    estimate_tokens,
    open_cache,
)
from eyechart.models.messages import MAX_SIDE
from eyechart.models.prompted import read_responses

PICTURE = Picture.of(np.zeros((3, 4, 3), np.uint8))
OPTIONS = ["red", "blue"]


@dataclass
class Parrot:
    """Repeat prompts, and remember what it was asked; fail where it is told to."""

    identity: str = "parrot"
    failing: bool = False
    asked: list[str] = field(default_factory=list)

    def respond(self, batch: PromptBatch) -> list[Response]:
        self.asked += batch.prompts
        return [Response(None, failed="tired") if self.failing else Response(f"{text}!") for text in batch.prompts]


@pytest.fixture(params=["disk", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ResponseStore:
    return AnswerCache(tmp_path / "a" / "cache.sqlite") if request.param == "disk" else MemoryStore()


def put(store: ResponseStore, identity: str, said: dict[str, Response]) -> None:
    with store.writing(identity) as keep:
        keep(said)


def show(*prompts: str, picture: Picture | None = PICTURE, choices: list[str] | None = None) -> PromptBatch:
    return PromptBatch(list(prompts), [picture] * len(prompts), [choices] * len(prompts))


def test_nothing_is_asked_twice_and_every_answer_belongs_to_its_prompt(store: ResponseStore) -> None:
    parrot = Parrot()
    cached = CachedBackend(parrot, store)
    first = cached.respond(show("a", "b", "a"))
    second = cached.respond(show("c", "b", "a", "c"))

    assert [one.raw for one in first] == ["a!", "b!", "a!"]
    assert [one.raw for one in second] == ["c!", "b!", "a!", "c!"]
    assert parrot.asked == ["a", "b", "c"]


def one_pixel_changed() -> Picture:
    pixels = PICTURE.pixels.copy()
    pixels[2, 3, 1] += 1
    return Picture.of(pixels)


CHANGES = {
    "one pixel": show("a", picture=one_pixel_changed()),
    "the form of the picture": show("a", picture=Picture.of(PICTURE.pixels.reshape(4, 3, 3))),
    "no picture": show("a", picture=None),
    "one more picture": show("a")._replace(further=[(PICTURE,)]),
    "the text": show("a "),
    "options": show("a", choices=OPTIONS),
    "the order of options": show("a", choices=OPTIONS[::-1]),
    "the draw": show("a")._replace(draw=1),
}


@pytest.mark.parametrize("changed", CHANGES.values(), ids=CHANGES)
def test_a_changed_input_never_gets_the_answer_to_the_unchanged_one(store: ResponseStore, changed: PromptBatch) -> None:
    parrot = Parrot()
    cached = CachedBackend(parrot, store)
    for shown in (show("a"), show("a", choices=["red"]), changed, changed):
        cached.respond(shown)

    assert len(parrot.asked) == 3


def test_a_batch_with_a_part_missing_is_not_mistaken_for_another(store: ResponseStore) -> None:
    with pytest.raises(ValueError, match="shorter"):
        CachedBackend(Parrot(), store).keys(PromptBatch(["a", "b"], [None], [None, None]))


def test_another_asker_is_asked_itself(store: ResponseStore) -> None:
    one, other = Parrot("t=0"), Parrot("t=1")
    for parrot in (one, other):
        CachedBackend(parrot, store).respond(show("a"))

    assert (one.asked, other.asked) == (["a"], ["a"])


def test_failures_are_not_kept(store: ResponseStore) -> None:
    failing, well = Parrot(failing=True), Parrot()

    assert CachedBackend(failing, store).respond(show("a")) == [Response(None, failed="tired")]
    assert CachedBackend(well, store).respond(show("a")) == [Response("a!")]


class Mute(Parrot):
    """Lose the last reply."""

    def respond(self, batch: PromptBatch) -> list[Response]:
        return super().respond(batch)[:-1]


def test_replies_that_are_too_few_are_never_taken_for_those_of_other_prompts(store: ResponseStore) -> None:
    with pytest.raises(ValueError, match="shorter"):
        CachedBackend(Mute(), store).respond(show("a", "b"))
    assert store.get(CachedBackend(Mute(), store).keys(show("a", "b"))) == {}


@dataclass
class Threaded(Parrot):
    """Hand over each reply from a thread of its own, as soon as it is there."""

    def respond_each(self, batch: PromptBatch, on_response: Callable[[int, Response], None]) -> None:
        for row, text in enumerate(batch.prompts):
            thread = Thread(target=on_response, args=(row, Response(f"{text}!")))
            thread.start()
            thread.join()


def test_replies_are_kept_and_counted_one_by_one_from_any_thread(store: ResponseStore) -> None:
    advanced: list[int] = []

    @contextmanager
    def progress(_label: str, _total: int) -> Iterator[Callable[[int], None]]:
        yield advanced.append

    cached = CachedBackend(Threaded(), store)
    with watched_by(progress):
        replies = cached.respond(show("a", "b"))

    assert [one.raw for one in replies] == ["a!", "b!"]
    assert advanced == [1, 1]
    assert len(store.get(cached.keys(show("a", "b", "c")))) == 2


def test_calls_are_foreseen_without_those_whose_answers_are_known(store: ResponseStore) -> None:
    cached = CachedBackend(Parrot(), store)
    cached.respond(show("a"))
    calls = cached.foresee(show("a", "b", "b"))

    assert calls["known"].to_list() == [True, False, False]
    assert calls["key"].n_unique() == 2
    assert calls["pictures"].to_list() == [1, 1, 1]


@pytest.mark.parametrize(
    ("height", "width", "tiles"),
    [(3, 4, 1), (512, 512, 1), (513, 512, 2), (MAX_SIDE, MAX_SIDE, 9), (99, 3 * MAX_SIDE, 3)],
)
def test_the_size_of_a_prompt_grows_by_characters_and_tiles(height: int, width: int, tiles: int) -> None:
    """A large picture is made smaller before it is sent, a small one never larger."""
    picture = Picture.of(np.zeros((height, width, 3), np.uint8))

    assert estimate_tokens("ten chars!", [picture]) == 3 + 85 + 170 * tiles
    assert estimate_tokens("ten chars!", []) == 3


def test_a_listing_names_the_settings_that_are_set(tmp_path: Path) -> None:
    identity = json.dumps({"kind": "openai", "model": "m", "temperature": 0, "seed": None})
    cache = AnswerCache(tmp_path / "not" / "yet" / "it.sqlite")
    put(cache, identity, {"a": Response("1")})

    assert [each.describe() for each in cache.list()] == [("openai", "m", "temperature=0")]


said = st.builds(
    Response,
    raw=st.text(st.characters(exclude_categories=["Cs", "Cc"])),
    stop=st.none() | st.sampled_from(["stop", "length"]),
    model=st.none() | st.just("m-2026"),
    scores=st.none() | st.lists(st.tuples(st.text(max_size=3), st.floats(-50, 0))),
    failed=st.none(),
    refused=st.booleans(),
)


@settings(deadline=None, max_examples=50)
@given(st.dictionaries(st.text("abc", min_size=1), said))
def test_what_was_said_comes_back_as_it_was(
    tmp_path_factory: pytest.TempPathFactory, said: dict[str, Response]
) -> None:
    cache = AnswerCache(tmp_path_factory.mktemp("cache") / "it.sqlite")
    put(cache, "me", said)

    assert cache.get([*said, "unknown"]) == said


def test_asking_anew_sees_only_what_came_since(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "it.sqlite")
    put(cache, "me", {"old": Response("1")})
    fresh = replace(cache, since=time.time())
    put(fresh, "me", {"new": Response("2")})

    assert fresh.get(["old", "new"]) == {"new": Response("2")}
    assert cache.get(["old", "new"]) == {"old": Response("1"), "new": Response("2")}


def test_listing_and_pruning_go_by_asker_and_age(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path / "it.sqlite")
    put(cache, "openai tiny", {"a": Response("1"), "b": Response("2")})
    middle = time.time()
    put(cache, "hf large", {"c": Response("3")})

    assert [(one.identity, one.answers) for one in cache.list()] == [("hf large", 1), ("openai tiny", 2)]
    assert (cache.prune(containing="nobody"), cache.prune(before=middle, containing="large")) == (0, 0)
    assert cache.prune(before=middle) == 2
    assert cache.get(["a", "b", "c"]) == {"c": Response("3")}
    assert (cache.prune(), cache.list()) == (1, [])


WRITER = """
import sys
from pathlib import Path
from eyechart.models.cache import AnswerCache
from eyechart.models.backend import Response
cache, me = AnswerCache(Path(sys.argv[1])), sys.argv[2]
for n in range(int(sys.argv[3])):
    with cache.writing(me) as put:
        put({f"{me} {n}": Response(str(n)), f"both {n}": Response("same")})
    print(n, flush=True)
"""


def write(path: Path, name: str, n: int) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", WRITER, path, name, str(n)], stdout=subprocess.PIPE, text=True)


def test_two_processes_write_at_once_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "it.sqlite"
    writers = [write(path, name, 150) for name in ("one", "two")]
    for writer in writers:
        writer.communicate()
    keys = [f"{name} {n}" for name in ("one", "two", "both") for n in range(150)]

    assert [writer.returncode for writer in writers] == [0, 0]
    assert len(AnswerCache(path).get(keys)) == 450


def test_a_killed_process_loses_nothing_that_it_put(tmp_path: Path) -> None:
    path = tmp_path / "it.sqlite"
    with write(path, "one", 1_000_000) as writer:
        done = [int(writer.stdout.readline()) for _ in range(20)]
        writer.kill()
        done += map(int, writer.stdout.read().split())
    found = AnswerCache(path).get([f"one {n}" for n in range(len(done) + 1)])

    assert set(found) >= {f"one {n}" for n in done}
    assert all(one.raw == key.split()[1] for key, one in found.items())


def test_a_damaged_file_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "it.sqlite").write_text("not a database " * 100)

    with pytest.raises(FileFormatError, match=r"a cache of responses in .*it\.sqlite; found file is not a database"):
        AnswerCache(tmp_path / "it.sqlite").get(["a"])


def test_answers_paid_for_long_ago_are_found(tmp_path: Path) -> None:
    """A file of version 1, written by hand: whatever the code becomes, it must still be read."""
    with sqlite3.connect(tmp_path / "old.sqlite") as database:
        database.executescript(
            "CREATE TABLE askers (asker INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE);"
            "CREATE TABLE answers (key TEXT PRIMARY KEY, asker INTEGER NOT NULL REFERENCES askers,"
            " said TEXT NOT NULL, at REAL NOT NULL) WITHOUT ROWID;"
            "INSERT INTO askers VALUES (1, 'somebody');"
            """INSERT INTO answers VALUES ('k', 1, '["red", [["red", -0.5]], null, false]', 1700000000.0);"""
            "PRAGMA user_version=1;"
        )
    database.close()
    cache = AnswerCache(tmp_path / "old.sqlite")
    put(cache, "somebody", {"new": Response("blue")})

    assert cache.get(["k", "new"]) == {"k": Response("red", [("red", -0.5)]), "new": Response("blue")}
    with sqlite3.connect(tmp_path / "old.sqlite") as database:  # an older eyechart could not read the new answer
        assert database.execute("PRAGMA user_version").fetchone() == (2,)
    database.close()


def test_a_surrogate_in_an_older_cache_does_not_poison_the_batch(tmp_path: Path) -> None:
    """An older eyechart stored what no table takes; each later run got it back and failed."""
    asked = PromptBatch(["what?", "where?"], [None, None], [None, None])
    backend = CachedBackend(Parrot(), AnswerCache(tmp_path / "it.sqlite"))
    backend.respond(asked)
    with sqlite3.connect(tmp_path / "it.sqlite") as database:
        poisoned = json.dumps(["red \ud83d\x00", None, None, False])
        database.execute("UPDATE answers SET said = ? WHERE key = ?", (poisoned, backend.keys(asked)[0]))
    database.close()
    probes = pl.DataFrame({"id": ["1", "2"], "question": ["what?", "where?"]})
    answers = read_responses(backend.respond(asked), probes, choose_template(None))

    assert answers["raw"].to_list() == ["red \\ud83d\\x00", "where?!"]


def test_a_cache_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "it.sqlite") as database:
        database.execute("PRAGMA user_version=99")
    database.close()

    with pytest.raises(FileFormatError, match="found version 99; upgrade eyechart"):
        put(AnswerCache(tmp_path / "it.sqlite"), "me", {"a": Response("1")})


def test_the_place_is_the_named_one_or_the_usual_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("EYECHART_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    usual = tmp_path / "eyechart" / "answers.sqlite"

    assert default_cache_file() == usual
    assert open_cache(None) == AnswerCache(usual)
    assert open_cache("there.sqlite") == AnswerCache(Path("there.sqlite"))
    assert isinstance(open_cache("off"), MemoryStore)
    monkeypatch.setenv("EYECHART_CACHE", "elsewhere.sqlite")
    assert default_cache_file() == Path("elsewhere.sqlite")
