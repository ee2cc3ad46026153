"""The shortcut classifier: the score of a model that knows nothing but the rules.

A rule is kept if, for some train example, it is the first in order among those that give its answer. An example is
answered by the confidence-weighted vote of the kept rules it meets (the paper), or by the first of them (the authors'
code); one that meets none gets the most frequent train answer ("yes" in VQA v2).

With `select`, support and confidence are chosen as in the paper: by the accuracy of this classifier on held-out
examples. Raising a threshold removes rules and brings none back, since a rule that makes another redundant has at least
its joint count and its confidence; so one mining at the lowest thresholds serves all. Only under
`superset="two-sided"`, where a longer and rarer rule may drop a shorter one, is every support mined separately.
"""

from dataclasses import replace

import numpy as np
import polars as pl

from eyechart.audits.rules.mining import EncodedParts, least_support, mine_rules, queries_of
from eyechart.audits.rules.settings import RulesSettings
from eyechart.data.dataset import Dataset
from eyechart.data.protocols import Engine
from eyechart.language.items import ItemVocabulary
from eyechart.mining.counting import Index, QueryMatches, list_pairs
from eyechart.mining.match import Matches
from eyechart.mining.rules import Rules
from eyechart.mining.transactions import Int32s
from eyechart.scoring import score
from eyechart.statistics import mean
from eyechart.statistics.rows import Ints

SUPPORTS = (1, 2, 4, 8)  # times the lowest
CONFIDENCES = (0.0, 0.1, 0.2, 0.3, 0.4)  # above the lowest
_COUNT, _SHARE = pl.Int64(), pl.Float64()
_SURFACE: dict[str, pl.DataType] = {
    "min_support": _COUNT,
    "min_confidence": _SHARE,
    "rules": _COUNT,
    "kept": _COUNT,
    "vote": _SHARE,
    "low": _SHARE,
    "high": _SHARE,
    "best": _SHARE,
    "n": _COUNT,
}


def kept_rules(learned: Matches) -> Ints:
    """Choose the rules that are the best correct one for some train example, in order."""
    return np.unique(learned.best_correct[learned.best_correct >= 0]).astype(np.int64)


def take(rules: Rules, numbers: Ints) -> Rules:
    """Select rules by their numbers."""
    return Rules(
        rules.items[numbers],
        rules.lengths[numbers],
        rules.answers[numbers],
        rules.joints[numbers],
        rules.supports[numbers],
    )


def classify(rules: Rules, kept: Ints, index: Index) -> dict[str, Int32s]:
    """Answer every example of an index by `vote` and by the `best` rule; answer 0 is the most frequent one."""
    n = len(index.answers)
    vote, best = np.zeros(n, np.int32), np.zeros(n, np.int32)
    chosen = take(rules, kept)
    pairs = list_pairs(queries_of(chosen), index)
    examples, first = np.unique(pairs.examples, return_index=True)  # pairs are sorted by rule, so the first is the best
    best[examples] = chosen.answers[pairs.queries[first]]
    winners = _winners(pairs, chosen)
    vote[winners["example"].to_numpy()] = winners["answer"].to_numpy()
    return {"vote": vote, "best": best}


def _winners(pairs: QueryMatches, rules: Rules) -> pl.DataFrame:
    """Find the answer with the largest sum of confidences for each example; ties go to the better rule."""
    width = int(rules.answers.max(initial=0)) + 1
    keys, first, inverse = np.unique(
        pairs.examples.astype(np.int64) * width + rules.answers[pairs.queries], return_index=True, return_inverse=True
    )
    # Summed in the order of the rules, so that equal votes are exactly equal.
    weights = np.bincount(inverse, weights=rules.confidences[pairs.queries], minlength=len(keys))
    votes = pl.DataFrame({"example": keys // width, "answer": keys % width, "weight": weights, "first": first})
    ranked = votes.sort("example", "weight", "first", descending=[False, True, False])
    return ranked.group_by("example", maintain_order=True).first()


def score_answers(judged: Dataset, vocabulary: ItemVocabulary, answers: Int32s, how: str) -> pl.Series:
    """Score an answer, given by its number, to each judged example."""
    texts = vocabulary.answers.gather(answers).cast(pl.String)
    given = judged.examples.with_columns(texts.alias("given"), texts.reshape((-1, 1)).arr.to_list().alias("ranking"))
    return score(given, how)


def sweep(judged: Dataset, encoded: EncodedParts, settings: RulesSettings, how: str, engine: Engine) -> pl.DataFrame:
    """Score the classifier under every pair of thresholds, from the lowest ones on."""
    lowest = least_support(settings.min_support, encoded.learn.n)
    confidences = [round(settings.min_confidence + step, 6) for step in CONFIDENCES]
    lines = []
    mined = mine_rules(encoded.learn, settings, engine)
    for support in (lowest * times for times in SUPPORTS):
        if settings.superset == "two-sided":
            mined = mine_rules(encoded.learn, replace(settings, min_support=support), engine)
        for confidence in (each for each in confidences if each <= 1):
            frequent = (mined.joints >= support) & (mined.confidences >= confidence)
            rules = take(mined, np.flatnonzero(frequent))
            kept = kept_rules(encoded.match_learned(rules, settings.threads, engine))
            estimates = _measure(rules, kept, judged, encoded, how)
            lines.append((support, confidence, rules.n, len(kept), *estimates))
    return pl.DataFrame(lines, schema=_SURFACE, orient="row").fill_nan(None)


def best_thresholds(settings: RulesSettings, surface: pl.DataFrame) -> RulesSettings:
    """Choose the thresholds of the highest vote; ties go to the lowest."""
    order = surface.sort("vote", "min_support", "min_confidence", descending=[True, False, False], nulls_last=True)
    best = order.row(0, named=True)
    return replace(settings, min_support=best["min_support"], min_confidence=best["min_confidence"])


def _measure(
    rules: Rules, kept: Ints, judged: Dataset, encoded: EncodedParts, how: str
) -> tuple[float, float, float, float, int]:
    """Estimate the accuracy of the vote with its interval, that of the best rule, and the number of examples."""
    answers = classify(rules, kept, encoded.index_judged(rules.items[kept]))
    vote, best = (score_answers(judged, encoded.vocabulary, each, how) for each in answers.values())
    scored = vote.is_not_null()
    estimate = mean(vote.filter(scored), judged.examples["cluster"].filter(scored))
    return (
        estimate.value,
        estimate.low,
        estimate.high,
        mean(best.drop_nulls()).value,
        estimate.n,
    )  # NaN where nothing is scored
