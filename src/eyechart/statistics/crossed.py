"""Count donors as well as examples: the standard error of a mean whose rows borrow from each other.

A row may be a mean over draws, each with something taken from a donor, as when a question is asked with another
picture. A cluster of examples then takes part twice, with its own rows and with what it gives to others. With

    a_g    the influences of the rows of cluster g, summed              for a mean: x_i - mean
    b_g    the influences of the draws from donors of cluster g, summed share_r (x_r - mean of its kind)
    w_cg   those of the draws that rows of cluster c take from donors of cluster g, summed

    SE^2 = ( C / (C - 1) sum_g (a_g + b_g)^2 - sum_cg w_cg^2 ) / n^2

over C clusters of rows. The cells w_cg are in both a_c and b_g, and so are counted twice in the first sum (Cameron,
Gelbach & Miller 2011, for clusters of two kinds). Where a draw takes several things from different donors, it counts
for each of them. The result is never below the clustered SE of the rows alone, C / (C - 1) sum_g a_g^2 / n^2.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.statistics.rows import Bools, Floats, Ints


class Draws(NamedTuple):
    """What the rows took from donors, with the clusters of both under the same numbers."""

    clusters: Ints  # of each row
    row: Ints  # of each draw, as all of the following
    donor: Ints  # the cluster of the donor
    value: Floats
    share: Floats  # the weight of the draw in its row
    kind: Ints  # draws of one kind have the same expected value

    def influences(self) -> Floats:
        """Weigh each draw's deviation from the mean of its kind."""
        mean = _sums(self.kind, self.share * self.value) / _sums(self.kind, self.share)
        return self.share * (self.value - mean[np.unique(self.kind, return_inverse=True)[1]])

    def minus(self, other: "Draws") -> "Draws":
        """Return the draws of the row-wise difference to another score of the same rows."""
        kind = np.concatenate([self.kind, other.kind + int(self.kind.max(initial=0)) + 1])
        value = np.concatenate([self.value, -other.value])
        row, donor, share = (
            np.concatenate([getattr(each, name) for each in (self, other)]) for name in ("row", "donor", "share")
        )
        return Draws(self.clusters, row, donor, value, share, kind)


def gather_draws(clusters: pl.Series, lists: pl.Series) -> Draws:
    """Collect the draws of rows from a list for each of donor, value, share and kind; clusters are whole numbers."""
    numbered = pl.DataFrame({"row": np.arange(len(lists)), "term": lists})
    flat = numbered.explode("term", empty_as_null=False, keep_nulls=False).unnest("term")
    row, donor, kind = (flat[name].to_numpy() for name in ("row", "donor", "kind"))
    return Draws(clusters.to_numpy(), row, donor, flat["value"].to_numpy(), flat["share"].to_numpy(), kind)


def crossed_se(influences: Floats, draws: Draws) -> float:
    """Compute the standard error of the mean of rows by their influences and those of their draws; NaN for one cluster.

    The influences of the rows include those of their draws.
    """
    given, count = draws.influences(), np.unique(draws.clusters).size
    if count < 2:
        return float("nan")
    own = _sums(draws.clusters, influences)
    both = _sums(np.concatenate([draws.clusters, draws.donor]), np.concatenate([influences, given]))
    taker = draws.clusters[draws.row]
    cells = _sums(taker * (int(draws.donor.max(initial=0)) + 1) + draws.donor, given)
    few = count / (count - 1)
    crossed = few * float(np.sum(both**2)) - float(np.sum(cells**2))
    return float(np.sqrt(max(few * float(np.sum(own**2)), crossed))) / influences.size


def surely_above(se: float, least: float) -> bool:
    """Return whether a standard error is above another by more than rounding."""
    return se > least * (1 + 1e-9) + 1e-12


def _sums(keys: Ints, values: Floats) -> Floats:
    """Sum the values of each key, in the order of the keys and independent of that of the values."""
    order = np.lexsort((values, keys))
    sorted_keys = keys[order]
    first: Bools = np.concatenate([np.ones(min(1, keys.size), np.bool_), sorted_keys[1:] != sorted_keys[:-1]])
    return np.add.reduceat(values[order], np.flatnonzero(first)) if keys.size else np.empty(0)
