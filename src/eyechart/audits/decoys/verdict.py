"""The answers of a model, and the verdict: whether it finds targets among their options beside another example's rest.

no             surely more than the margin above guessing with what a donor shows: the options were enough
yes            surely less than that, and with everything of its own shown it names options and beats guessing
cannot tell    in between, or the model does not choose among options, or is no better than guessing with everything
not tested     it was not asked, or no other example can stand in for one, as where nearly all offer the same options

An answer that names one of k options scores 1 / k less than its accuracy, which is 0 on average for whoever guesses. A
refusal, or whatever else names no option, scores 0: it is counted as what it is, and is not below chance.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import NamedTuple

import polars as pl

from eyechart.audits.decoys.options import CHANCE
from eyechart.audits.decoys.probing import NEARLY_ALL, Condition
from eyechart.audits.measures import count_unscored
from eyechart.data.predictions import AnsweredExamples, Predictions
from eyechart.data.result import Measure, State, Verdict, speak
from eyechart.data.tables import COUNTS, empty
from eyechart.scoring import names_option, score

QUESTION = "Does it need more than the options?"
CHOOSES = 0.9  # of its answers name an option, else options do not test a model
OVER = "over chance"
TARGET, OTHER, NONE, REFUSED, LOST = "target", "other option", "no option", "refused", "lost"
NAMED = (TARGET, OTHER, NONE, REFUSED, LOST)


class ConditionAnswers(NamedTuple):
    """The answers under one condition: joined, scored, and counted."""

    condition: Condition
    answered: AnsweredExamples
    rows: pl.DataFrame  # id, cluster, chance, accuracy
    over: pl.DataFrame  # id, cluster, over chance; with the answers that could not be read
    counts: pl.DataFrame
    named: dict[str, int]  # what the answers name, by NAMED

    @property
    def n(self) -> int:
        """Count the answers, lost ones among them."""
        return sum(self.named.values())

    @property
    def choosing(self) -> int:
        """Count the answers that name an option."""
        return self.named[TARGET] + self.named[OTHER]


def score_condition(
    condition: Condition, examples: pl.DataFrame, predictions: Predictions, how: str
) -> ConditionAnswers:
    """Score the answers to examples with the options of a condition."""
    guess = examples.with_columns((1 / pl.col("choices").list.len()).alias(CHANCE))
    answered = predictions.beside(guess, condition.name)
    scored = answered.table.with_columns(score(answered.table, how).alias("accuracy"))
    scored = scored.with_columns((names_option(scored, how) | (pl.col("accuracy") > 0)).alias("names"))
    scored = scored.drop_nulls("accuracy").with_columns(
        (pl.col("accuracy") - pl.col("names") * pl.col(CHANCE)).alias(OVER)
    )
    means = scored.group_by("id", "cluster", CHANCE, maintain_order=True).agg(pl.col("accuracy", OVER).mean())
    unread = answered.lost.filter(pl.col("status") == "unparsed").select("id", "cluster", pl.lit(0.0).alias(OVER))
    rows = means.drop(OVER)
    counts = count_unscored(answered, rows).with_columns(pl.lit(condition.name).alias("condition"))
    over = pl.concat([means.select("id", "cluster", OVER), unread])
    return ConditionAnswers(condition, answered, rows, over, counts, _count_named(scored, answered.lost))


def _count_named(scored: pl.DataFrame, lost: pl.DataFrame) -> dict[str, int]:
    refused, names = pl.col("status") == "refused", pl.col("names")
    kinds = pl.when(pl.col("accuracy") > 0).then(pl.lit(TARGET)).when(names).then(pl.lit(OTHER))
    found = scored.select(kinds.when(refused).then(pl.lit(REFUSED)).otherwise(pl.lit(NONE)).alias("kind"))
    counted = dict(found["kind"].value_counts(name="n").iter_rows())
    return {kind: int(counted.get(kind, 0)) for kind in NAMED[:-1]} | {LOST: lost.height}


def named_table(answers: list[ConditionAnswers]) -> pl.DataFrame:
    """List by condition how many answers name the target, another option, or none."""
    rows = [{"condition": one.condition.name, "answers": one.n} | one.named for one in answers]
    return pl.DataFrame(rows, schema={"condition": pl.String} | dict.fromkeys(("answers", *NAMED), pl.Int64))


def count_without_donor(condition: Condition, left_out: int) -> pl.DataFrame:
    """Count the examples that no other example can stand in for."""
    row = (condition.name, "left out", "no other example whose answers are not offered", left_out)
    return pl.DataFrame([row], schema=empty(COUNTS).schema, orient="row").filter(pl.col("n") > 0)


class DonorCondition(NamedTuple):
    """The condition with donors: how many examples could be asked under it, and how many have a donor."""

    condition: Condition
    examples: int
    with_donor: int
    commonest: float  # the share of examples that offer the most frequent set of options

    @property
    def without_donor(self) -> int:
        """Count the examples that cannot be asked."""
        return self.examples - self.with_donor


def decide(
    measures: list[Measure], answers: list[ConditionAnswers], donor: DonorCondition | None, margin: float
) -> Verdict:
    """Conclude from the answers to what donors show, and from those with everything shown."""
    asked = {one.condition: one for one in answers}
    if donor is None or donor.condition not in asked:
        label, sentence = _describe_untested(donor)
        return Verdict("not tested", QUESTION, label, sentence, next((one.key for one in measures), None), margin)
    over = {one.condition: one for one in measures if one.name == OVER}
    found, whole = over[donor.condition.name], asked.get(Condition(donor.condition.options))
    distance = f"{speak(asdict(found))} points over chance under {donor.condition.name!r}"
    if donor.without_donor:
        distance += f", on the {donor.with_donor:,} of {donor.examples:,} examples with a donor"
    state, label, sentence = _conclude(found, whole, over, margin)
    return Verdict(state, QUESTION, label, f"{sentence}: {distance}.", found.key, margin)


def _conclude(
    found: Measure, whole: ConditionAnswers | None, over: Mapping[str | None, Measure], margin: float
) -> tuple[State, str, str]:
    """Return the state, its label, and the beginning of its sentence."""
    if found.low > margin:
        return "no", "relies on the options", "It finds targets by the options, beside another image and question"
    # Only who chooses among the options, and gains by looking, can show that they alone do not help.
    if whole is None or whole.choosing < CHOOSES * whole.n:
        share = "no answers" if whole is None else f"only {whole.choosing:,} of {whole.n:,} answers"
        return "cannot tell", "chooses none", f"With everything shown {share} name an option, so they cannot test it"
    if not found.high < margin:
        return "cannot tell", "too close to tell", "Too close to tell whether the options alone help it"
    with_everything = over[whole.condition.name]
    if not with_everything.low > 0:
        distance = f"{speak(asdict(with_everything))} points over chance"
        return "cannot tell", "guesses", f"With everything shown it does not surely beat guessing ({distance})"
    return "yes", "needs more than the options", "Beside another image and question the options do not help it"


def _describe_untested(donor: DonorCondition | None) -> tuple[str, str]:
    """Return the label and the sentence of a model that the options did not test."""
    if donor is None:
        return "not asked", "It was not asked with any options."
    if donor.commonest >= NEARLY_ALL:
        same = f"{donor.commonest:.0%} of the examples offer the same options"
        return "same options everywhere", f"{same}, which fit every image and question and so cannot test a model."
    if not donor.with_donor:
        return "no donors", "Every other example has an answer among the options, so that none can stand in for it."
    advice = "`eyechart probe RUN` writes the probes to answer, `eyechart judge RUN` judges again"
    return "not asked", f"It has no answers under {donor.condition.name!r}: {advice}."
