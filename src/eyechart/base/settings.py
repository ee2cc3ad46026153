"""Convert settings, which may be text from a command line or a file, to their declared types."""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from types import NoneType
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from eyechart.base.errors import SettingError
from eyechart.base.registry import unknown_choice, unknown_name

LISTS: Final = (list, tuple, set, frozenset)
WORDS: Final = {str: "text", bool: "yes or no", int: "a whole number", float: "a number", Path: "a path"}
PLURALS: Final = {str: "texts", int: "whole numbers", float: "numbers", Path: "paths"}


def fit_settings(owner: str, declared: Mapping[str, Any], given: Mapping[str, object]) -> dict[str, object]:
    """Convert each given setting to its declared type; raise an error for an unknown one."""
    for name in given:
        if name not in declared:
            raise unknown_name(f"setting of {owner}", name, tuple(declared))
    return {name: _convert(name, declared[name], value) for name, value in given.items()}


def check_choices(settings: Any) -> None:  # noqa: ANN401 - any dataclass
    """Raise an error for a value that is not among the choices of its field, a `Literal` or a tuple of one."""
    hints = get_type_hints(type(settings))
    for field in fields(settings):
        hint, value = hints[field.name], getattr(settings, field.name)
        choices = _choices(hint)
        _check_choice(field.name, value if get_origin(hint) is tuple else (value,), choices)


def _check_choice(name: str, values: Iterable[object], choices: tuple[str, ...]) -> None:
    for chosen in values:
        if choices and chosen not in choices:
            raise unknown_choice(name, chosen, choices)


def replace_setting(
    settings: Mapping[str, Any], former: str, current: str, values: Mapping[object, object]
) -> dict[str, Any]:
    """Rename a setting that an older version recorded, and translate its value."""
    if former not in settings:
        return dict(settings)
    kept = {name: value for name, value in settings.items() if name != former}
    return kept | {current: values.get(settings[former], settings[former])}


def _choices(hint: Any) -> tuple[str, ...]:  # noqa: ANN401 - an annotation has no type of its own
    """List the choices of a `Literal`, or of a tuple of one; return none for any other type."""
    inner = get_args(hint)[0] if get_origin(hint) is tuple else hint
    return get_args(inner) if get_origin(inner) is Literal else ()


def _convert(name: str, wanted: Any, value: object) -> object:  # noqa: ANN401 - an annotation has no type of its own
    from pydantic import TypeAdapter, ValidationError

    prepared = _split(value, wanted) if isinstance(value, str) else value
    try:
        return TypeAdapter(wanted).validate_python(prepared)
    except ValidationError:
        _check_choice(name, prepared if isinstance(prepared, LISTS) else (prepared,), _choices(wanted))
        raise SettingError(f"{name} as {_describe(wanted)}", repr(value), "correct this setting") from None


def _describe(wanted: Any) -> str:  # noqa: ANN401
    """Describe a type in plain words."""
    members = [member for member in get_args(wanted) if member is not NoneType]
    origin = get_origin(wanted) or wanted
    if origin is Literal:
        return f"one of {', '.join(members)}"
    if origin is dict:
        return "pairs of NAME=VALUE"
    if origin in LISTS:
        number = "a list of" if origin is not tuple or Ellipsis in members else str(len(members))
        return f"{number} {PLURALS.get(members[0], 'values') if members else 'values'}"
    if members:
        return " or ".join(map(_describe, members))
    return WORDS.get(wanted, inspect.formatannotation(wanted))


def _split(text: str, wanted: Any) -> object:  # noqa: ANN401
    """Parse `a=b,c=d` as a mapping and `a,b` as a list, if the setting takes one rather than a text."""
    kinds = {get_origin(kind) or kind for kind in (wanted, *_members(wanted))}
    items = text.replace(",", " ").split()
    if dict in kinds and all("=" in item for item in items):
        return dict(item.split("=", 1) for item in items)
    return items if kinds & {*LISTS} and str not in kinds else text


def _members(wanted: Any) -> tuple[Any, ...]:  # noqa: ANN401
    """List the members of a union."""
    return () if get_origin(wanted) in {*LISTS, dict} else get_args(wanted)
