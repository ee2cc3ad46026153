"""Where batches run."""

from collections.abc import Callable

from eyechart.protocols import Engine
from eyechart.registry import Registry

ENGINES: Registry[Callable[[], Engine]] = Registry("engine", {"local": "eyechart.engines.local:Local"})
