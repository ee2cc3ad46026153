"""HINT (Selvaraju et al. 2019): regions that people find important should have the higher gradient.

L = base + lambda mean_{batch, j} sum_i [h_i > h_j] relu(g_j - g_i). Published code also counts ties (h_i = h_j), which
with hints of 0 and 1 forces all gradients of a kind to be equal; here ties are left out. Shrestha et al. 2020 find that
random and inverse hints do as well: `HINTRandom`, `HINTInverse`. A trained network is tuned on, at 2e-5.
"""

from typing import ClassVar

import torch
from torch import Tensor

from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Decorator
from eyechart.zoo.losses import ask_of_regions, region_saliency
from eyechart.zoo.network import Network


class HINT(Decorator):
    """Add the ordering term with lambda 2."""

    needs = ("hints",)
    rate = 2e-5
    twice = True
    weight: ClassVar[float] = 2.0

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Give L."""
        model, batch = ask_of_regions(model, batch)
        loss: Tensor = self.base(model, batch)
        wrong = violations(region_saliency(model, batch), self.importance(batch), batch.visible())
        return loss + self.weight * wrong.sum(1).mean()

    def importance(self, batch: Batch) -> Tensor:
        """Give h, [B, N]."""
        return batch.need("hints")


class HINTRandom(HINT):
    """Take importance by lot, new in each batch: a control."""

    def importance(self, batch: Batch) -> Tensor:
        """Give h, [B, N]."""
        return torch.rand_like(batch.need("hints"))


class HINTInverse(HINT):
    """Take what people find important for unimportant: a control."""

    def importance(self, batch: Batch) -> Tensor:
        """Give h, [B, N]."""
        return 1 - batch.need("hints")


def violations(g: Tensor, h: Tensor, seen: Tensor) -> Tensor:
    """Say by how much the gradient of region j exceeds that of the more important i, [B, i, j]."""
    both = seen.unsqueeze(2) & seen.unsqueeze(1)
    ordered = (h.unsqueeze(2) > h.unsqueeze(1)) & both
    return (g.unsqueeze(1) - g.unsqueeze(2)).relu() * ordered
