"""Test whether rules hold on data they were not mined on, beyond what their answer and their parts explain.

On the held-out images of a rule X -> a (n of them, k with the answer), two one-sided tests:

    base     P(Bin(n, b) >= k), with b the share of a among all held-out examples
    part     for every X less one item: Fisher's exact test of (k, n) against the examples that have those items and
             lack the one left out; of a single item that is all examples without it

p is the largest of them, so that a rule must beat all; q is Benjamini-Hochberg over all mined rules.

confirmed      q is at most the level, on at least ten images
untestable     there are too few images to tell: a rule as confident as on train would pass the first test at the level
               less than half of the time; or p passes the level, but q does not or there are fewer than ten images
adds nothing   it passes the first test, but is no better than a shorter rule: one of its parts
refuted        it is no better than the share of its answer
"""

import numpy as np
import polars as pl
import scipy

from eyechart.audits.rules.settings import ADDS_NOTHING, CONFIRMED, REFUTED, UNTESTABLE
from eyechart.data.protocols import Engine
from eyechart.mining.counting import NONE, Counter, Counts, Index, Queries, make_counter
from eyechart.mining.transactions import Int32s
from eyechart.statistics import adjust, wilson
from eyechart.statistics.rows import Bools, Floats, Ints

LEVEL = 0.05
FEWEST = 10  # held-out images of a confirmed rule
POWER = 0.5  # the least for a rule to be called testable
SMALL = 1e-12  # a term that no longer moves its sum


def confirm(
    queries: Queries, confidences: Floats, index: Index, threads: int = 1, engine: Engine | None = None
) -> pl.DataFrame:
    """Test rules on the examples of an index, and return one row for each rule, in order."""
    count = make_counter(index, threads, engine)
    counts = count(queries)
    base = base_rates(queries.answers, index)
    p = binomial_tail(counts.hits, counts.images, base)
    beats_base = p <= LEVEL
    passed = np.flatnonzero(beats_base)
    p[passed] = np.maximum(p[passed], worst_part(queries, passed, counts, count))
    return tested_table(counts, p, beats_base, power(counts.images, base, confidences))


def base_rates(answers: Int32s, index: Index) -> Floats:
    """Look up how frequent each answer is among the held-out examples."""
    numbered = index.answers[index.answers >= 0]
    shares = np.bincount(numbered, minlength=int(answers.max(initial=-1)) + 1) / max(len(index.answers), 1)
    return np.asarray(shares[answers], dtype=np.float64)


def binomial_tail(hits: Ints, n: Ints, base: Floats) -> Floats:
    """Compute P(Bin(n, base) >= hits) as a regularised incomplete beta function."""
    k = np.maximum(hits, 1)
    tail = scipy.special.betainc(k, np.maximum(n - k + 1, 1), base)
    return np.where(hits > 0, tail, 1.0)


def power(n: Ints, base: Floats, confidences: Floats) -> Floats:
    """Compute the chance that a rule of this confidence passes the first test with n images."""
    critical = _critical(n, base)
    return np.where(critical <= n, binomial_tail(np.minimum(critical, n), n, confidences), 0.0)


def _critical(n: Ints, base: Floats) -> Ints:
    """Compute the fewest hits that pass, by bisection: the tail falls as hits rise; n + 1 where none do."""
    low, high = np.zeros_like(n), n + 1  # `low` does not pass, `high` does or cannot be reached
    while np.any(high - low > 1):
        middle = (low + high) // 2
        passes = binomial_tail(middle, n, base) <= LEVEL
        low, high = np.where(passes, low, middle), np.where(passes, middle, high)
    return high


def worst_part(queries: Queries, chosen: Ints, counts: Counts, count: Counter) -> Floats:
    """Compare rules with each of their parts and return the largest p; a rule that has failed is not tested further."""
    worst = np.zeros(len(chosen))
    for column in range(queries.items.shape[1]):
        passing = np.flatnonzero((worst <= LEVEL) & (queries.items[chosen, column] >= 0))
        rules = chosen[passing]
        rest = count(without(queries, rules, column))
        p = fisher_tail(Counts(counts.images[rules], counts.hits[rules]), rest)
        worst[passing] = np.maximum(worst[passing], p)
    return worst


def without(queries: Queries, rules: Ints, column: int) -> Queries:
    """Build queries for the examples that have all items of a rule except one."""
    items = queries.items[rules]
    lacking = items[:, column].copy()
    items[:, column] = NONE
    return Queries(items, lacking, queries.answers[rules])


def fisher_tail(inside: Counts, outside: Counts) -> Floats:
    """Compute the one-sided p of Fisher's exact test that hits are denser inside; 1 where they are not."""
    total, hits = inside.images + outside.images, inside.hits + outside.hits
    denser = np.flatnonzero(inside.hits * total > inside.images * hits)
    p = np.ones(len(total))
    columns = (column[denser].astype(np.float64) for column in (inside.hits, total, hits, inside.images))
    p[denser] = np.minimum(_tail_above_mean(*columns), 1.0)
    return p


def _tail_above_mean(k: Floats, balls: Floats, good: Floats, drawn: Floats) -> Floats:
    """Sum the hypergeometric P(H = k), P(H = k + 1), ...; above the mean each term is smaller than the one before."""
    term = np.exp(_log_choose(good, k) + _log_choose(balls - good, drawn - k) - _log_choose(balls, drawn))
    total = term.copy()
    rows = np.arange(len(k))
    while rows.size:
        term = term * ((good - k) * (drawn - k) / ((k + 1) * (balls - good - drawn + k + 1)))
        total[rows] += term
        alive = term > total[rows] * SMALL
        rows, term, k = rows[alive], term[alive], k[alive] + 1
        balls, good, drawn = balls[alive], good[alive], drawn[alive]
    return total


def _log_choose(n: Floats, k: Floats) -> Floats:
    log_gamma = scipy.special.gammaln
    return np.asarray(log_gamma(n + 1) - log_gamma(k + 1) - log_gamma(n - k + 1))


def tested_table(counts: Counts, p: Floats, beats_base: Bools, powers: Floats) -> pl.DataFrame:
    """Build the table of the rules' held-out figures, in their order."""
    images, hits = counts
    q = adjust(p)
    low, high = wilson(hits, images)
    with np.errstate(invalid="ignore"):
        confidence = hits / images
    columns = {
        "held_out_support": images,
        "held_out_joint": hits,
        "held_out_confidence": confidence,
        "low": np.where(images > 0, low, np.nan),
        "high": np.where(images > 0, high, np.nan),
        "p": p,
        "q": q,
        "power": powers,
        "state": states(np.where(images < FEWEST, 1.0, q), p, beats_base, powers),
    }
    return pl.DataFrame(columns).with_columns(pl.col("held_out_confidence", "low", "high").fill_nan(None))


def states(q: Floats, p: Floats, beats_base: Bools, powers: Floats) -> pl.Series:
    """Name the state of each rule; `beats_base` says which pass the first test."""
    chosen = [q <= LEVEL, (powers < POWER) | (p <= LEVEL), beats_base]
    return pl.Series(np.select(chosen, [CONFIRMED, UNTESTABLE, ADDS_NOTHING], REFUTED), dtype=pl.String)
