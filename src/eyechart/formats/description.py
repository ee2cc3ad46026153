"""Describe the reader of a format: the files it needs, a sample, its settings, and words that identify its files."""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple, TypeVar, get_args

from eyechart.base.errors import EyechartError, SettingError
from eyechart.base.settings import fit_settings
from eyechart.formats.sources import find_sources

READABLE = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt")
HEAD = 65_536  # bytes of a file to search
FILES = 4  # of a folder or archive, at most
ENOUGH = 0.75  # share of a format's signs that must occur

ReaderFunction = TypeVar("ReaderFunction", bound=Callable[..., object])


class Description(NamedTuple):
    """Everything a user must know about a format."""

    needs: str  # the files it takes, in a phrase
    sample: str  # two lines that show their content
    signs: tuple[str, ...] = ()  # words near the beginning of nearly every such file, and of few others


def described(needs: str, sample: str, signs: tuple[str, ...] = ()) -> Callable[[ReaderFunction], ReaderFunction]:
    """Attach a description to a reader."""

    def attach(reader: ReaderFunction) -> ReaderFunction:
        reader.description = Description(needs, sample, signs)  # type: ignore[attr-defined]  # functions take attributes
        return reader

    return attach


def describe(reader: Callable[..., object]) -> Description:
    """Return the description attached to a reader, else the first line of its docstring."""
    attached = getattr(reader, "description", None)
    if isinstance(attached, Description):
        return attached
    return Description(str(reader.__doc__ or "").partition("\n")[0], "")


def settings_of(reader: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """List the keyword settings of a reader, with their types and defaults."""
    parameters = inspect.signature(reader, eval_str=True).parameters
    return {name: setting for name, setting in parameters.items() if setting.kind is setting.KEYWORD_ONLY}


def takes_path(reader: object) -> bool:
    """Return whether an object can be a reader: a function of a path, with settings passed by name."""
    try:
        parameters = inspect.signature(reader, eval_str=True).parameters.values()  # type: ignore[arg-type]  # or TypeError
    except (TypeError, ValueError):
        return False
    return any(one.kind is not one.KEYWORD_ONLY for one in parameters)


def needs_path(reader: Callable[..., object]) -> bool:
    """Return whether a reader needs a path: its first parameter has no default and does not take None."""
    parameters = inspect.signature(reader, eval_str=True).parameters.values()
    first = next((one for one in parameters if one.kind is not one.KEYWORD_ONLY), None)
    return first is not None and first.default is first.empty and NoneType not in get_args(first.annotation)


def check_settings(reader: Callable[..., object], name: str, given: Mapping[str, object]) -> dict[str, object]:
    """Convert settings, perhaps text from a command line, to the types a reader declares; refuse unknown ones."""
    known = settings_of(reader)
    declared = {setting: _annotation(parameter) for setting, parameter in known.items()}
    fitted = fit_settings(f"format {name!r}", declared, given)
    for setting, parameter in known.items():
        if parameter.default is parameter.empty and setting not in given:
            raise SettingError(f"the setting {setting!r} of format {name!r}", "none", f"give {setting}=...")
    return fitted


def _annotation(parameter: inspect.Parameter) -> Any:  # noqa: ANN401 - an annotation has no type of its own
    return object if parameter.annotation is parameter.empty else parameter.annotation


def guess_format(path: Path, formats: Mapping[str, Description], enough: float = ENOUGH) -> str | None:
    """Guess the format with most of its signs near the beginning of a file; return None if too few match."""
    try:
        sources = find_sources(path, READABLE)[:FILES]
        heads = b"\n".join(source.head()[:HEAD] or source.read()[:HEAD] for source in sources)
    except EyechartError:  # the error of the requested reader is more helpful
        return None
    text = heads.decode(errors="replace")
    shares = {
        name: sum(sign in text for sign in format_.signs) / len(format_.signs)
        for name, format_ in formats.items()
        if format_.signs
    }
    best = max(shares, key=lambda name: (shares[name], len(formats[name].signs)), default=None)
    return best if best is not None and shares[best] >= enough else None
