"""Engines by name: `local`, `ray`, `ray:auto`, `ray:ADDRESS`, or one of an installed package."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

from eyechart.base.registry import Registry, unknown_name
from eyechart.data.protocols import Engine

ENGINES: Registry[Callable[[str], Engine]] = Registry(
    "engine", {"local": "eyechart.engines.local:open_local", "ray": "eyechart.engines.ray:open_ray"}
)


@runtime_checkable
class Closing(Protocol):
    """An engine that holds processes until it is closed."""

    def close(self) -> None:
        """End them."""
        ...


def open_engine(spec: str) -> Engine:
    """Open the engine that a string names; the engine reads what follows the first colon."""
    name, _, rest = spec.partition(":")
    if name not in ENGINES.names():
        raise unknown_name("engine", name, ENGINES.names())
    return ENGINES.get(name)(rest)


@contextmanager
def using(engine: str | Engine) -> Iterator[Engine]:
    """Open an engine that is only named, and close it at the end; an engine that is passed stays open."""
    if not isinstance(engine, str):
        yield engine
        return
    opened = open_engine(engine)
    try:
        yield opened
    finally:
        if isinstance(opened, Closing):
            opened.close()
