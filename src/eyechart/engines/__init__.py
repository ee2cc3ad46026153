"""Where batches run: engines by name (`local`, `ray`, `ray:auto`, `ray:ADDRESS`), or one from an installed package."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import polars as pl

from eyechart.base.errors import SettingError
from eyechart.base.registry import Registry, unknown_name
from eyechart.data.protocols import Engine, Step

ENGINES: Registry[Callable[[str], Engine]] = Registry(
    "engine", {"local": "eyechart.engines:open_local", "ray": "eyechart.engines.ray:open_ray"}
)


@dataclass(frozen=True)
class Local:
    """Run batches in this process, one at a time and on demand; Polars and NumPy use the cores inside a batch."""

    def map(self, step: Step, batches: Iterable[pl.DataFrame]) -> Iterator[pl.DataFrame]:
        """Apply the step to each batch, lazily."""
        return map(step, batches)


def open_local(rest: str) -> Local:
    """Open `local`, which has no settings."""
    if rest:
        raise SettingError("nothing after 'local:'", repr(rest), "write --engine local")
    return Local()


@runtime_checkable
class Closing(Protocol):
    """An engine that keeps processes until it is closed."""

    def close(self) -> None:
        """End the processes."""
        ...


def open_engine(spec: str) -> Engine:
    """Open the engine that a string names; the engine parses the part after the first colon."""
    name, _, rest = spec.partition(":")
    if name not in ENGINES.names():
        raise unknown_name("engine", name, ENGINES.names())
    return ENGINES.get(name)(rest)


@contextmanager
def using(engine: str | Engine) -> Iterator[Engine]:
    """Open an engine given by name, and close it at the end; an engine given as an object stays open."""
    if not isinstance(engine, str):
        yield engine
        return
    opened = open_engine(engine)
    try:
        yield opened
    finally:
        if isinstance(opened, Closing):
            opened.close()
