"""The shortcut classifier: what somebody scores who knows nothing but the rules.

Kept are the rules that are, for some train example, the first in order among those that give its answer. An example is
answered by the confidence-weighted vote of the kept rules it meets (the paper), or by the first of them (the authors'
code); one that meets none gets the most frequent train answer ("yes" in VQA v2).
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.rules.mined import queries_of
from eyechart.mining.counting import Index, Pairs, list_pairs
from eyechart.mining.match import Matches
from eyechart.mining.rules import Rules
from eyechart.mining.transactions import Int32s
from eyechart.statistics.rows import Ints


class Answers(NamedTuple):
    """The number of the answer to each example, by both forms of the classifier."""

    vote: Int32s
    best: Int32s


def kept_rules(learned: Matches) -> Ints:
    """Choose the rules that are the best correct one of a train example, in their order."""
    return np.unique(learned.best_correct[learned.best_correct >= 0]).astype(np.int64)


def some(rules: Rules, chosen: Ints) -> Rules:
    """Select rules by their numbers."""
    return Rules(
        rules.items[chosen], rules.lengths[chosen], rules.answers[chosen], rules.joints[chosen], rules.supports[chosen]
    )


def classify(rules: Rules, kept: Ints, index: Index) -> Answers:
    """Answer every example of an index; answer 0 is the most frequent one."""
    n = len(index.answers)
    vote, best = np.zeros(n, np.int32), np.zeros(n, np.int32)
    chosen = some(rules, kept)
    pairs = list_pairs(queries_of(chosen), index)
    examples, first = np.unique(pairs.examples, return_index=True)  # pairs lie by rule, so the first is the best
    best[examples] = chosen.answers[pairs.queries[first]]
    winners = _win(pairs, chosen)
    vote[winners["example"].to_numpy()] = winners["answer"].to_numpy()
    return Answers(vote, best)


def _win(pairs: Pairs, rules: Rules) -> pl.DataFrame:
    """Find the answer with the largest sum of confidences for each example, of equal ones that of the better rule."""
    width = int(rules.answers.max(initial=0)) + 1
    keys, first, inverse = np.unique(
        pairs.examples.astype(np.int64) * width + rules.answers[pairs.queries], return_index=True, return_inverse=True
    )
    # Summed in the order of the rules, so that equal votes are equal to the last bit.
    weights = np.bincount(inverse, weights=rules.confidences[pairs.queries], minlength=len(keys))
    votes = pl.DataFrame({"example": keys // width, "answer": keys % width, "weight": weights, "first": first})
    ranked = votes.sort("example", "weight", "first", descending=[False, True, False])
    return ranked.group_by("example", maintain_order=True).first()
