"""Colours with a meaning: a condition has one in every chart, table and gallery, by day and night.

Which conditions there are, what they are called and which family each belongs to comes from the audits, as looks; known
here is only the one under which nothing is changed. The colours of the families stand once, as variables of style.css;
whatever is not CSS takes them from there.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from eyechart.furniture import Look
from eyechart.probes import OWN

OTHER = "other"  # the family of conditions that nobody has told of
PLAIN = Look(OWN, "as it is", "plain")


@dataclass(frozen=True)
class Palette:
    """How conditions look: each as the first look says that fits its name."""

    looks: tuple[Look, ...] = ()

    def family(self, condition: str) -> str:
        """Name the family of a condition, or its own colour without the `#`."""
        found = self._find(condition)
        return _family(found.color) if found else OTHER

    def said(self, condition: str) -> str:
        """Say what is done under a condition; nothing where nobody has told."""
        found = self._find(condition)
        return found.said if found else ""

    def are_conditions(self, names: Iterable[str]) -> bool:
        """Tell whether names are those of conditions, every one."""
        found = [self._find(name) for name in names]
        return bool(found) and None not in found

    def paint_condition(self, condition: str) -> str:
        """Find the colour of a condition."""
        name = self.family(condition)
        return paint(f"condition-{name}") if name in families() else f"#{name}"

    def rules(self) -> str:
        """Write the rules of style for colours that are of no family, beside those of style.css."""
        own = sorted({_family(look.color) for look in self.looks} - {*families()})
        return "".join(f".dot.of-{name}, .under.of-{name} {{ --dot: #{name}; }}\n" for name in own)

    def _find(self, condition: str) -> Look | None:
        return next((look for look in (PLAIN, *self.looks) if look.fits(condition)), None)


NO_LOOKS = Palette()


def paint(name: str) -> str:
    """Name a colour as a variable of the page, with its value by day for files that leave the page."""
    return f"var(--{name}, {variables()[name]})"


@cache
def variables(scheme: str = "light") -> dict[str, str]:
    """Read the colours of style.css as a reader has them in a scheme, `light` or `dark`."""
    text = files("eyechart.reporting").joinpath("style.css").read_text(encoding="utf-8")
    roots = re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    day, night = (dict(re.findall(r"--([\w-]+): (#\w+);", root)) for root in roots[:2])
    return day if scheme == "light" else day | night


@cache
def families() -> tuple[str, ...]:
    """Name the families that style.css has a colour for."""
    return tuple(name.removeprefix("condition-") for name in variables() if name.startswith("condition-"))


def _family(color: str) -> str:
    """Take a colour at its word where it is a family or six hexadecimal digits: it is written into the page."""
    if color in families():
        return color
    return color[1:] if re.fullmatch(r"#[0-9a-fA-F]{6}", color) else OTHER
