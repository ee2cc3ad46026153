"""Colours of conditions: each has one in every chart, table and gallery, light and dark.

Audits declare, as looks, which conditions there are, how they are described and which family each belongs to; only the
unchanged condition is known here. The colours of the families are defined once, as variables of style.css, and read
from there for everything that is not CSS.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from eyechart.data.furniture import Look
from eyechart.data.probes import PLAIN_CONDITION

OTHER = "other"  # the family of conditions that no audit describes
PLAIN = Look(PLAIN_CONDITION, "as it is", "plain")


@dataclass(frozen=True)
class Palette:
    """The looks of conditions: each has the first look that matches its name."""

    looks: tuple[Look, ...] = ()

    def family(self, condition: str) -> str:
        """Return the family of a condition, or its individual colour without the `#`."""
        look = self._find(condition)
        return _family(look.color) if look else OTHER

    def describe(self, condition: str) -> str:
        """Describe what is done under a condition; empty if no audit describes it."""
        look = self._find(condition)
        return look.label if look else ""

    def are_conditions(self, names: Iterable[str]) -> bool:
        """Return whether all names are names of known conditions."""
        looks = [self._find(name) for name in names]
        return bool(looks) and None not in looks

    def paint_condition(self, condition: str) -> str:
        """Return the colour of a condition."""
        name = self.family(condition)
        return paint(f"condition-{name}") if name in families() else f"#{name}"

    def rules(self) -> str:
        """Write the style rules for colours outside the families, which style.css does not have."""
        own = sorted({_family(look.color) for look in self.looks} - {*families()})
        return "".join(f".dot.of-{name}, .under.of-{name} {{ --dot: #{name}; }}\n" for name in own)

    def _find(self, condition: str) -> Look | None:
        return next((look for look in (PLAIN, *self.looks) if look.fits(condition)), None)


NO_LOOKS = Palette()


def paint(name: str) -> str:
    """Write a colour as a CSS variable, with its light value as fallback for files outside the page."""
    return f"var(--{name}, {variables()[name]})"


@cache
def variables(scheme: str = "light") -> dict[str, str]:
    """Read the colours of style.css in a scheme, `light` or `dark`."""
    text = files("eyechart.reporting").joinpath("style.css").read_text(encoding="utf-8")
    roots = re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    day, night = (dict(re.findall(r"--([\w-]+): (#\w+);", root)) for root in roots[:2])
    return day if scheme == "light" else day | night


@cache
def families() -> tuple[str, ...]:
    """List the families that style.css has a colour for."""
    return tuple(name.removeprefix("condition-") for name in variables() if name.startswith("condition-"))


def _family(color: str) -> str:
    """Accept only a family or six hexadecimal digits, because the colour is written into the page."""
    if color in families():
        return color
    return color[1:] if re.fullmatch(r"#[0-9a-fA-F]{6}", color) else OTHER
