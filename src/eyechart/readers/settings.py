"""Check the settings of a reader against its signature, so that a misspelt one is never swallowed."""

import inspect
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any, get_args

from eyechart.errors import SettingError
from eyechart.settings import fit_settings


def settings_of(reader: Callable[..., object]) -> dict[str, inspect.Parameter]:
    """List the keyword settings of a reader, with their types and defaults."""
    parameters = inspect.signature(reader, eval_str=True).parameters
    return {name: setting for name, setting in parameters.items() if setting.kind is setting.KEYWORD_ONLY}


def takes_path(reader: object) -> bool:
    """Say whether something can be a reader: it is called with a path, and with settings by name."""
    try:
        parameters = inspect.signature(reader, eval_str=True).parameters.values()  # type: ignore[arg-type]  # or TypeError
    except (TypeError, ValueError):
        return False
    return any(one.kind is not one.KEYWORD_ONLY for one in parameters)


def needs_path(reader: Callable[..., object]) -> bool:
    """Say whether a reader reads files: its first parameter has no default and does not take None."""
    parameters = inspect.signature(reader, eval_str=True).parameters.values()
    first = next((one for one in parameters if one.kind is not one.KEYWORD_ONLY), None)
    return first is not None and first.default is first.empty and NoneType not in get_args(first.annotation)


def check_settings(reader: Callable[..., object], name: str, given: Mapping[str, object]) -> dict[str, object]:
    """Turn settings, which may be text from a command line, into the types the reader asks for."""
    known = settings_of(reader)
    declared = {setting: _annotation(parameter) for setting, parameter in known.items()}
    fitted = fit_settings(f"format {name!r}", declared, given)
    for setting, parameter in known.items():
        if parameter.default is parameter.empty and setting not in given:
            raise SettingError(f"the setting {setting!r} of format {name!r}", "none", f"give {setting}=...")
    return fitted


def _annotation(parameter: inspect.Parameter) -> Any:  # noqa: ANN401 - an annotation has no type of its own
    return object if parameter.annotation is parameter.empty else parameter.annotation
