"""The verdict: whether each modality is surely ignored, surely used, or used at times."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.perception.draws import UNIT, WORST, changed, draws_of, other_donors, perceived
from eyechart.audits.perception.measures import CHANGED, CHANGED_ANOTHER
from eyechart.audits.perception.settings import ESTIMAND, QUESTION, PerceptionSettings
from eyechart.data.probes import Removal
from eyechart.data.result import Measure, State, Verdict, speak
from eyechart.data.several import CHOICES
from eyechart.statistics import equivalence

VISUAL = {"image", "video"}
NAMED = 2  # modalities that a label has room for
SURE = 0.05  # the probability that no answer changes by luck
HALF = 0.5  # of the answers that would change if it always looked: below, it looks only at times
STILL = ", no answer changed"


def ignored_table(rows: pl.DataFrame, removals: Sequence[Removal], margin: float) -> pl.DataFrame:
    """Test for each removal whether the modality is surely ignored, in either of two ways.

    The score lies within the margin of 0 by two one-sided tests (90 % interval). Or no answer changed, and so surely
    fewer than half as many can as have a donor with another reference answer: with C clusters at most
    1 - .05^(1/C) of them can, with 95 % confidence.
    """
    lines = []
    for removal in removals:
        column = perceived(removal.name)
        part = rows.drop_nulls(column)
        if part.height:
            test = equivalence(part[column], part["cluster"], margin, draws=draws_of(part, column))
            moved = _movement(part, removal)
            still = moved.changed == 0 and moved.at_most < HALF * moved.other
            found = (test.value, test.low, test.high, margin, test.p, *moved, test.equivalent or still)
            lines.append((removal.name, part.height, *found))
    names = ("perception", "low", "high", "margin", "p", "changed", "at most", "another answer")
    schema = {"removed": pl.String, "n": pl.Int64} | dict.fromkeys(names, pl.Float64) | {"ignored": pl.Boolean}
    return pl.DataFrame(lines, schema=schema, orient="row")


class Movement(NamedTuple):
    """How many answers changed, how many can if none did, and how many donors hold another reference answer."""

    changed: float
    at_most: float
    other: float


def _movement(rows: pl.DataFrame, removal: Removal) -> Movement:
    moved, other = rows.drop_nulls(changed(removal.name)), other_donors(removal.name)
    if moved.is_empty() or other not in moved.columns:
        return Movement(math.nan, math.nan, math.nan)
    at_most = 1 - SURE ** (1 / moved[UNIT].n_unique())
    share, theirs = (float(np.mean(moved[name].to_numpy())) for name in (changed(removal.name), other))
    return Movement(share, at_most, theirs)


def decide(
    settings: PerceptionSettings,
    removals: Iterable[Removal],
    measures: list[Measure],
    ignored: pl.DataFrame,
    *,
    wants_more: bool,
) -> Verdict:
    """Conclude: "no" if some modality is surely ignored, "yes" if all are surely perceived and not just at times.

    Only the first kind that removes a whole modality counts.
    """
    whole = [each for each in removals if each.kind not in CHOICES]
    first = [each.name for each in whole if each.kind == whole[0].kind]
    scores = {str(each.condition): each for each in measures if each.name == "perception" and each.condition in first}
    margin = settings.margin
    if not scores:
        sentence = "No example was answered both as it is and with a modality removed."
        rest = measures[0].key if measures else None
        return Verdict("not tested", QUESTION, "nothing to compare", sentence, rest, margin)
    worst = {str(each.condition): each for each in measures if each.name == WORST and each.condition in scores}
    surely = ignored.filter("ignored")["removed"].to_list()
    mute = _without_score(scores, measures, ignored, margin)
    unseen = [name for name, it in scores.items() if (name in surely or it.high < margin) and name not in mute]
    unsure = [name for name, it in scores.items() if it.low <= margin]
    doubtful = [name for name, it in worst.items() if it.low <= margin]
    partly = _at_times(scores, measures, ignored)
    phrases = _phrases(scores, measures)
    state: State = "cannot tell"
    if unseen:
        state, label, named = "no", _ignored_label(unseen), unseen[:1]
        sentence = f"It does not perceive {', '.join(phrases[name] for name in unseen)}."
    elif mute:
        label, named = "hardly ever right", mute
        sentence = f"Its answers change without {' and '.join(mute)}, but hardly any is right, so no score can fall."
    elif unsure:
        label, named = "too few examples", unsure
        more = "; more draws are needed" if wants_more else ""
        sentence = f"Too few examples to tell whether it perceives {', '.join(phrases[name] for name in unsure)}{more}."
    elif doubtful:
        label, named = "too many answers lost", doubtful
        doubts = "; ".join(_doubt(phrases[name], worst[name]) for name in doubtful)
        sentence = f"Too many answers were lost to tell whether it perceives {doubts}."
    elif partly:
        label, named = "looks at times", partly
        sentence = f"It perceives {', '.join(phrases[name] for name in partly)}, but its answers change too seldom."
    else:
        state, label, named = "yes", _used_label(scores), list(scores)
        sentence = f"It perceives {', '.join(phrases.values())}."
    decisive = min((scores[name] for name in named), key=lambda each: each.value)
    return Verdict(state, QUESTION, label, f"{sentence} This is {ESTIMAND}.", decisive.key, margin)


def _without_score(
    names: Iterable[str], measures: Sequence[Measure], ignored: pl.DataFrame, margin: float
) -> list[str]:
    """List what surely changes most answers of a model that is right so seldom that it has no score to lose.

    Such answers may well be right in other words, which the score does not know.
    """
    right = max((each.high for each in measures if each.name == "accuracy"), default=1.0)
    if right >= margin:
        return []
    moved = {str(each.condition): each.low for each in measures if each.name == CHANGED}
    other = dict(ignored.select("removed", "another answer").iter_rows())
    return [name for name in names if moved.get(name, 0.0) > HALF * other[name]]


def _at_times(names: Iterable[str], measures: Sequence[Measure], ignored: pl.DataFrame) -> list[str]:
    """List what surely changes fewer than half as many answers as have a donor with another reference answer.

    Where the same question has another answer and most answers change, it is not listed.
    """
    moved, another = (
        {str(each.condition): each for each in measures if each.name == name} for name in (CHANGED, CHANGED_ANOTHER)
    )
    other = dict(ignored.select("removed", "another answer").iter_rows())
    seldom = [name for name in names if name in moved and moved[name].high < HALF * other[name]]
    return [name for name in seldom if name not in another or another[name].low <= HALF]


def _phrases(scores: Mapping[str, Measure], measures: Sequence[Measure]) -> dict[str, str]:
    """Write each score with how often the answer moves."""
    moved = {str(each.condition): _moved(each) for each in measures if each.name == CHANGED}
    another = {
        str(each.condition): f", {100 * each.value:.0f} % where the same question has another answer"
        for each in measures
        if each.name == CHANGED_ANOTHER and each.value < 1 and moved.get(str(each.condition)) != STILL
    }
    return {
        name: f"{name} ({speak(asdict(measure))} points{moved.get(name, '')}{another.get(name, '')})"
        for name, measure in scores.items()
    }


def _moved(measure: Measure) -> str:
    return f"; {100 * measure.value:.0f} % of answers change" if measure.value else STILL


def _doubt(phrase: str, worst: Measure) -> str:
    return f"{phrase}, but {speak(asdict(worst))} if the lost answers count as right"


def _ignored_label(removals: Sequence[str]) -> str:
    names = [name.partition("=")[0] for name in removals]
    return f"ignores {' and '.join(names) if len(names) <= NAMED else f'{len(names)} modalities'}"


def _used_label(removals: Iterable[str]) -> str:
    names = {part for name in removals for part in name.partition("=")[0].split("+")}
    return "looks" if names & VISUAL else "uses every modality"
