"""Names that fit beside a chart: long ones are cut in the middle, for models of a family differ at the end."""

import json
from collections.abc import Iterable
from typing import Any

LETTERS = 32  # of a name, where two names do not need more to differ


def shorten(names: Iterable[str]) -> dict[str, str]:
    """Cut long names in the middle, where that leaves no two alike; else let them be as long as it takes."""
    whole = list(dict.fromkeys(names))
    longest = max(map(len, whole), default=0)
    for letters in range(min(LETTERS, longest), longest):
        for kept in sorted(range(letters), key=lambda kept: abs(2 * kept + 1 - letters)):
            short = [_cut(name, letters, kept) for name in whole]
            if len(set(short)) == len(whole):
                return dict(zip(whole, short, strict=True))
    return dict(zip(whole, whole, strict=True))


def relabel(names: Iterable[str]) -> dict[str, Any]:
    """Tell a legend or an axis to write the short names, if any is cut."""
    cut = {whole: short for whole, short in shorten(names).items() if whole != short}
    if not cut:
        return {}
    return {"labelExpr": f"({json.dumps(cut)})[datum.label] || datum.label", "labelLimit": 0}


def _cut(name: str, letters: int, kept: int) -> str:
    """Keep so many letters of the beginning, and of the end what there is room for."""
    if len(name) <= letters:
        return name
    end = letters - kept - 1
    return f"{name[:kept]}…{name[len(name) - end :]}"
