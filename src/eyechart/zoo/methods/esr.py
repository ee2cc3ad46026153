"""ESR (Shrestha et al. 2020): pull all scores towards 0; no grounding at all, the control for HINT and SCR.

L = bce(s, a) + 2 bce(s, 0), on a trained network at a rate of 2e-6; what it does depends on when it stops.
"""

import torch
from torch import Tensor

from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Debias
from eyechart.zoo.losses import bce
from eyechart.zoo.network import Network

ZERO_WEIGHT = 2.0


class ESR(Debias):
    """Zero out."""

    rate = 2e-6

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Give L."""
        s, a = model(batch).logits, batch.need("a")
        return bce(s, a) + ZERO_WEIGHT * bce(s, torch.zeros_like(a))
