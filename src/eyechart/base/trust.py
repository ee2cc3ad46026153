"""Decide whose code may be imported: that of the user, and with permission what files from elsewhere name.

In Python, what a caller names is the caller's own. On the command line only its own words are: a settings file, a run
folder or the folder of a trained model may come from anybody. Names of ours and of installed packages are always known.
"""

import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from eyechart.base.errors import SettingError

FILE_MODULE = "eyechart file "  # no importable module has a space in its name
ADVICE = "look at that code, and add --trust if you trust it"


@dataclass
class _Permissions:
    everything: bool = False
    named: frozenset[str] | None = None  # the words of the command line; None where names come from a caller


_permissions = _Permissions()


@contextmanager
def words_of(command: Sequence[str]) -> Iterator[None]:
    """Allow only code that the words of a command name, until the block ends."""
    before = _permissions.everything, _permissions.named
    _permissions.everything, _permissions.named = False, frozenset(_references(command))
    try:
        yield
    finally:
        _permissions.everything, _permissions.named = before


@contextmanager
def trusting() -> Iterator[None]:
    """Allow all code until the block ends."""
    before, _permissions.everything = _permissions.everything, True
    try:
        yield
    finally:
        _permissions.everything = before


def trust_everything() -> None:
    """Allow all code until the command ends."""
    _permissions.everything = True


def is_everything_trusted() -> bool:
    """Return whether all code is allowed."""
    return _permissions.everything


def check_named(reference: str) -> None:
    """Raise an error for a reference that is not the user's own."""
    named = _permissions.named
    if not (_permissions.everything or named is None or _whole(reference) in named):
        raise SettingError("code named on the command line", f"{reference!r}, which a file names", ADVICE)


def check_found(reference: str, *, trust: bool) -> None:
    """Raise an error for a reference found in a run, unless it is trusted or its code has been imported already."""
    if not (trust or _permissions.everything or _is_imported(reference)):
        found = f"a run that names {reference!r}"
        raise SettingError("a run that needs no code of its own", found, f"{ADVICE} (in Python `Asking(trust=True)`)")


def module_name(path: Path) -> str:
    """Return the name under which a file is imported as a module."""
    return f"{FILE_MODULE}{path.resolve()}"


def _is_imported(reference: str) -> bool:
    source = reference.rpartition(":")[0]
    if not source.endswith(".py"):
        return source in sys.modules
    script = getattr(sys.modules["__main__"], "__file__", None)
    return module_name(Path(source)) in sys.modules or (
        script is not None and Path(script).resolve() == Path(source).resolve()
    )


def _references(words: Sequence[str]) -> Iterator[str]:
    """List what the words of a command may refer to: `-m python:it.py:answer`, `--set scorer=it.py:best`."""
    for word in words:
        whole = {word, word.partition("=")[2], re.sub(r"^-\w", "", word)}
        parts = {part for each in whole for part in re.split(r"[+,=]|@\d+", each)}
        for part in whole | parts:
            if ":" in (bare := part.removeprefix("python:")):
                yield _whole(bare)


def _whole(reference: str) -> str:
    """Make the path of a file absolute."""
    source, _, name = reference.rpartition(":")
    return f"{Path(source).resolve()}:{name}" if source.endswith(".py") else reference
