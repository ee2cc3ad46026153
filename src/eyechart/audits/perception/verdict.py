"""What is concluded: which modalities are ignored, and whether enough was asked."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import NamedTuple

import polars as pl

from eyechart.audits.perception.audit import QUESTION, PerceptionAudit
from eyechart.audits.perception.drawn import perceived
from eyechart.audits.perception.plan import Plan
from eyechart.audits.perception.removals import Removal
from eyechart.audits.perception.sensitivity import WORST
from eyechart.result import Measure, State, Verdict, speak
from eyechart.statistics import equivalence

_SEEN = {"image", "video"}
_NAMED = 2  # modalities that a label has room for


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


def decide(
    audit: PerceptionAudit, measures: list[Measure], ignored: pl.DataFrame, how_far: Reach, removals: Sequence[str]
) -> Verdict:
    """Conclude: no with a modality that is surely ignored, yes if all are surely perceived."""
    found = {str(each.condition): each for each in measures if each.name == "perception" and each.condition in removals}
    if not found:
        sentence = "No example was answered both as it is and with a modality removed."
        rest = measures[0].key if measures else None
        return Verdict("not tested", QUESTION, "nothing to compare", sentence, rest, audit.margin)
    worst = {str(each.condition): each for each in measures if each.name == WORST and each.condition in found}
    surely = ignored.filter("ignored")["removed"].to_list()
    unseen = [name for name, it in found.items() if name in surely or it.high < audit.margin]
    unsure = [name for name, it in found.items() if it.low <= audit.margin]
    doubtful = [name for name, it in worst.items() if it.low <= audit.margin]
    said = _say_each(found, measures)
    state: State = "cannot tell"
    if unseen:
        state, label, named = "no", _say_ignored(unseen), unseen[:1]
        sentence = f"It does not perceive {', '.join(said[name] for name in unseen)}."
    elif unsure:
        label, named = "too few examples", unsure
        more = "; more draws are wanted" if how_far.wants_more else ""
        sentence = f"Too few examples to tell whether it perceives {', '.join(said[name] for name in unsure)}{more}."
    elif doubtful:
        label, named = "too many answers lost", doubtful
        doubts = "; ".join(_doubt(said[name], worst[name]) for name in doubtful)
        sentence = f"Too many answers were lost to tell whether it perceives {doubts}."
    else:
        state, label, named = "yes", _say_used(found), list(found)
        sentence = f"It perceives {', '.join(said.values())}."
    decisive = min((found[name] for name in named), key=lambda each: each.value)
    return Verdict(state, QUESTION, label, sentence, decisive.key, audit.margin)


def _say_each(found: Mapping[str, Measure], measures: Sequence[Measure]) -> dict[str, str]:
    still = {each.condition for each in measures if each.name == "changed" and each.value == 0}
    unmoved = {name: ", no answer changed" if name in still else "" for name in found}
    return {name: f"{name} ({speak(asdict(it))} points{unmoved[name]})" for name, it in found.items()}


def _doubt(said: str, worst: Measure) -> str:
    return f"{said}, but {speak(asdict(worst))} with those that were lost taken as right"


def _say_ignored(removals: Sequence[str]) -> str:
    names = [name.partition("=")[0] for name in removals]
    return f"ignores {' and '.join(names) if len(names) <= _NAMED else f'{len(names)} modalities'}"


def _say_used(removals: Iterable[str]) -> str:
    names = {part for name in removals for part in name.partition("=")[0].split("+")}
    return "looks" if names & _SEEN else "uses every modality"
