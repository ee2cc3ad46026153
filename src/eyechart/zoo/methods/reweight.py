"""Reweight (Clark et al. 2019): count each answer of each example the less, the likelier the bias holds it."""

from torch import Tensor, nn

from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Debias
from eyechart.zoo.network import Network


class Reweight(Debias):
    """Weigh by 1 - b."""

    needs = ("bias",)
    bias_from = "prior"

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Give L = sum (1 - b) BCE(s, a) / sum (1 - b)."""
        each = nn.functional.binary_cross_entropy_with_logits(model(batch).logits, batch.need("a"), reduction="none")
        weight = 1 - batch.need("bias")
        return (weight * each).sum() / weight.sum()
