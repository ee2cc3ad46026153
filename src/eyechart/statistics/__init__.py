"""Every number with its interval: clustered means, paired tests, ratios, equivalence, many comparisons, power.

Rows that share an image are not independent, so everything takes a cluster for each row (any text or integers; null
is a cluster of its own; none given, each row is). Results depend on the data and the seed, not on the order of rows.
"""

from eyechart.statistics.equivalence import Equivalence, equivalence
from eyechart.statistics.known import beyond_known
from eyechart.statistics.many import adjust
from eyechart.statistics.means import Estimate, mean, mean_by
from eyechart.statistics.paired import Difference, mcnemar_exact, paired_difference, sign_flip_p
from eyechart.statistics.paired_sums import no_surer_than_parts
from eyechart.statistics.power import (
    design_effect,
    intracluster_correlation,
    minimum_detectable_effect,
    required_n,
)
from eyechart.statistics.proportions import Bounds, clopper_pearson, wilson
from eyechart.statistics.ratios import Ratio, ratio
from eyechart.statistics.shares import shares
from eyechart.statistics.unpaired import difference

__all__ = [
    "Bounds",
    "Difference",
    "Equivalence",
    "Estimate",
    "Ratio",
    "adjust",
    "beyond_known",
    "clopper_pearson",
    "design_effect",
    "difference",
    "equivalence",
    "intracluster_correlation",
    "mcnemar_exact",
    "mean",
    "mean_by",
    "minimum_detectable_effect",
    "no_surer_than_parts",
    "paired_difference",
    "ratio",
    "required_n",
    "shares",
    "sign_flip_p",
    "wilson",
]
