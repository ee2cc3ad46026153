"""Thresholds that a run must not cross, written as `perception.image < 20` or `rules.exploitation.low > 3`.

    AUDIT.MEASURE[@CONDITION][[COLUMN=GROUP]][.low|.high] <|<=|>|>= NUMBER

A condition may take the place of the measure: `perception.image` is the measure that the verdict of `perception` rests
on, under `image`; in full `perception.perception@image`.

Shares are in points, as everywhere. A threshold applies to every subject of the audit; `.low` and `.high` compare an
end of the interval, so that uncertain values do not count. An unknown value crosses every threshold.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from eyechart.base.errors import SettingError
from eyechart.base.registry import unknown_name
from eyechart.data.result import name_measure
from eyechart.reporting.contents import Page
from eyechart.reporting.sections import MeasureRow, Section

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
    """One threshold and the measures it applies to."""

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
        """Return whether a measure is on the wrong side of the limit, or unknown."""
        value: float | None = getattr(row, self.end)
        return value is None or _SIGNS[self.sign](float(value) * (100 if row.unit == "points" else 1), self.limit)


def read_threshold(text: str) -> Threshold:
    """Parse a threshold."""
    match = _FORM.fullmatch(text)
    if match is None:
        advice = (
            "write AUDIT.MEASURE < NUMBER, as in 'perception.image < 20' or 'rules.accuracy[kind=counterexample] < 30'"
        )
        raise SettingError("a threshold", repr(text), advice)
    return Threshold(
        text=text.strip(),
        audit=match["audit"],
        name=match["name"],
        condition=match["condition"],
        by=match["by"],
        group=match["group"],
        end=match["end"] or "value",
        sign=match["sign"],
        limit=float(match["limit"]),
    )


def crossed(page: Page, thresholds: Iterable[Threshold]) -> Iterator[str]:
    """Write a line for every crossed threshold; one that matches nothing in the run is an error."""
    for threshold in thresholds:
        for section, row in _matching(page, threshold):
            if threshold.crossed_by(row):
                yield f"{threshold.text}: {name_measure(vars(row))} of {section.subject} is {row.text}"


def _matching(page: Page, threshold: Threshold) -> list[tuple[Section, MeasureRow]]:
    """Find the measures a threshold applies to: those of the models if there are any, else those of the data."""
    sections = [section for section in page.sections if section.audit == threshold.audit]
    if not sections:
        raise unknown_name("audit of the run", threshold.audit, tuple({section.audit for section in page.sections}))
    rows = [(section, row) for section in sections for row in section.measures]
    pairs = [(section, row) for section, row in rows if _fits(row, threshold)]
    pairs = pairs or [(section, row) for section, row in rows if _named(section, row, threshold)]
    if not pairs:
        names = tuple(dict.fromkeys(_name(row) for _, row in rows))
        raise unknown_name(f"measure of {threshold.audit}", threshold.name, names)
    models = [pair for pair in pairs if pair[0].role == "result"]
    return models or pairs


def _name(row: MeasureRow) -> str:
    return f"{row.name}[{row.by}={row.group}]" if row.by else row.name


def _named(section: Section, row: MeasureRow, threshold: Threshold) -> bool:
    """Return whether a threshold names a condition of the measure that the verdict of a section rests on."""
    if threshold.condition is not None:
        return False
    keys = (verdict.measure for verdict in section.verdicts if verdict.measure is not None)
    return any(_fits(row, threshold._replace(name=key.name, condition=threshold.name)) for key in keys)


def _fits(row: MeasureRow, threshold: Threshold) -> bool:
    condition = threshold.condition is None or threshold.condition == row.condition
    return condition and (row.name, row.by, row.group) == (threshold.name, threshold.by, threshold.group)
