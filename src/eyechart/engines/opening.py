"""Engines by name: `local`, `ray`, `ray:auto`, `ray:ADDRESS`, or one of an installed package."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, runtime_checkable

from eyechart.protocols import Engine
from eyechart.registry import Registry, unknown_name

ENGINES: Registry[Callable[[str], Engine]] = Registry(
    "engine", {"local": "eyechart.engines.local:open_local", "ray": "eyechart.engines.ray:open_ray"}
)


@runtime_checkable
class Closing(Protocol):
    """An engine that holds processes until it is closed."""

    def close(self) -> None:
        """Give them back."""
        ...


def open_engine(spec: str) -> Engine:
    """Open the engine a string names; what follows the first colon is for the engine."""
    name, _, rest = spec.partition(":")
    if name not in ENGINES.names():
        raise unknown_name("engine", name, ENGINES.names())
    return ENGINES.get(name)(rest)


@contextmanager
def using(engine: str | Engine) -> Iterator[Engine]:
    """Open an engine that is only named, and close it at the end; one that is handed over stays open."""
    if not isinstance(engine, str):
        yield engine
        return
    opened = open_engine(engine)
    try:
        yield opened
    finally:
        if isinstance(opened, Closing):
            opened.close()
