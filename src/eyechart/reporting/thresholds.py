"""Thresholds that a run must not cross, in words: `perception.image < 20`, `rules.exploitation.low > 3`.

    AUDIT.MEASURE[@CONDITION][[COLUMN=GROUP]][.low|.high] <|<=|>|>= NUMBER

In the place of a measure may stand a condition: `perception.image` is the measure that the verdict of `perception`
rests on, under `image`; in full `perception.perception@image`.

Shares are spoken in points, as everywhere. A threshold holds for every subject of the audit; `.low` and `.high` compare
an end of the interval, so that only what is sure counts. A number that is not known crosses every threshold.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from eyechart.errors import SettingError
from eyechart.registry import unknown_name
from eyechart.reporting.contents import MeasureRow, Page, Section
from eyechart.result import name_measure

_FORM = re.compile(
    r"\s*(?P<audit>[\w-]+)\.(?P<name>[^@\[<>]+?)(@(?P<condition>[^\[<>]+?))?"
    r"(\[(?P<by>[^=\]]+)=(?P<group>[^\]]*)\])?(\.(?P<end>low|high))?\s*(?P<sign><=|>=|<|>)\s*(?P<limit>-?\d+(\.\d+)?)\s*"
)
_SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    "<": float.__lt__,
    "<=": float.__le__,
    ">": float.__gt__,
    ">=": float.__ge__,
}


class Threshold(NamedTuple):
    """A threshold that was read."""

    text: str
    audit: str
    name: str
    condition: str | None
    by: str | None
    group: str | None
    end: str
    sign: str
    limit: float

    def crossed_by(self, row: MeasureRow) -> bool:
        """Tell whether a measure is on the wrong side, or not known."""
        value: float | None = getattr(row, self.end)
        return value is None or _SIGNS[self.sign](float(value) * (100 if row.unit == "points" else 1), self.limit)


def read_threshold(text: str) -> Threshold:
    """Read a threshold, or say what one looks like."""
    found = _FORM.fullmatch(text)
    if found is None:
        advice = (
            "write AUDIT.MEASURE < NUMBER, as in 'perception.image < 20' or 'rules.accuracy[kind=counterexample] < 30'"
        )
        raise SettingError("a threshold", repr(text), advice)
    return Threshold(
        text=text.strip(),
        audit=found["audit"],
        name=found["name"],
        condition=found["condition"],
        by=found["by"],
        group=found["group"],
        end=found["end"] or "value",
        sign=found["sign"],
        limit=float(found["limit"]),
    )


def crossed(page: Page, thresholds: Iterable[Threshold]) -> Iterator[str]:
    """Say every crossing in a line; a threshold that fits nothing in the run is an error."""
    for threshold in thresholds:
        for section, row in _found(page, threshold):
            if threshold.crossed_by(row):
                yield f"{threshold.text}: {name_measure(vars(row))} of {section.subject} is {row.said}"


def _found(page: Page, threshold: Threshold) -> list[tuple[Section, MeasureRow]]:
    """Find the measures a threshold speaks of: of the models if they have them, else of the data."""
    sections = [section for section in page.sections if section.audit == threshold.audit]
    if not sections:
        raise unknown_name("audit of the run", threshold.audit, tuple({section.audit for section in page.sections}))
    rows = [(section, row) for section in sections for row in section.measures]
    pairs = [(section, row) for section, row in rows if _fits(row, threshold)]
    pairs = pairs or [(section, row) for section, row in rows if _named(section, row, threshold)]
    if not pairs:
        names = tuple(dict.fromkeys(_spoken(row) for _, row in rows))
        raise unknown_name(f"measure of {threshold.audit}", threshold.name, names)
    models = [pair for pair in pairs if pair[0].role == "result"]
    return models or pairs


def _spoken(row: MeasureRow) -> str:
    return f"{row.name}[{row.by}={row.group}]" if row.by else row.name


def _named(section: Section, row: MeasureRow, threshold: Threshold) -> bool:
    """Tell whether a threshold names, by its condition alone, what the verdict of a section rests on."""
    key = section.verdict.measure
    if key is None or threshold.condition is not None:
        return False
    return _fits(row, threshold._replace(name=key.name, condition=threshold.name))


def _fits(row: MeasureRow, threshold: Threshold) -> bool:
    condition = threshold.condition is None or threshold.condition == row.condition
    return condition and (row.name, row.by, row.group) == (threshold.name, threshold.by, threshold.group)
