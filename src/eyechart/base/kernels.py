"""Compile the kernels with Numba at their first call, never at import, and once for each version of the sources.

Numba's own cache does not notice changes in functions that other files call, and fails at import where neither
the package nor the home folder is writable; so the compiled kernels are kept in separate folders, each named after a
hash of all sources of the package they belong to. A kernel may call kernels of its own package only.
"""

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numba.core import event, types
from numba.extending import intrinsic

Kernel = TypeVar("Kernel", bound=Callable[..., Any])
Announce = Callable[[str], None]
Integer = int | np.integer[Any]

config: Any = numba.config  # its attributes are created at run time

COMPILING = "compiling kernels, once per installation: about half a minute"

_HERE = Path(__file__)


def _stamp(room: Path) -> str:
    sources = b"".join(path.read_bytes() for path in (_HERE, *sorted(room.glob("*.py"))))
    return hashlib.sha256(sources).hexdigest()[:12]


def _can_write(folder: Path) -> bool:
    """Try to write, because permissions alone do not reveal a read-only disk."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@cache
def cache_folder(room: Path) -> Path:
    """Choose where a package's kernels are kept: Numba's own setting, next to the sources, or the user's cache."""
    configured = os.environ.get("NUMBA_CACHE_DIR")
    user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    parents = [Path(configured)] if configured else [room / "__pycache__", user]
    folders = [parent / f"eyechart-kernels-{_stamp(room)}" for parent in parents]
    # A guessable name under /tmp could belong to another user: the last resort is a new folder each time.
    return next(filter(_can_write, folders), None) or Path(tempfile.mkdtemp(prefix="eyechart-kernels-"))


def kernel(function: Kernel) -> Kernel:
    """Compile a function at its first call, without the interpreter lock, and cache the result on disk."""
    return _compiled(function, inline=False)


def inner_kernel(function: Kernel) -> Kernel:
    """Compile a function into its callers: in a hot loop, passing arrays costs more than the work."""
    return _compiled(function, inline=True)


def _compiled(function: Kernel, *, inline: bool) -> Kernel:
    room = Path(function.__code__.co_filename).parent
    before, config.CACHE_DIR = config.CACHE_DIR, str(cache_folder(room))
    try:
        return cast("Kernel", numba.njit(nogil=True, cache=True, error_model="numpy", forceinline=inline)(function))
    finally:
        config.CACHE_DIR = before


@contextmanager
def announced(announce: Announce | None) -> Iterator[None]:
    """Call `announce` once if anything is compiled inside this block."""
    if announce is None:
        yield
        return
    with event.install_listener("numba:compile", _Once(announce)):
        yield


class _Once(event.Listener):
    """Announce the first start of a compilation."""

    def __init__(self, announce: Announce) -> None:
        self._announce = announce
        self._announced = False

    def on_start(self, event: object) -> None:  # noqa: ARG002 - Numba's signature
        if not self._announced:
            self._announced = True
            self._announce(COMPILING)

    def on_end(self, event: object) -> None:
        """Announce nothing at the end."""


if config.DISABLE_JIT:

    def popcount(word: Integer) -> int:
        """Count the bits that are set."""
        return int(word).bit_count()

else:

    @intrinsic
    def popcount(_typing: Any, word: Any) -> Any:  # noqa: ANN401, ARG001 - Numba's signature
        """Count the bits that are set, with the processor's own instruction."""

        def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:  # noqa: ANN401 - as above
            return builder.ctpop(arguments[0])

        return types.int64(types.uint64), generate
