"""The verdict on a model, and the concepts that have enough rare answers to take part in it.

Worse on rare answers by more than the margin is not yet failing: who is right on most of them anyway looks most of the
time, and the question stays open.

A concept is tested if its groups with a normalised entropy below 0.9 have at least 100 judged examples with rare
answers, and at least 5 % of all judged examples. Elsewhere a few examples of nearly balanced groups would decide.
"""

from dataclasses import asdict
from typing import NamedTuple, Self

import polars as pl

from eyechart.audits.measures import RESISTS
from eyechart.audits.splits.measures import POOLED, UNION
from eyechart.audits.splits.settings import QUESTION, TAIL
from eyechart.audits.splits.study import judged_rows
from eyechart.data.result import Measure, Result, State, Verdict, speak

UNEVEN = 0.9  # the normalised entropy below which the answers of a group are surely imbalanced
FEWEST_RARE = 100  # examples in the tail of a tested concept
LEAST_SHARE = 0.05  # of the judged examples, in that tail
SURE = 0.05  # the highest q of a matched gap that speaks against a `yes`


class Reach(NamedTuple):
    """The tested concepts, the share of the judged examples in their imbalanced groups, and the longest tail of all."""

    tested: tuple[str, ...]
    share: float
    judged: int
    longest: tuple[str, int]  # a concept and the size of its tail

    @classmethod
    def of(cls, study: Result) -> Self:
        """Find the tested concepts of a study."""
        rows = judged_rows(study.rows)
        sizes = rare_answers(study, rows)
        least = max(FEWEST_RARE, LEAST_SHARE * rows.height)
        tested = tuple(concept for concept, n in sizes.items() if n >= least)
        share = rows.select(pl.any_horizontal(pl.col(tested).is_not_null()).mean()).item() if tested else 0.0
        return cls(tested, share, rows.height, max(sizes.items(), key=lambda item: item[1], default=("any", 0)))

    def describe(self) -> str:
        """Say of which examples the verdict speaks."""
        return f"This speaks of {self.share:.0%} of the {self.judged:,} judged examples ({', '.join(self.tested)})."

    def why_not(self) -> str:
        """Say why no concept is tested."""
        concept, n = self.longest
        wanted = f"{FEWEST_RARE} examples and {LEAST_SHARE:.0%} of the judged ones"
        return (
            f"the rare answers of clearly imbalanced groups are fewer than {wanted} for every concept "
            f"(the most: {n:,} of {self.judged:,}, for {concept})"
        )


def rare_answers(study: Result, rows: pl.DataFrame) -> dict[str, int]:
    """Count the tail of each concept in groups below 0.9; published sets come without groups and count as they are."""
    concepts = study.tables["concepts"]["concept"].to_list()
    if "groups" not in study.tables:
        return {concept: int((rows[concept] == TAIL).sum()) for concept in concepts}
    uneven = study.tables["groups"].filter(pl.col("imbalanced") & (pl.col("entropy") < UNEVEN))
    sizes = dict(uneven.group_by("concept").agg(pl.col("tail").sum()).iter_rows())
    return {concept: sizes.get(concept) or 0 for concept in concepts}


def decide(measures: list[Measure], margin: float, reach: Reach) -> Verdict:
    """Conclude from the gaps of the tested concepts: the largest and all together, each with its own interval.

    Either of them surely above the margin is `no`, unless the model may be right on most rare answers all the same; all
    together surely below it `yes`, unless a matched gap is surely above it. Either leaves the question open.
    """
    rare = next((measure for measure in measures if (measure.by, measure.group) == (UNION, TAIL)), None)
    named = {measure.name: measure for measure in measures if measure.by is None}
    if "largest gap" not in named or POOLED not in named:
        accuracy = named["accuracy"]
        why = "the head and tail of a group are too small to compare" if reach.tested else reach.why_not()
        sentence = f"Accuracy is {speak(asdict(accuracy))}; {why}."
        return Verdict("not tested", QUESTION, "sets too small", sentence, accuracy.key)
    largest, pooled = named["largest gap"], named[POOLED]
    most = f"{speak(asdict(largest))} points on {_alike(named, str(largest.note).partition(';')[0])}"
    whole = f"{speak(asdict(pooled))} over all tested concepts"
    state: State = "cannot tell"
    rests_on = pooled if pooled.low > margin >= largest.low else largest
    against = _matched_above(named, margin, reach.tested)
    if max(largest.low, pooled.low) > margin and rare is not None and rare.high >= RESISTS:
        label = "worse on rare answers at times"
        sentence = (
            f"Within the same group it is worse on rare answers, by {most}, and {whole}, but right on most of them all "
            f"the same: {speak(asdict(rare))} %."
        )
    elif max(largest.low, pooled.low) > margin:
        state, label = "no", "fails on rare answers"
        sentence = f"Within the same group it is worse on rare answers: by {most}, and {whole}."
    elif pooled.high < margin and not against:
        state, label, rests_on = "yes", "holds on rare answers", pooled
        sentence = f"Within the same group it is no worse on rare answers: {whole}, at most {most}."
    else:
        label, sentence = (
            "too close to tell",
            f"Too close to tell: worse on rare answers by {most}{against}, and {whole}.",
        )
    return Verdict(state, QUESTION, label, f"{sentence} {reach.describe()}", rests_on.key, margin)


def _alike(named: dict[str, Measure], concept: str) -> str:
    """Name a concept, with its matched gap if it has one."""
    matched = named.get(f"matched gap, {concept}")
    return f"{concept} ({speak(asdict(matched))} among examples of the same answer)" if matched else concept


def _matched_above(named: dict[str, Measure], margin: float, tested: tuple[str, ...]) -> str:
    """Speak of the first tested concept whose matched gap is surely above the margin, if there is one."""
    for concept in tested:
        matched = named.get(f"matched gap, {concept}")
        if matched is not None and matched.low > margin and matched.q is not None and matched.q <= SURE:
            return f" and, among examples of the same answer, by {speak(asdict(matched))} on {concept}"
    return ""
