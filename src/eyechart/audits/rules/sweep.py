"""Choose support and confidence as the paper does: by the accuracy of the shortcut classifier on held-out examples.

Raising a threshold takes rules away and brings none back, for what drops a rule has at least its joint count and its
confidence; so one mining at the lowest thresholds serves all. Only under `superset="paper"`, where a longer and rarer
rule may drop a shorter one, is every support mined anew.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.rules.classifier import classify, kept_rules, some
from eyechart.audits.rules.mined import Search, least_support, match_rules, mine_rules
from eyechart.audits.rules.study import Numbered, score_answers
from eyechart.dataset import Dataset
from eyechart.mining import Accepted
from eyechart.mining.counting import make_index
from eyechart.mining.rules import Rules
from eyechart.protocols import Engine
from eyechart.statistics import mean

SUPPORTS = (1, 2, 4, 8)  # times the lowest
CONFIDENCES = (0.0, 0.1, 0.2, 0.3, 0.4)  # above the lowest


class Tried(NamedTuple):
    """One choice of thresholds and what came of it."""

    min_support: int
    min_confidence: float
    rules: int
    kept: int
    vote: float  # NaN where nothing could be scored
    low: float
    high: float
    best: float
    n: int


class Sought(NamedTuple):
    """What is looked for, from the lowest thresholds on, by which score, and where."""

    search: Search
    how: str
    engine: Engine


def sweep(judged: Dataset, numbered: Numbered, sought: Sought) -> pl.DataFrame:
    """Score the classifier under every pair of thresholds."""
    search = sought.search
    lowest = least_support(search.min_support, numbered.learn.n)
    confidences = [round(search.min_confidence + step, 6) for step in CONFIDENCES]
    tried = []
    mined = mine_rules(numbered.learn, search, sought.engine)
    for support in (lowest * times for times in SUPPORTS):
        if search.superset == "paper":
            mined = mine_rules(numbered.learn, search._replace(min_support=support), sought.engine)
        for confidence in (each for each in confidences if each <= 1):
            inside = (mined.joints >= support) & (mined.confidences >= confidence)
            left = some(mined, np.flatnonzero(inside))
            found = _try(left, judged, numbered, sought)
            tried.append(found._replace(min_support=support, min_confidence=confidence))
    return pl.DataFrame(tried, schema=_SCHEMA, orient="row").fill_nan(None)


def chosen(search: Search, surface: pl.DataFrame) -> Search:
    """Take the thresholds of the highest vote, of equals the lowest ones."""
    order = surface.sort("vote", "min_support", "min_confidence", descending=[True, False, False], nulls_last=True)
    best = order.row(0, named=True)
    return search._replace(min_support=best["min_support"], min_confidence=best["min_confidence"])


def _try(rules: Rules, judged: Dataset, numbered: Numbered, sought: Sought) -> Tried:
    own = Accepted.only(numbered.learn.answers)
    learned = match_rules(rules, numbered.learn, own, sought.search.threads, sought.engine)
    kept = kept_rules(learned)
    held_out = make_index(numbered.judged, numbered.images, rules.items[kept])
    answers = classify(rules, kept, held_out)
    vote, best = (score_answers(judged, numbered.vocabulary, each, sought.how) for each in answers)
    known = vote.is_not_null()
    found = mean(vote.filter(known), judged.examples["cluster"].filter(known))
    alone = mean(best.drop_nulls()).value
    return Tried(0, 0.0, rules.n, len(kept), found.value, found.low, found.high, alone, found.n)


_COUNTS = ("min_support", "rules", "kept", "n")
_SCHEMA = {name: pl.Int64 if name in _COUNTS else pl.Float64 for name in Tried._fields}
