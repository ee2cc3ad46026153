"""The verdicts on sets of options: what they give away alone, what without the picture, and which made set is sound.

A made set takes the place of the data's options only if it is no easier, and if its decoys come from where they should.
"""

from collections.abc import Iterable, Iterator

import polars as pl

from eyechart.audits.decoys.adversaries import ALONE, UNSEEN
from eyechart.audits.decoys.blind import CONTROL
from eyechart.audits.decoys.cues import PRIOR_RULE
from eyechart.audits.decoys.diagnosis import OVER, SolverResult
from eyechart.audits.decoys.options import CHANCE
from eyechart.audits.decoys.settings import ORIG, REPAIRS, SETS
from eyechart.data.result import Key, State, Verdict
from eyechart.statistics import paired_difference

QUESTIONS = {ALONE: "Free of answers in its options?", UNSEEN: "Free of answers without the picture?"}
LABELS = {
    ALONE: ("options give it away", "options give little away"),
    UNSEEN: ("solved without the picture", "hardly solved without the picture"),
}
WITH = {ALONE: "by the options alone", UNSEEN: "without the picture"}
OFF_CHANCE = 0.01  # the p-value from which solvers that learned from random targets are not at chance
MOST_FILLERS = 0.5  # of the decoys of a source
PLAIN = {ALONE: (PRIOR_RULE, "A"), UNSEEN: ("Q+A",)}  # those that are below chance where options are balanced exactly
BELOW = 0.25  # of chance: being surely that much below it tells what is wrong
REPAIRS_TABLE = {"options": pl.String, "sound": pl.Boolean, "reason": pl.String}


def decide(solvers: Iterable[SolverResult], options: str, margin: float) -> tuple[Verdict, ...]:
    """Conclude how free of answers a set of options is, alone and with the question."""
    found = {one.solver.name: one for one in solvers if one.solver.options == options}
    return tuple(_decide(found, name, options, margin) for name in QUESTIONS)


def _decide(found: dict[str, SolverResult], name: str, options: str, margin: float) -> Verdict:
    if name not in found:
        return Verdict("not tested", QUESTIONS[name], "nothing judged", f"No example of {options!r} is judged.")
    state, label, finding = _conclude(found, name, options, margin)
    best = found[name]
    sentence = f"{finding}: the best way, {best.solver.way.picks}, is {_spoken(best)} over {best.over.n:,} examples."
    return Verdict(state, QUESTIONS[name], label, sentence, Key(OVER.format(name), options), margin)


def _conclude(found: dict[str, SolverResult], name: str, options: str, margin: float) -> tuple[State, str, str]:
    """Return the state, its label, and the beginning of its sentence."""
    over, without = found[name].over, WITH[name]
    # A single draw lies further from chance than its interval over examples says, so only several are a test.
    control = found.get(CONTROL)
    if control is not None and control.solver.way.draws and control.over.p < OFF_CHANCE:
        finding = f"Solvers that learned from random targets are {_spoken(control)}, so these cannot be trusted"
        return "cannot tell", "control off chance", finding
    if over.low > margin:
        return "no", LABELS[name][0], f"The targets of {options!r} can be found {without}"
    below = [found[plain] for plain in PLAIN[name] if plain in found and _is_below(found[plain], margin)]
    if options != ORIG and below:
        worst = f"{below[0].solver.name} is {_spoken(below[0])}"
        return "no", f"below chance {without}", f"{options!r} tells what is wrong {without}: {worst}"
    if over.high < margin:
        return "yes", LABELS[name][1], f"Hardly any target of {options!r} can be found {without}"
    return "cannot tell", "too close to tell", f"Too close to tell whether {options!r} can be solved {without}"


def _is_below(one: SolverResult, margin: float) -> bool:
    guess = one.accuracy.value - one.over.value
    return one.over.high < -min(margin, BELOW * guess)


def _spoken(one: SolverResult) -> str:
    """Write the distance from chance in points."""
    value, low, high = (100 * each for each in (one.over.value, one.over.low, one.over.high))
    return f"{value:.1f} [{low:.1f}, {high:.1f}] points over chance"


def repairs_table(solvers: list[SolverResult], decoys: pl.DataFrame, margin: float) -> pl.DataFrame:
    """List the made sets that could replace the options of the data, and why some should not."""
    by_set = {(one.solver.options, one.solver.name): one for one in solvers}
    made = [name for name in REPAIRS if (name, ALONE) in by_set]
    rows = []
    for name in made:
        reasons = [*_lacking_sources(name, decoys), *_easier(name, by_set, margin)]
        rows.append({"options": name, "sound": not reasons, "reason": "; ".join(reasons) or None})
    return pl.DataFrame(rows, schema=REPAIRS_TABLE)


def _lacking_sources(name: str, decoys: pl.DataFrame) -> Iterator[str]:
    """Say which sources have too few answers for their decoys."""
    for source in SETS[name]:
        filler = decoys.filter(pl.col("source") == source)["filler"]
        share = float(filler.mean() or 0)  # type: ignore[arg-type]  # the mean of a column of booleans
        if share > MOST_FILLERS:
            yield f"{share:.0%} of the {source!r} decoys are fillers, for want of answers to choose from"


def _easier(name: str, by_set: dict[tuple[str, str], SolverResult], margin: float) -> Iterator[str]:
    """Say what solves the made options more often, beyond chance, than those of the data, or than the margin allows."""
    if (ORIG, ALONE) not in by_set:
        if (alone := by_set[name, ALONE]).over.low > margin:
            yield f"{_spoken(alone)} {WITH[ALONE]}"
        return
    for adversary in QUESTIONS:
        after, before = (by_set[options, adversary].solver.scores for options in (name, ORIG))
        both = after.join(before, on=("id", "cluster"), validate="1:1", maintain_order="left", suffix="_before")
        made, own = (both["score" + which] - both[CHANCE + which] for which in ("", "_before"))
        over = paired_difference(made, own, both["cluster"])
        if over.low > 0:
            points = f"{100 * over.value:.1f} [{100 * over.low:.1f}, {100 * over.high:.1f}] points"
            yield f"solved {points} further above chance than {ORIG!r} {WITH[adversary]}"


def describe_repair(repairs: pl.DataFrame) -> str:
    """Say which made set is offered, or why none is; nothing if none was made."""
    if not repairs.height:
        return ""
    sound = repairs.filter("sound")
    if sound.height:
        return f" Better options: {sound['options'][0]!r}."
    options, reason = repairs.select("options", "reason").row(0)
    return f" No made options are better; {options!r}: {reason}."
