"""Bring settings, which may be text from a command line or a file, into the types they are declared with."""

import inspect
from collections.abc import Mapping
from typing import Any, get_args, get_origin

from eyechart.errors import SettingError
from eyechart.registry import unknown_name


def fit_settings(owner: str, declared: Mapping[str, Any], given: Mapping[str, object]) -> dict[str, object]:
    """Convert each given setting to its declared type; a misspelt one is never swallowed."""
    for name in given:
        if name not in declared:
            raise unknown_name(f"setting of {owner}", name, tuple(declared))
    return {name: _convert(name, declared[name], value) for name, value in given.items()}


def _convert(name: str, wanted: Any, value: object) -> object:  # noqa: ANN401 - an annotation has no type of its own
    from pydantic import TypeAdapter, ValidationError

    prepared = _divide(value, wanted) if isinstance(value, str) else value
    try:
        return TypeAdapter(wanted).validate_python(prepared)
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        expected = f"{name} to be {inspect.formatannotation(wanted)}"
        raise SettingError(expected, f"{value!r} ({reason})", "change the setting") from None


def _divide(text: str, wanted: Any) -> object:  # noqa: ANN401
    """Take `a=b,c=d` for a mapping and `a,b` for a list, where the setting wants one and not a text."""
    kinds = {get_origin(kind) or kind for kind in (wanted, *_members(wanted))}
    items = text.replace(",", " ").split()
    if dict in kinds and all("=" in item for item in items):
        return dict(item.split("=", 1) for item in items)
    return items if kinds & {list, tuple, set, frozenset} and str not in kinds else text


def _members(wanted: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """List the members of a union; a list of texts is not one of texts."""
    return () if get_origin(wanted) in {list, tuple, set, frozenset, dict} else get_args(wanted)
