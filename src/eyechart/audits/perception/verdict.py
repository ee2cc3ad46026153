"""What is concluded: which modalities are ignored, and whether enough was asked."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import NamedTuple

import polars as pl

from eyechart.audits.perception.audit import PerceptionAudit
from eyechart.audits.perception.drawn import perceived
from eyechart.audits.perception.plan import Plan
from eyechart.audits.perception.removals import Removal
from eyechart.audits.perception.sensitivity import WORST
from eyechart.result import Measure, Verdict, speak
from eyechart.statistics import equivalence


class Reach(NamedTuple):
    """Whether another round is wanted, and what is to be said of the precision."""

    wants_more: bool = False
    note: str = ""


def ignored_table(rows: pl.DataFrame, removals: Sequence[Removal], margin: float) -> pl.DataFrame:
    """Test for each removal that the score lies within the margin of 0: two one-sided tests, 90 % interval."""
    lines = []
    for removal in removals:
        part = rows.drop_nulls(perceived(removal.name))
        if part.height:
            found = equivalence(part[perceived(removal.name)], part["cluster"], margin)
            told = (found.value, found.low, found.high, margin, found.p)
            lines.append((removal.name, part.height, *told, found.equivalent))
    numbers = dict.fromkeys(("perception", "low", "high", "margin", "p"), pl.Float64)
    schema = {"removed": pl.String, "n": pl.Int64} | numbers | {"ignored": pl.Boolean}
    return pl.DataFrame(lines, schema=schema, orient="row")


def reach(audit: PerceptionAudit, measures: list[Measure], errors: pl.DataFrame, plan: Plan, turn: int) -> Reach:
    """Ask for more while an interval is too wide and more draws or examples can still narrow it."""
    if audit.precision is None:
        return Reach()
    wanted = f"{audit.precision:g} points"
    wide = {each.condition: 100 * (each.high - each.low) for each in measures if each.name == "perception"}
    if all(width <= audit.precision for width in wide.values()):
        return Reach(note=f"every interval is at most {wanted} wide after round {turn + 1}")
    if plan.stages[turn].share >= 1:
        floors = {row["removed"]: _floor(row) for row in errors.iter_rows(named=True)}
        best = {name: width * floors[str(name)] for name, width in wide.items() if width > audit.precision}
        if min(best.values()) > audit.precision:
            least = max(best.values())
            return Reach(note=f"{wanted} are out of reach: with these examples {least:.1f} at best, whatever is drawn")
    if turn + 1 >= len(plan.stages):
        return Reach(note=f"wider than {wanted} after {len(plan.stages)} rounds: raise `max_rounds`")
    return Reach(wants_more=True)


def _floor(row: dict[str, float | None]) -> float:
    """Give the share of a width that stays when draws cost nothing; 0 where it is not known yet."""
    items, total = row["examples_se"], row["se"]
    return items / total if items is not None and total else 0.0


def decide(measures: list[Measure], ignored: pl.DataFrame, how_far: Reach, removals: Sequence[str]) -> Verdict:
    """Conclude: caught with a modality that is surely ignored, clear if all are surely perceived."""
    found = {str(each.condition): each for each in measures if each.name == "perception" and each.condition in removals}
    if not found:
        return Verdict("none", "accuracy", "No example was answered both as it is and with a modality removed.")
    rows = {row["removed"]: row for row in ignored.iter_rows(named=True)}
    still = {str(each.condition) for each in measures if each.name == "changed" and each.value == 0}
    said = {name: f"{name} ({_speak(it, still)})" for name, it in found.items()}
    unseen = [said[name] for name, it in found.items() if rows[name]["ignored"] or it.high < rows[name]["margin"]]
    if unseen:
        return Verdict("caught", "perception", f"It does not perceive {', '.join(unseen)}.")
    unsure = [said[name] for name, it in found.items() if it.low <= rows[name]["margin"]]
    worst = {str(each.condition): each for each in measures if each.name == WORST and each.condition in found}
    doubtful = [
        f"{said[name]}, but {speak(asdict(it))} with those that were lost taken as right"
        for name, it in worst.items()
        if it.low <= rows[name]["margin"]
    ]
    if doubtful and not unsure:
        sentence = f"Too many answers were lost to tell whether it perceives {'; '.join(doubtful)}."
        return Verdict("undecided", "perception", sentence)
    if not unsure:
        return Verdict("clear", "perception", f"It perceives {', '.join(said.values())}.")
    more = "; more draws are wanted" if how_far.wants_more else ""
    sentence = f"Too few examples to tell whether it perceives {', '.join(unsure)}{more}."
    return Verdict("undecided", "perception", sentence)


def _speak(measure: Measure, still: set[str]) -> str:
    unmoved = ", no answer changed" if measure.condition in still else ""
    return f"{speak(asdict(measure))} points{unmoved}"
