"""HINT (Selvaraju et al. 2019) and its controls, ESR (Shrestha et al. 2020) among them: gradients at important regions.

HINT: L = base + lambda mean_{batch, j} sum_i [h_i > h_j] relu(g_j - g_i). Published code also counts ties (h_i = h_j),
which for hints of 0 and 1 forces all gradients of a kind to be equal; here ties are left out. It fine-tunes a trained
network, at 2e-5.

Shrestha et al. 2020 find that random and inverse hints do as well (`HINTRandom`, `HINTInverse`), and so does ESR, which
pulls all scores towards 0 without any grounding: L = bce(s, a) + 2 bce(s, 0), on a trained network at a rate of 2e-6;
its effect depends on when it stops.
"""

from typing import ClassVar

import torch
from torch import Tensor

from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Debias, Decorator
from eyechart.zoo.losses import ask_of_regions, bce, region_saliency
from eyechart.zoo.network import Network


class HINT(Decorator):
    """Add the ordering term with lambda 2."""

    needs = ("hints",)
    rate = 2e-5
    twice = True
    weight: ClassVar[float] = 2.0

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Compute L."""
        model, batch = ask_of_regions(model, batch)
        loss: Tensor = self.base(model, batch)
        wrong = violations(region_saliency(model, batch), self.importance(batch), batch.visible())
        return loss + self.weight * wrong.sum(1).mean()

    def importance(self, batch: Batch) -> Tensor:
        """Return h, [B, N]."""
        return batch.need("hints")


class HINTRandom(HINT):
    """Draw importance at random for each batch: a control."""

    def importance(self, batch: Batch) -> Tensor:
        """Return h, [B, N]."""
        return torch.rand_like(batch.need("hints"))


class HINTInverse(HINT):
    """Invert the importance of regions: a control."""

    def importance(self, batch: Batch) -> Tensor:
        """Return h, [B, N]."""
        return 1 - batch.need("hints")


def violations(g: Tensor, h: Tensor, seen: Tensor) -> Tensor:
    """Compute how far the gradient of region j exceeds that of a more important region i, [B, i, j]."""
    both = seen.unsqueeze(2) & seen.unsqueeze(1)
    ordered = (h.unsqueeze(2) > h.unsqueeze(1)) & both
    return (g.unsqueeze(1) - g.unsqueeze(2)).relu() * ordered


ZERO_WEIGHT = 2.0


class ESR(Debias):
    """Pull all scores towards 0, without any grounding: the control for HINT and SCR."""

    rate = 2e-6

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Compute L."""
        s, a = model(batch).logits, batch.need("a")
        return bce(s, a) + ZERO_WEIGHT * bce(s, torch.zeros_like(a))
