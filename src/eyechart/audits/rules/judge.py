"""The judgement of a model: accuracy by kind of example, the gap and its control, and the rules it follows.

exploitation, on counterexamples: mean of [the model says what a confirmed rule says] - sum over the answers of those
rules of the model's rate of the answer on the examples of the same question type that do not meet the rule (the best
one of that answer) and do not accept the answer. The rates are taken as known: their own error is not in the interval.
"""

from collections.abc import Iterator
from dataclasses import asdict, replace

import polars as pl

from eyechart.audits.measuring import count_unscored, measured, measured_by, score_rows
from eyechart.audits.rules.audit import QUESTION, RulesAudit
from eyechart.audits.rules.exploited import exploited_table, with_controls, with_word_controls
from eyechart.audits.rules.gap import measure_gap, with_strata
from eyechart.audits.rules.meetings import Meetings, meet
from eyechart.audits.rules.mined import tell
from eyechart.audits.rules.study import COUNTEREXAMPLE, KINDS, in_kind, of_kind
from eyechart.audits.rules.views import judge_views
from eyechart.dataset import Dataset
from eyechart.kernels import announced
from eyechart.predictions import Answered, Predictions
from eyechart.probes import OWN
from eyechart.protocols import Engine
from eyechart.result import Measure, Result, State, Verdict, measures_table, speak
from eyechart.scoring import chosen_score
from eyechart.statistics import beyond_known, mean

RULE_KINDS = ("words", "objects", "mixed")
BESIDE = "mixed, against the same words"  # what the objects of mixed rules do, since the words are in both


def judge_model(audit: RulesAudit, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
    """Join the answers to the judged examples and measure."""
    examples = data.examples.join(study.rows.select("id", "cluster", "kind"), on="id", validate="1:1")
    how = chosen_score(audit.score, examples)
    answered = predictions.beside(examples, OWN)
    meetings = meet_rules(data, study, answered)
    met = with_controls(meetings)
    scored = score_rows(answered, how, "kind", engine=engine)
    led = led_astray(met, with_word_controls(meetings), scored)
    rows = scored.join(led[None].select("id", "follows", "exploitation"), on="id", how="left", validate="1:1")
    gap = measure_gap(with_strata(rows, data, study), how)
    measures = [*measure_kinds(rows, how), *gap, *measure_exploitation(led, how)]
    groups = [measured_by(data, rows, measures[0], column, engine) for column in audit.by] if rows.height else []
    tables = {"counts": count_unscored(answered, rows), "exploited": exploited_table(met, meetings.rules, engine)}
    return Result(
        audit=audit.name,
        subject=predictions.model,
        settings=study.settings,
        measures=pl.concat([measures_table(measures), *groups]),
        rows=rows,
        tables=tables,
        views=judge_views(measures, tables, audit.by),
        verdict=decide(measures, audit.margin, from_ids=bool(audit.from_ids)),
    )


def meet_rules(data: Dataset, study: Result, answered: Answered) -> Meetings:
    """Set the first usable answer to each judged example beside the confirmed rules that it meets."""
    judged = data.take(pl.col("id").is_in(study.rows["id"].implode()))
    said = answered.table.group_by("id", maintain_order=True).agg(pl.col("given").first())
    with announced(tell):
        return meet(judged, said, study.tables["rules"])


def measure_kinds(rows: pl.DataFrame, how: str) -> Iterator[Measure]:
    """Measure the accuracy overall and on each kind of example."""
    for kind in (None, *KINDS):
        chosen = of_kind(rows, kind)
        if chosen.height or kind is None:
            found = mean(chosen["accuracy"], chosen["cluster"])
            whole = measured("accuracy", found, of="accuracy", condition=OWN, score=how, better="higher")
            yield in_kind(whole, kind)


def led_astray(met: pl.DataFrame, beside: pl.DataFrame, rows: pl.DataFrame) -> dict[str | None, pl.DataFrame]:
    """Compare on each counterexample what the model and confirmed rules say: all rules, each kind, objects alone."""
    counterexamples = rows.filter(pl.col("kind") == COUNTEREXAMPLE).select("id")
    parts: dict[str | None, pl.DataFrame] = {None: met, BESIDE: beside}
    parts |= {kind: met.filter(pl.col("kind") == kind) for kind in RULE_KINDS}
    return {
        name: _by_example(part.join(counterexamples, on="id", how="semi").sort("id", "rule"))
        for name, part in parts.items()
    }


def _by_example(met: pl.DataFrame) -> pl.DataFrame:
    """Take the best rule of each answer; a model says one of them at most."""
    known = met.filter(pl.col("wrong") & (pl.col("control_n") > 0))
    best = known.unique(["id", "answer"], keep="first", maintain_order=True)
    said, elsewhere = pl.col("agrees").sum().cast(pl.Float64), (pl.col("control_said") / pl.col("control_n")).sum()
    led = best.group_by("id", "cluster", maintain_order=True).agg(
        pl.col("rule").filter("agrees").first().alias("follows"), said.alias("said"), elsewhere.alias("elsewhere")
    )
    return led.with_columns((pl.col("said") - pl.col("elsewhere")).alias("exploitation"))


def measure_exploitation(led: dict[str | None, pl.DataFrame], how: str) -> Iterator[Measure]:
    """Measure how much oftener than elsewhere the model says what the rules say, overall and by kind of rule."""
    for kind, part in led.items():
        if part.height:
            found = beyond_known(part["said"], part["elsewhere"], part["cluster"])
            whole = measured("exploitation", found, of="exploitation", condition=OWN, score=how, better="lower")
            yield whole if kind is None else replace(whole, of=None, by="rule kind", group=kind)


def decide(measures: list[Measure], margin: float, *, from_ids: bool) -> Verdict:
    """Conclude from the exploitation; published ids allow no more than the gap."""
    found = {measure.name: measure for measure in measures if measure.by is None}
    if "exploitation" not in found:
        it = found.get("gap", found["accuracy"])
        why = "published ids come without rules" if from_ids else "no counterexample meets a confirmed rule"
        sentence = f"The {it.name} is {speak(asdict(it))} points; {why}."
        return Verdict("not tested", QUESTION, "no rules to follow", sentence, it.key)
    it = found["exploitation"]
    said = f"{speak(asdict(it))} points oftener on counterexamples than where they do not apply"
    state: State = "cannot tell"
    if it.low > margin:
        state, label, sentence = "no", "follows shortcuts", f"It gives the rules' answers {said}."
    elif it.high < margin:
        state, label = "yes", "follows no rules"
        sentence = f"It does not follow the rules: it gives their answers {said}."
    else:
        label, sentence = "too close to tell", f"Too close to tell: it gives the rules' answers {said}."
    return Verdict(state, QUESTION, label, sentence, it.key, margin)
