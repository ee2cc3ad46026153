"""Ask only what was never answered: the same prompt and pictures, to the same asker, are asked once."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

from eyechart.models.cache import AnswerCache, ShortMemory, Store, default_place
from eyechart.models.sending import estimate_tokens
from eyechart.models.shown import Asker, Said, Shown, place_of
from eyechart.progress import tracked
from eyechart.protocols import Where

Heard = Callable[[int, Said], None]


class Call(NamedTuple):
    """A call to come: calls with the same key are made once, known ones not at all."""

    key: str
    known: bool
    pictures: int
    tokens: int


@runtime_checkable
class EachAlone(Protocol):
    """An asker whose answers come one by one, in any order."""

    def answer_each(self, shown: Shown, heard: Heard) -> None:
        """Answer each prompt and hand its place and what was said over as soon as it is there."""
        ...


@dataclass(frozen=True)
class Cached:
    """An asker with a store of answers in front of it."""

    asker: Asker
    store: Store

    @property
    def identity(self) -> str:
        """Pass for the asker itself."""
        return self.asker.identity

    @property
    def place(self) -> Where:
        """Run where the asker wants to."""
        return place_of(self.asker)

    def answer_shown(self, shown: Shown) -> list[Said]:
        """Ask only what is not in the store, the same content once, and keep what is said at once."""
        keys = self.keys(shown)
        known = self.store.get(keys)
        places = {key: at for at, key in enumerate(keys) if key not in known}
        new = self._ask(shown.take(list(places.values())), list(places)) if places else {}
        return [known[key] if key in known else new[key] for key in keys]

    def keys(self, shown: Shown) -> list[str]:
        """Hash all that decides each answer: the asker, the prompt, the pixels as edited, the options and the draw."""
        seen = [[picture.key for picture in pictures] for pictures in shown.all_pictures()]
        parts = zip(shown.prompts, seen, shown.choices, strict=True)
        return [sha256(json.dumps([self.identity, *part, shown.draw]).encode()).hexdigest() for part in parts]

    def foresee(self, shown: Shown) -> list[Call]:
        """List what asking would take, without asking."""
        keys = self.keys(shown)
        known = self.store.get(keys)
        parts = zip(keys, shown.prompts, shown.all_pictures(), strict=True)
        return [
            Call(key, key in known, len(pictures), estimate_tokens(text, pictures)) for key, text, pictures in parts
        ]

    def _ask(self, shown: Shown, keys: Sequence[str]) -> dict[str, Said]:
        found: dict[str, Said] = {}
        with self.store.writing(self.identity) as put, tracked("answers", len(keys)) as advance:

            def heard(at: int, said: Said) -> None:
                found[keys[at]] = said
                put({keys[at]: said})
                advance(1)

            if isinstance(self.asker, EachAlone):
                self.asker.answer_each(shown, heard)
            else:
                found = dict(zip(keys, self.asker.answer_shown(shown), strict=True))
                put(found)
        return found


def open_store(place: str | None, *, fresh: bool = False) -> Store:
    """Open the usual file, the one that is named, or with `off` none; `fresh` leaves what it holds by now unseen."""
    if place == "off":
        return ShortMemory()
    return AnswerCache(Path(place) if place else default_place(), since=time.time() if fresh else 0.0)
