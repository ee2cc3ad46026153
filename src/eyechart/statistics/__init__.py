"""Estimate every number with its interval: clustered means, paired tests, ratios, equivalence, many comparisons.

Rows that share an image are not independent, so everything takes a cluster for each row (any text or integers; null
is a separate cluster; without clusters, each row is). Results depend on the data and the seed, not on row order.
"""

from eyechart.statistics.crossed import Draws
from eyechart.statistics.equivalence import Equivalence, equivalence
from eyechart.statistics.many import adjust
from eyechart.statistics.means import Estimate, mean, mean_by, shares
from eyechart.statistics.paired import Difference, beyond_known, paired_difference, sign_flip_p
from eyechart.statistics.paired_sums import no_surer_than_parts
from eyechart.statistics.proportions import Interval, wilson
from eyechart.statistics.ratios import Ratio, ratio
from eyechart.statistics.unpaired import difference

__all__ = [
    "Difference",
    "Draws",
    "Equivalence",
    "Estimate",
    "Interval",
    "Ratio",
    "adjust",
    "beyond_known",
    "difference",
    "equivalence",
    "mean",
    "mean_by",
    "no_surer_than_parts",
    "paired_difference",
    "ratio",
    "shares",
    "sign_flip_p",
    "wilson",
]
