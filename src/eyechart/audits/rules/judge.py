"""The judgement of a model: accuracy by kind of example, the gap and its control, and the rules it follows.

gap           accuracy on easy examples - accuracy on counterexamples
expected gap  the same for a model that is equally right on both within every stratum of answer type and answer
              frequency (powers of two of the train count): sum_s A_s (share of s among easy - among
              counterexamples), with A_s this model's accuracy in stratum s
matched gap   gap - expected gap = mean of (x_i - A_s(i)) on easy - the same on counterexamples
exploitation  on counterexamples: mean of [the model gives a confirmed rule's answer] - sum over the answers of those
              rules of the model's rate of the answer in the control of the rule (the shortest one of that answer):
              examples of the same question type that name or offer the answer in the same way, do not meet the rule
              and do not accept the answer. The interval has the error of these rates too (see `controls`); rules with
              fewer than 20 such examples take no part and are counted. The largest is that of the kind of rule whose
              interval ends highest below, at a level at which the intervals of all kinds hold together (Bonferroni).

With w_i one over the number of easy examples, or minus one over that of counterexamples, the expected gap is
sum_i w_i A_s(i). Both the strata drawn and the accuracies in them are uncertain: of N examples, each contributes

    value + N (w_i (A_s(i) - mean of A on its side) + (x_i - A_s(i)) mean of w in s)

whose mean is the value and whose clustered spread is that of the value (its influence function).
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import polars as pl

from eyechart.audits.measures import MeasureFields, count_unscored, make_measure, measure_groups, score_rows
from eyechart.audits.rules.controls import (
    LEVEL,
    ONE_SIDED,
    ControlErrors,
    control_errors,
    with_controls,
    with_word_controls,
    word_control_errors,
)
from eyechart.audits.rules.exploited import (
    AGREEMENTS,
    RuleMatches,
    agreements_table,
    exploited_table,
    match_examples,
)
from eyechart.audits.rules.mentions import NEITHER
from eyechart.audits.rules.mining import log_once
from eyechart.audits.rules.settings import (
    COUNTEREXAMPLE,
    EASY,
    EXAMPLE_KINDS,
    FEWEST_CONTROLS,
    PUBLISHED,
    RULE_KINDS,
    RulesSettings,
)
from eyechart.audits.rules.study import in_kind, of_kind
from eyechart.audits.rules.verdict import FEW, LARGEST, decide
from eyechart.audits.rules.views import judge_views
from eyechart.base.kernels import announced
from eyechart.data.dataset import Dataset
from eyechart.data.predictions import AnsweredExamples, Predictions
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.protocols import Engine
from eyechart.data.result import Measure, Result, measures_table
from eyechart.scoring import chosen_score
from eyechart.statistics import difference, mean

FEW_TOLD = f"the question names or offers the answer, with {FEW}"
NOTE = "what a model equally right within strata would show"
STRATUM = ("answer_type", "frequency")
SAME_WORDS = "mixed, against the same words"  # what the objects of mixed rules do, since the words are in both


def judge_model(
    settings: RulesSettings, data: Dataset, study: Result, predictions: Predictions, engine: Engine
) -> Result:
    """Join the answers to the judged examples and measure."""
    labels = [name for name in ("kind", PUBLISHED) if name in study.rows.columns]
    examples = data.examples.join(study.rows.select("id", "cluster", *labels), on="id", validate="1:1")
    how = chosen_score(settings.score, examples)
    answered = predictions.beside(examples, PLAIN_CONDITION)
    matches = match_answers(data, study, answered)
    met = with_controls(matches)
    scored = score_rows(answered, how, *labels, engine=engine)
    followed = followed_rules(matches, met, scored)
    rows = scored.join(followed[None].rows.drop("agrees", "elsewhere", "cluster"), on="id", how="left", validate="1:1")
    gap = measure_gap(with_strata(rows, data, study), how)
    published = measure_published(rows, data, study, how) if PUBLISHED in labels else ()
    measures = [
        *measure_kinds(rows, how),
        *gap,
        *measure_exploitation(followed, how),
        *largest_exploitation(followed, how),
    ]
    measures += published
    groups = [measure_groups(data, rows, measures[0], column, engine) for column in settings.by] if rows.height else []
    unused = count_unused(met)
    agreements = agreements_table(met, matches.rules, engine)
    tables = {"counts": count_unscored(answered, rows), "exploited": exploited_table(agreements), "unused": unused}
    tables[AGREEMENTS] = agreements
    return Result(
        audit=settings.name,
        subject=predictions.model,
        settings=study.settings,
        measures=pl.concat([measures_table(measures), *groups]),
        rows=rows,
        tables=tables,
        views=judge_views(measures, tables, settings.by),
        verdict=decide(measures, settings.margin, followed[None].at_most(), unused=int(unused["rules"].sum())),
    )


def match_answers(data: Dataset, study: Result, answered: AnsweredExamples) -> RuleMatches:
    """Match the judged examples with the confirmed rules, and add the first usable answer to each."""
    judged = data.take(pl.col("id").is_in(study.rows["id"].implode()))
    answers = answered.table.group_by("id", maintain_order=True).agg(pl.col("given").first())
    with announced(log_once):
        return match_examples(judged, answers, study.tables["rules"])


def measure_kinds(rows: pl.DataFrame, how: str) -> Iterator[Measure]:
    """Measure the accuracy overall and on each kind of example."""
    for kind in (None, *EXAMPLE_KINDS):
        part = of_kind(rows, kind)
        if part.height or kind is None:
            estimate = mean(part["accuracy"], part["cluster"])
            measure = make_measure(
                "accuracy", estimate, of="accuracy", condition=PLAIN_CONDITION, score=how, better="higher"
            )
            yield in_kind(measure, kind)


def measure_published(rows: pl.DataFrame, data: Dataset, study: Result, how: str) -> Iterator[Measure]:
    """Measure the accuracy on each published kind of example, and the gap between those."""
    labelled = rows.with_columns(pl.col(PUBLISHED).alias("kind"))
    for measure in measure_kinds(labelled, how):
        if measure.by is not None:
            yield replace(measure, by=PUBLISHED)
    for measure in measure_gap(with_strata(labelled, data, study), how):
        yield replace(measure, name=f"{PUBLISHED} {measure.name}")


def with_strata(rows: pl.DataFrame, data: Dataset, study: Result) -> pl.DataFrame:
    """Add the model's accuracy in its stratum to each easy example and counterexample."""
    answers = data.examples.select("id", "answer", _answer_type(data)).join(
        _train_counts(data, study), on="answer", how="left", validate="m:1"
    )
    strata = answers.with_columns((pl.col("n").fill_null(0) + 1).log(2).floor().alias("frequency"))
    both = rows.filter(pl.col("kind").is_in([EASY, COUNTEREXAMPLE])).join(strata, on="id", how="left", validate="1:1")
    # Summed in the order of the ids, so that it does not depend on threads.
    means = both.sort("id").group_by(STRATUM, maintain_order=True).agg(pl.col("accuracy").mean().alias("expected"))
    return both.join(means, on=STRATUM, how="left", validate="m:1").sort("id")


def _answer_type(data: Dataset) -> pl.Expr:
    typed = "answer_type" in data.examples.columns
    return (pl.col("answer_type").fill_null("(none)") if typed else pl.lit("(none)")).alias("answer_type")


def _train_counts(data: Dataset, study: Result) -> pl.DataFrame:
    """Count the answers of the examples that are not judged."""
    train = data.examples.join(study.rows, on="id", how="anti")
    return train["answer"].drop_nulls().value_counts(name="n")


def measure_gap(both: pl.DataFrame, how: str) -> Iterator[Measure]:
    """Measure the gap, and how much of it remains within strata."""
    easy, counter = (both.filter(pl.col("kind") == kind) for kind in (EASY, COUNTEREXAMPLE))
    if not easy.height or not counter.height:
        return
    gap = difference(easy["accuracy"], counter["accuracy"], easy["cluster"], counter["cluster"])
    yield make_measure("gap", gap, of=None, condition=PLAIN_CONDITION, score=how, better="lower")
    expected = mean(expected_contributions(both), both["cluster"], kind="differences")
    expected_measure = make_measure(
        "expected gap", expected, of=None, condition=PLAIN_CONDITION, score=how, better="neither"
    )
    yield replace(expected_measure, note=f"{expected_measure.note}; {NOTE}")
    easy_rest, counter_rest = (part["accuracy"] - part["expected"] for part in (easy, counter))
    matched = difference(easy_rest, counter_rest, easy["cluster"], counter["cluster"])
    yield make_measure("matched gap", matched, of=None, condition=PLAIN_CONDITION, score=how, better="lower")


def expected_contributions(both: pl.DataFrame) -> pl.Series:
    """Compute the contribution of each example to the expected gap."""
    of_easy, of_counter = (1 / (pl.col("kind") == kind).sum() for kind in (EASY, COUNTEREXAMPLE))
    weighted = both.with_columns(pl.when(pl.col("kind") == EASY).then(of_easy).otherwise(-of_counter).alias("weight"))
    among_its_side = pl.col("weight") * (pl.col("expected") - pl.col("expected").mean().over("kind"))
    within_stratum = (pl.col("accuracy") - pl.col("expected")) * pl.col("weight").mean().over(STRATUM)
    value = (pl.col("weight") * pl.col("expected")).sum()
    return weighted.select(value + pl.len() * (among_its_side + within_stratum)).to_series()


class Followed(NamedTuple):
    """Counterexamples with the agreement of the model with the rules they meet, and the error of the controls."""

    rows: pl.DataFrame  # id, cluster, follows, agrees, elsewhere, exploitation
    errors: ControlErrors

    def at_most(self) -> float:
        """Return the one-sided limit of the exploitation, at 95 %."""
        return self.errors.beyond(self.rows, ONE_SIDED).high if self.rows.height else float("nan")


def followed_rules(matches: RuleMatches, met: pl.DataFrame, rows: pl.DataFrame) -> dict[str | None, Followed]:
    """Compare the model's answer to each counterexample with the confirmed rules: all, each kind, objects alone."""
    counterexamples = rows.filter(pl.col("kind") == COUNTEREXAMPLE).select("id")
    parts: dict[str | None, pl.DataFrame] = {None: met}
    parts |= {kind: met.filter(pl.col("kind") == kind) for kind in RULE_KINDS}
    used = {name: _best_rules(part, counterexamples) for name, part in parts.items()}
    by_words = _best_rules(with_word_controls(matches), counterexamples)
    followed = {name: Followed(_by_example(best), control_errors(matches, best)) for name, best in used.items()}
    return followed | {SAME_WORDS: Followed(_by_example(by_words), word_control_errors(matches, by_words))}


def _best_rules(met: pl.DataFrame, counterexamples: pl.DataFrame) -> pl.DataFrame:
    """Take the shortest rule of each answer that has a control; a model gives at most one of these answers."""
    testable = met.filter(pl.col("wrong") & (pl.col("control_n") >= FEWEST_CONTROLS))
    ordered = testable.join(counterexamples, on="id", how="semi").sort("id", "size", "rule")
    return ordered.unique(["id", "answer"], keep="first", maintain_order=True)


def _by_example(best: pl.DataFrame) -> pl.DataFrame:
    agrees, elsewhere = pl.col("agrees").sum().cast(pl.Float64), (pl.col("control_given") / pl.col("control_n")).sum()
    by_example = best.group_by("id", "cluster", maintain_order=True).agg(
        pl.col("rule").filter("agrees").first().alias("follows"), agrees.alias("agrees"), elsewhere.alias("elsewhere")
    )
    return by_example.with_columns((pl.col("agrees") - pl.col("elsewhere")).alias("exploitation"))


def count_unused(met: pl.DataFrame) -> pl.DataFrame:
    """Count the confirmed rules that are wrong somewhere but have no control, and say why."""
    wrong = (
        met.filter("wrong")
        .group_by("rule")
        .agg(
            (pl.col("control_n") >= FEWEST_CONTROLS).any().alias("used"),
            (pl.col("mention") == NEITHER).all().alias("neither"),
        )
    )
    reason = pl.when("neither").then(pl.lit(FEW)).otherwise(pl.lit(FEW_TOLD)).alias("reason")
    unused = wrong.filter(~pl.col("used")).with_columns(reason)
    return unused.group_by("reason").agg(pl.len().cast(pl.Int64).alias("rules")).sort("reason")


def measure_exploitation(followed: dict[str | None, Followed], how: str) -> Iterator[Measure]:
    """Measure how much more often than elsewhere the model gives the rules' answers, overall and by kind of rule."""
    for kind, part in followed.items():
        if part.rows.height:
            estimate = part.errors.beyond(part.rows)
            measure = make_measure(
                "exploitation", estimate, of="exploitation", condition=PLAIN_CONDITION, score=how, better="lower"
            )
            yield measure if kind is None else replace(measure, of=None, by="rule kind", group=kind)


def largest_exploitation(followed: dict[str | None, Followed], how: str) -> Iterator[Measure]:
    """Measure the exploitation of the kind of rule that is most surely followed: who follows one kind follows rules."""
    kinds = [kind for kind in RULE_KINDS if followed[kind].rows.height]
    level = 1 - (1 - LEVEL) / max(len(kinds), 1)
    found = {kind: followed[kind].errors.beyond(followed[kind].rows, level) for kind in kinds}
    if found:
        surest = max(found, key=lambda kind: found[kind].low)
        like = MeasureFields(condition=PLAIN_CONDITION, score=how, better="lower")
        note = f"{surest}; interval for the largest of {len(found)} kinds of rules, Bonferroni"
        yield replace(make_measure(LARGEST, found[surest], of=None, **like), note=note, p=None)
