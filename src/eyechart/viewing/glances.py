"""The first screen of a run: verdicts at once, and the example to play with as soon as all answers to it are read.

What depends on answers is read in the background and kept while their files are unchanged, so that a page never waits
long for it.
"""

from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, Thread
from typing import Any, NamedTuple

from polars.exceptions import PolarsError

from eyechart.base.errors import EyechartError
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.store import Store
from eyechart.data.stored import TableFile, stat_table
from eyechart.reporting.dots import axes_of
from eyechart.reporting.glance import sum_up
from eyechart.reporting.showcase import Change, Showcase, find_contrasts, find_showcase, measure_changes
from eyechart.viewing import inventory
from eyechart.viewing.pictures import measure
from eyechart.viewing.rendering import address

PATIENCE = 0.8  # seconds that a page waits for what is read in the background
KEPT = 4

Key = tuple[Store, tuple[TableFile, ...]]


class ScenePicture(NamedTuple):
    """The address of a picture of the example, and its size."""

    url: str
    width: int
    height: int


@dataclass(frozen=True)
class Playground:
    """What the first screen takes from answers: shares of changed ones, and one example with its pictures."""

    changes: tuple[Change, ...] = ()
    showcase: Showcase | None = None
    pictures: dict[str, ScenePicture] | None = None


NOTHING = Playground()


def first_screen(store: Store, patience: float | None = PATIENCE) -> dict[str, Any]:
    """Collect the first screen; `waiting` says that the example is still being chosen. None waits for it."""
    found = _playgrounds.get(store, patience)
    known = found or NOTHING
    glance = sum_up(inventory.sections(store), inventory.overall(store), store, known.changes, known.showcase)
    return {
        "glance": glance,
        "axes": axes_of(glance),
        "scenes": known.pictures or {},
        "waiting": found is None and bool(store.models()),
    }


def begin_reading(store: Store) -> None:
    """Begin to read what the first screen takes from answers, before anybody asks for it."""
    _playgrounds.get(store, 0)


class Playgrounds:
    """Read playgrounds in the background, each once while the files of its run are unchanged."""

    def __init__(self, read: Callable[[Store], Playground]) -> None:
        self._read = read
        self._lock = Lock()
        self._reading: OrderedDict[Key, Future[Playground]] = OrderedDict()

    def get(self, store: Store, patience: float | None) -> Playground | None:
        """Return the playground of a run, or None if it takes longer to read."""
        try:
            return self._begin(store).result(patience)
        except NotYet:
            return None
        except (EyechartError, PolarsError):  # the pages of examples say what is wrong
            return NOTHING

    def _begin(self, store: Store) -> Future[Playground]:
        key = store, tuple(map(stat_table, _files(store)))
        with self._lock:
            if key in self._reading:
                self._reading.move_to_end(key)
                return self._reading[key]
            reading: Future[Playground] = Future()
            self._reading[key] = reading
            while len(self._reading) > KEPT:
                self._reading.popitem(last=False)
        Thread(target=self._fulfil, args=(store, reading), daemon=True).start()
        return reading

    def _fulfil(self, store: Store, reading: Future[Playground]) -> None:
        try:
            reading.set_result(self._read(store))
        except BaseException as error:  # noqa: BLE001 - whoever waits for it gets it
            reading.set_exception(error)


def read_playground(store: Store) -> Playground:
    """Measure how many answers change, choose the example, and find its pictures."""
    showcase = find_showcase(store)
    return Playground(measure_changes(store), showcase, _find_pictures(store, showcase) if showcase else None)


_playgrounds = Playgrounds(read_playground)


def _files(store: Store) -> list[Path]:
    """List the files that a playground is read from."""
    asked = [PLAIN_CONDITION, *(condition for _, condition, _ in find_contrasts(store))]
    files = [store.data_folder / "examples.parquet", *map(store.probe_file, asked), *store.verdict_files()]
    files += [store.answer_file(model, condition) for model in store.models() for condition in asked]
    return [file for file in files if file.is_file()]


def _find_pictures(store: Store, showcase: Showcase) -> dict[str, ScenePicture]:
    """Find the pictures that can be shown, with their sizes, so that the page does not jump when they arrive."""
    if not inventory.has_pictures(store):
        return {}
    found = {}
    for scene in showcase.scenes:
        traits = measure(store, scene.picture["image"]) if scene.picture else None
        if traits:
            condition = None if scene.condition == PLAIN_CONDITION else scene.condition
            url = address("/picture", {"id": showcase.id, "condition": condition, "size": "medium"})
            found[scene.condition] = ScenePicture(url, *traits.upright)
    return found
