"""Colours with a meaning: one for each family of conditions, in every chart, table and gallery, by day and night.

The colours stand once, as variables of style.css; whatever is not CSS takes them from there. A condition belongs to the
family of what is taken away under it, and where nothing is, of what is changed.
"""

import re
from collections.abc import Iterable
from functools import cache
from importlib.resources import files

OTHER = "other"
HIDDEN = {("image",): "image", ("question",): "question", ("image", "question"): "both"}
FAMILIES = {  # of conditions that hide no modality, by what stands before a number
    "plain": "plain",
    "evidence": "evidence",
    "keep": "evidence",
    "rest": "rest",
    "drop": "rest",
    "without": "rest",
} | dict.fromkeys(("orig", "iou", "qou", "iou+qou", "all", "random", "rotate"), "options")
LETTERS = {"I+Q+A": "plain", "Q+A": "image", "I+A": "question", "A": "both", "Random": OTHER}  # what is left visible


def family(condition: str) -> str:
    """Name the family of a condition; `other` is the family of those that are not known."""
    return _known(condition) or OTHER


def are_conditions(names: Iterable[str]) -> bool:
    """Tell whether names are those of conditions, every one."""
    found = [_known(name) for name in names]
    return bool(found) and None not in found


def paint(name: str) -> str:
    """Name a colour as a variable of the page, with its value by day for files that leave the page."""
    return f"var(--{name}, {variables()[name]})"


def paint_condition(condition: str) -> str:
    """Find the colour of a condition."""
    return paint(f"condition-{family(condition)}")


@cache
def variables(scheme: str = "light") -> dict[str, str]:
    """Read the colours of style.css as a reader has them in a scheme, `light` or `dark`."""
    text = files("eyechart.reporting").joinpath("style.css").read_text(encoding="utf-8")
    roots = re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    day, night = (dict(re.findall(r"--([\w-]+): (#\w+);", root)) for root in roots[:2])
    return day if scheme == "light" else day | night


def _known(condition: str) -> str | None:
    if condition in LETTERS:
        return LETTERS[condition]
    base = re.split("[#=@]", condition, maxsplit=1)[0]
    options, dash, hidden = base.partition("-")
    if dash and options in FAMILIES:
        return HIDDEN.get(tuple(sorted(hidden.split("-"))))
    return HIDDEN.get(tuple(sorted(base.split("+")))) or FAMILIES.get(base)
