"""Compute how often each of several models leads when the clusters are resampled: how reliable ranks are.

Whole clusters are drawn with replacement, jointly for all models. A model leads if its mean is the highest; models
that tie share the lead. Samples depend only on the number of clusters, so that all contests with the same number
are drawn at once.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from eyechart.statistics.rows import Floats, Ints

SAMPLES = 1000
AT_ONCE = 500_000  # clusters drawn together
LEVEL = 1e-12  # means this close differ only by rounding


class ClusteredScores(NamedTuple):
    """Scores of models on the same examples by cluster: a column of sums for each model, and the numbers of rows."""

    totals: Floats
    sizes: Ints

    @property
    def means(self) -> Floats:
        """Average the scores of each model."""
        return np.asarray(self.totals.sum(axis=0) / self.sizes.sum())


def leads(contests: Sequence[ClusteredScores]) -> list[Floats]:
    """Compute the share of samples in which each model of a contest leads; each contest needs at least one cluster."""
    led = [np.zeros(contest.totals.shape[1]) for contest in contests]
    for clusters in sorted({contest.sizes.size for contest in contests}):
        alike = [index for index, contest in enumerate(contests) if contest.sizes.size == clusters]
        columns = [np.column_stack([contests[index].sizes, contests[index].totals]).T for index in alike]
        ends = np.cumsum([len(own) for own in columns])[:-1]
        for drawn in _draws(clusters):
            # Not with BLAS, which would wake a thread on every core for so little work.
            sums = np.einsum("ij,kj->ik", drawn, np.concatenate(columns))
            for index, own in zip(alike, np.split(sums, ends, axis=1), strict=True):
                led[index] += _lead(own[:, 1:] / own[:, :1])
    return [counts / SAMPLES for counts in led]


def _draws(clusters: int) -> Iterator[Floats]:
    """Count how often each cluster is drawn, a few samples at a time."""
    rng, most = np.random.default_rng(0), max(1, AT_ONCE // clusters)
    for start in range(0, SAMPLES, most):
        samples = min(most, SAMPLES - start)
        drawn = rng.integers(0, clusters, (samples, clusters)) + clusters * np.arange(samples)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=samples * clusters)
        yield counts.reshape(samples, clusters).astype(np.float64)


def _lead(means: Floats) -> Floats:
    """Count the samples in which each model leads, splitting a shared lead equally."""
    ahead = means >= means.max(axis=1, keepdims=True) - LEVEL
    return np.asarray((ahead / ahead.sum(axis=1, keepdims=True)).sum(axis=0))
