"""The study: mine on train, test on held-out images, and label each judged example by the rules it meets."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.measures import make_measure
from eyechart.audits.rules.classifier import best_thresholds, classify, kept_rules, score_answers, sweep
from eyechart.audits.rules.confirm import confirm
from eyechart.audits.rules.mining import (
    EncodedParts,
    decode_rules,
    encode_parts,
    least_support,
    log_once,
    match_rules,
    mine_rules,
    queries_of,
    sort_by_image,
)
from eyechart.audits.rules.published import describe_overlap, label_by_ids, overlap_table
from eyechart.audits.rules.settings import (
    COUNTEREXAMPLE,
    EASY,
    EXAMPLE_KINDS,
    PRIOR,
    PUBLISHED,
    QUESTION,
    UNCOVERED,
    RulesSettings,
)
from eyechart.audits.rules.views import gallery_table, shown_table, study_tables, study_views
from eyechart.base.kernels import announced
from eyechart.data.dataset import Dataset
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.protocols import Engine
from eyechart.data.result import Measure, Result, Verdict, measures_table
from eyechart.data.tables import COUNTS, empty
from eyechart.mining.match import Matches
from eyechart.mining.rules import Rules
from eyechart.scoring import chosen_score
from eyechart.statistics import mean, wilson

NOT_TESTED = {"p": None, "q": None, "power": None, "state": None}
SCORED = ("answers", "choices", "relevance")  # what a score may need of a judged example, in addition to its answer
SHOWN = ("question_type", "answer_type")  # columns to break tables down by


class RuleData(NamedTuple):
    """The mined and the judged examples, counts of those left out of either, and notes for the reader."""

    learn: Dataset
    judged: Dataset
    left_out: pl.DataFrame
    notes: tuple[str, ...]

    def counts(self, mined: int) -> pl.DataFrame:
        """Count the examples by status."""
        rows = [
            (None, "judged", None, self.judged.examples.height),
            (None, "mined", None, mined),
            (None, "not mined", "answer outside the vocabulary", self.learn.examples.height - mined),
        ]
        own = pl.DataFrame(rows, schema=empty(COUNTS).schema, orient="row")
        return pl.concat([own, self.left_out]).filter(pl.col("n") > 0)


def study_data(settings: RulesSettings, data: Dataset, engine: Engine) -> Result:
    """Mine the examples learned from, and label the judged ones; published lists of ids label them beside that."""
    parts = take_parts(data)
    judged = parts.judged
    # Read before the mining, which takes longest: a list that does not fit is an error.
    published = label_by_ids(judged.examples, Path(settings.from_ids)) if settings.from_ids else None
    how = chosen_score(settings.score, judged.examples)
    encoded = encode_parts(parts.learn, judged, settings.answers, normalized=settings.correct == "normalized")
    surface = sweep(judged, encoded, settings, how, engine) if settings.select else None
    used = settings if surface is None else best_thresholds(settings, surface)
    with announced(log_once):
        mined, rules, rows = study_rules(judged, encoded, used, how, engine)
    labelled = judged.examples.with_columns(rows["kind"], rows["matches"])
    tables = study_tables(judged.examples, rows, rules)
    tables["shown"] = shown_table(labelled, rules, mined, encoded.judged)
    tables["gallery"] = gallery_table(judged, rules, mined, encoded.judged)
    if surface is not None:
        tables["surface"] = surface
    remarks = [*why_no_rules(mined, encoded, used)]
    if published is not None:
        rows = rows.with_columns(published.alias(PUBLISHED))
        tables["overlap"] = overlap_table(rows)
        remarks.append(describe_overlap(tables["overlap"]))
    measures = list(measure_study(rows, rules, how)) if rows.height else []
    thresholds = f"min_support {used.min_support:g}, min_confidence {used.min_confidence:g}"
    notes = pl.DataFrame({"note": [*parts.notes, *remarks, thresholds]}, schema={"note": pl.String})
    return Result(
        audit=settings.name,
        subject=data.name,
        settings=settings.settings(),
        measures=measures_table(measures),
        rows=rows,
        tables={"counts": parts.counts(encoded.learn.n), "notes": notes, "rules": rules, **tables},
        views=study_views(tables),
        verdict=_not_tested(_describe(mined.n, rules, measures, (*remarks, *parts.notes)), measures),
    )


def take_parts(data: Dataset) -> RuleData:
    """Divide the examples into learned and judged; those without a reference answer are counted and left out."""
    learn, judged = data.only("split", *SCORED, *SHOWN).divided(learns=True)
    answered = pl.col("answer").is_not_null()
    learned, to_judge = sort_by_image(learn.only().take(answered)), sort_by_image(judged.take(answered))
    rows = [
        (None, "not mined", "no reference answer", learn.height - learned.height),
        (None, "not judged", "no reference answer", judged.height - to_judge.height),
        (None, "left out", "in another split", data.height - learn.height - judged.height),
    ]
    left_out = pl.DataFrame(rows, schema=empty(COUNTS).schema, orient="row")
    return RuleData(learned, to_judge, left_out, _note_parts(learned, to_judge))


def _note_parts(learn: Dataset, judged: Dataset) -> tuple[str, ...]:
    notes = []
    if not _has_objects(learn):
        notes.append("the images have no objects: all rules use words only")
    shared = judged.examples["cluster"].unique().is_in(learn.examples["cluster"].unique().implode()).sum()
    if shared:
        overlap = f"{shared} judged {judged.cluster}s are also among those learned from"
        notes.append(f"{overlap}: rules confirmed on them are less certain")
    return tuple(notes)


def _has_objects(data: Dataset) -> bool:
    if "objects" not in data.images.kept.columns:
        return False
    some = pl.col("objects").list.len().fill_null(0) > 0
    return bool(data.images.scan("objects").select(some.any()).collect().item())


def study_rules(
    judged: Dataset, encoded: EncodedParts, settings: RulesSettings, how: str, engine: Engine
) -> tuple[Rules, pl.DataFrame, pl.DataFrame]:
    """Mine, test and label: return the rules, their table, and a row for each judged example in the encoded order."""
    rules = mine_rules(encoded.learn, settings, engine)
    learned = encoded.match_learned(rules, settings.threads, engine)
    met = match_rules(rules, encoded.judged, encoded.accepted, settings.threads, engine)
    kept = kept_rules(learned)
    held_out = encoded.index_judged(rules.items)
    tested = confirm(queries_of(rules), rules.confidences, held_out, settings.threads, engine)
    table = decode_rules(rules, encoded.vocabulary).hstack(tested)
    table = table.with_columns(pl.Series("kept", np.isin(np.arange(rules.n), kept)))
    rows = judged.examples.select("id", "cluster").with_columns(_kind(met), *_best_rule(met))
    for form, answers in classify(rules, kept, held_out).items():
        texts = encoded.vocabulary.answers.gather(answers).cast(pl.String)
        scores = score_answers(judged, encoded.vocabulary, answers, how)
        rows = rows.with_columns(texts.alias(form), scores.alias(f"{form}_score"))
    return rules, pl.concat([table, _prior(encoded, table)]), rows


def _kind(met: Matches) -> pl.Series:
    names = np.select([met.counts == 0, met.best_correct < 0], [UNCOVERED, COUNTEREXAMPLE], EASY)
    return pl.Series("kind", names, dtype=pl.String)


def _best_rule(met: Matches) -> tuple[pl.Series, pl.Series]:
    """Return the first rule that each example meets, null if there is none, and the number it meets."""
    best = pl.Series("rule", met.best.astype(np.int64))
    return best.set(best < 0, None), pl.Series("matches", met.counts.astype(np.int64))


def _prior(encoded: EncodedParts, table: pl.DataFrame) -> pl.DataFrame:
    """List the empty antecedent with the most frequent answer; it is not tested."""
    learn, judged = encoded.learn, encoded.judged
    if not learn.n:
        return table.clear()
    joint, hits = int((learn.answers == 0).sum()), int((judged.answers == 0).sum())
    low, high = wilson(hits, judged.n)
    row = {
        "rule": table.height,
        "words": [],
        "objects": [],
        "answer": encoded.vocabulary.answers[0],
        "kind": PRIOR,
        "support": learn.n,
        "joint": joint,
        "confidence": joint / learn.n,
        "held_out_support": judged.n,
        "held_out_joint": hits,
        "held_out_confidence": hits / judged.n if judged.n else None,
        "low": float(low) if judged.n else None,
        "high": float(high) if judged.n else None,
        **NOT_TESTED,
        "kept": False,
    }
    return pl.DataFrame([row], schema=table.schema)


def why_no_rules(rules: Rules, encoded: EncodedParts, settings: RulesSettings) -> tuple[str, ...]:
    """Explain which threshold no rule reached, if none was mined."""
    if rules.n:
        return ()
    least = least_support(settings.min_support, encoded.learn.n)
    if least > encoded.learn.n:
        return (f"no rules: min_support {least} is more than the {encoded.learn.n} mined examples",)
    return (f"no rules: no antecedent has {least} examples and a confidence of {settings.min_confidence:g}",)


def measure_study(rows: pl.DataFrame, rules: pl.DataFrame, how: str) -> Iterator[Measure]:
    """Measure the shares of the three kinds, and the classifier overall and on each kind."""
    for each in EXAMPLE_KINDS:
        yield _share(f"{each} share", rows["kind"] == each, rows["cluster"])
    best = rows.join(rules.select("rule", pl.col("kind").alias("of")), on="rule", how="inner", validate="m:1")
    if best.height:
        yield _share("best rule mixed", best["of"] == "mixed", best["cluster"])
    for form in ("vote", "best"):
        name, column = f"classifier, {form}", f"{form}_score"
        for kind in (None, *EXAMPLE_KINDS):
            part = of_kind(rows.drop_nulls(column), kind)
            if part.height:
                estimate = mean(part[column], part["cluster"])
                measure = make_measure(
                    name, estimate, of=column, condition=PLAIN_CONDITION, score=how, better="neither"
                )
                yield in_kind(measure, kind)


def of_kind(rows: pl.DataFrame, kind: str | None) -> pl.DataFrame:
    """Select the examples of one kind, or all."""
    return rows if kind is None else rows.filter(pl.col("kind") == kind)


def in_kind(measure: Measure, kind: str | None) -> Measure:
    """Mark a measure as belonging to a kind of example."""
    return measure if kind is None else replace(measure, by="kind", group=kind)


def _share(name: str, flags: pl.Series, clusters: pl.Series) -> Measure:
    estimate = mean(flags.cast(pl.Float64), clusters)
    return make_measure(name, estimate, of=None, condition=PLAIN_CONDITION, score="share", better="neither")


def _not_tested(sentence: str, measures: list[Measure]) -> Verdict:
    """Write the verdict of a study, with the share of counterexamples as its measure if there is one."""
    keys = {measure.name: measure.key for measure in measures if measure.by is None}
    return Verdict("not tested", QUESTION, "no model yet", sentence, keys.get(f"{COUNTEREXAMPLE} share"))


def _describe(mined: int, rules: pl.DataFrame, measures: list[Measure], notes: tuple[str, ...]) -> str:
    """Describe the number of rules, the kinds of examples, and what a reader should know about the data."""
    shares = {measure.name: f"{measure.value:.1%}" for measure in measures}
    confirmed = int((rules["state"] == "confirmed").sum())
    text = f"{mined:,} rules, {confirmed:,} confirmed on held-out images"
    if shares:
        easy, counter = shares[f"{EASY} share"], shares[f"{COUNTEREXAMPLE} share"]
        text += f"; {easy} of the examples are easy, {counter} are counterexamples"
    return "; ".join([text, *notes]) + "."
