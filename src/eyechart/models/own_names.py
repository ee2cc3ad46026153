"""Compare the name that a service gives its model with the one that was asked for."""

import re
from collections.abc import Mapping

_DATE = r"[-@_:.](?:20\d\d[-_.]?\d\d(?:[-_.]?\d\d)?|\d\d[-_.]?\d\d(?:[-_.]?\d\d)?)"


def is_dated_form(name: str, asked: str) -> bool:
    """Return whether a name is the one asked for, alone or with a date: `gpt-x-2026-08-06` for `gpt-x`.

    >>> is_dated_form("gpt-x-0806", "gpt-x"), is_dated_form("gpt-x-mini", "gpt-x")
    (True, False)
    """
    base = re.escape(asked.removesuffix("-latest"))
    return name.casefold() == asked.casefold() or re.fullmatch(f"{base}(?:{_DATE})?", name, re.IGNORECASE) is not None


def doubt_names(names: Mapping[str, int], asked: str | None) -> str | None:
    """Return what is doubtful about the models that answered, by their own names; None if nothing is.

    `names` counts the answers of each, `asked` is the name that was asked for.
    """
    counted = ", ".join(f"{name!r} ({n:,} answers)" for name, n in sorted(names.items()))
    if len(names) > 1:
        return f"its name changed within the run: {counted}"
    if asked is not None and not all(is_dated_form(name, asked) for name in names):
        return f"{asked!r} was asked, and {counted} answered"
    return None
