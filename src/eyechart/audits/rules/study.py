"""The study: mine on train, test on held-out images, and say of each judged example what rules do to it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.measuring import measured
from eyechart.audits.rules.classifier import classify, kept_rules
from eyechart.audits.rules.confirm import confirm
from eyechart.audits.rules.mined import PRIOR, Search, decode, least_support, match_rules, mine_rules, queries_of
from eyechart.audits.rules.parts import Parts, image_numbers
from eyechart.dataset import Dataset
from eyechart.encode.items import (
    Vocabulary,
    learn_vocabulary,
    make_accepted,
    make_transactions,
    numbered_answers,
)
from eyechart.mining import Accepted, Transactions
from eyechart.mining.counting import make_index
from eyechart.mining.match import Matches
from eyechart.mining.rules import Rules
from eyechart.mining.transactions import Int32s
from eyechart.probes import OWN
from eyechart.protocols import Engine
from eyechart.result import Measure
from eyechart.scoring import score
from eyechart.statistics import mean, wilson

EASY, COUNTEREXAMPLE, UNCOVERED = "easy", "counterexample", "uncovered"
KINDS = (EASY, COUNTEREXAMPLE, UNCOVERED)
NOT_TESTED = {"p": None, "q": None, "power": None, "state": None}


class Numbered(NamedTuple):
    """Both parts in numbers, and what the numbers stand for."""

    vocabulary: Vocabulary
    learn: Transactions
    judged: Transactions
    accepted: Accepted  # by the judged examples
    images: Int32s  # of the judged examples


class Studied(NamedTuple):
    """What the study found: the rules, the judged examples, and lines for the reader."""

    mined: Rules
    rules: pl.DataFrame
    rows: pl.DataFrame  # in the order of the judged transactions
    notes: tuple[str, ...]


def number_parts(parts: Parts, n_answers: int, *, normalized: bool) -> Numbered:
    """Lay out both parts in numbers; train examples outside the answer vocabulary are not mined."""
    vocabulary = learn_vocabulary(parts.learn, n_answers)
    inside = numbered_answers(parts.learn.examples, vocabulary) >= 0
    judged = make_transactions(parts.judged, vocabulary)
    return Numbered(
        vocabulary,
        make_transactions(parts.learn.take(pl.lit(inside)), vocabulary),
        judged,
        make_accepted(parts.judged.examples, vocabulary, normalized=normalized),
        image_numbers(parts.judged),
    )


def study_rules(parts: Parts, numbered: Numbered, search: Search, how: str, engine: Engine) -> Studied:
    """Mine, test and label."""
    rules = mine_rules(numbered.learn, search, engine)
    learned = match_rules(rules, numbered.learn, Accepted.only(numbered.learn.answers), search.threads, engine)
    met = match_rules(rules, numbered.judged, numbered.accepted, search.threads, engine)
    kept = kept_rules(learned)
    held_out = make_index(numbered.judged, numbered.images, rules.items)
    table = decode(rules, numbered.vocabulary).hstack(
        confirm(queries_of(rules), rules.confidences, held_out, search.threads, engine)
    )
    table = table.with_columns(pl.Series("kept", np.isin(np.arange(rules.n), kept)))
    answers = classify(rules, kept, held_out)
    rows = parts.judged.examples.select("id", "cluster").with_columns(_kind(met), *_met(met))
    for form, found in answers._asdict().items():
        said = numbered.vocabulary.answers.gather(found).cast(pl.String)
        scores = score_answers(parts.judged, numbered.vocabulary, found, how)
        rows = rows.with_columns(said.alias(form), scores.alias(f"{form}_score"))
    return Studied(rules, pl.concat([table, _prior(numbered, table)]), rows, _notes(rules, numbered, search))


def _kind(met: Matches) -> pl.Series:
    names = np.select([met.counts == 0, met.best_correct < 0], [UNCOVERED, COUNTEREXAMPLE], EASY)
    return pl.Series("kind", names, dtype=pl.String)


def _met(met: Matches) -> tuple[pl.Series, pl.Series]:
    best = pl.Series("rule", met.best.astype(np.int64))
    return best.set(best < 0, None), pl.Series("matches", met.counts.astype(np.int64))


def score_answers(judged: Dataset, vocabulary: Vocabulary, answers: Int32s, how: str) -> pl.Series:
    """Score an answer, by its number, to each judged example."""
    said = vocabulary.answers.gather(answers).cast(pl.String)
    given = judged.examples.with_columns(said.alias("given"), said.reshape((-1, 1)).arr.to_list().alias("ranking"))
    return score(given, how)


def _prior(numbered: Numbered, table: pl.DataFrame) -> pl.DataFrame:
    """List the empty antecedent with the most frequent answer; it is not tested."""
    learn, judged = numbered.learn, numbered.judged
    if not learn.n:
        return table.clear()
    joint, hits = int((learn.answers == 0).sum()), int((judged.answers == 0).sum())
    low, high = wilson(hits, judged.n)
    row = {
        "rule": table.height,
        "words": [],
        "objects": [],
        "answer": numbered.vocabulary.answers[0],
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


def _notes(rules: Rules, numbered: Numbered, search: Search) -> tuple[str, ...]:
    if rules.n:
        return ()
    least = least_support(search.min_support, numbered.learn.n)
    if least > numbered.learn.n:
        return (f"no rules: min_support {least} is more than the {numbered.learn.n} examples that are mined",)
    return (f"no rules: no antecedent has {least} examples and a confidence of {search.min_confidence:g}",)


def measure_study(rows: pl.DataFrame, rules: pl.DataFrame, how: str) -> Iterator[Measure]:
    """Measure the shares of the three kinds, and the classifier overall and on each kind."""
    for each in KINDS:
        yield _share(f"{each} share", rows["kind"] == each, rows["cluster"])
    best = rows.join(rules.select("rule", pl.col("kind").alias("of")), on="rule", how="inner", validate="m:1")
    if best.height:
        yield _share("best rule mixed", best["of"] == "mixed", best["cluster"])
    for form in ("vote", "best"):
        name, column = f"classifier, {form}", f"{form}_score"
        for kind in (None, *KINDS):
            chosen = of_kind(rows.drop_nulls(column), kind)
            if chosen.height:
                found = mean(chosen[column], chosen["cluster"])
                one = measured(name, found, of=column, condition=OWN, score=how, better="neither")
                yield in_kind(one, kind)


def of_kind(rows: pl.DataFrame, kind: str | None) -> pl.DataFrame:
    """Select the examples of one kind, or all."""
    return rows if kind is None else rows.filter(pl.col("kind") == kind)


def in_kind(measure: Measure, kind: str | None) -> Measure:
    """Say that a measure is of one kind of example."""
    return measure if kind is None else replace(measure, by="kind", group=kind)


def _share(name: str, flags: pl.Series, clusters: pl.Series) -> Measure:
    found = mean(flags.cast(pl.Float64), clusters)
    return measured(name, found, of=None, condition=OWN, score="share", better="neither")
