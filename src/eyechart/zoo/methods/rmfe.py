"""RMFE (Gat et al. 2020): preserve the information from each modality, by the functional Fisher information.

v~, w~ = v, w with Gaussian noise of their spread over the batch, three draws;  f = mean BCE(s(v~, w~), softmax s(v, w))
I_m = mean ||df/dm||^2 / f, the norm over regions or words;  L = base + lambda ||(1 / I_v, 1 / I_w)||

1/I starts near 1e12, so the published lambda 1e-10 is all or nothing; `RMFELog`, our variant, minimises the logarithm
of the norm instead. A modality that a network does not use at all has I = 0, clamped to a floor without gradient.
"""

from dataclasses import fields
from typing import ClassVar

import torch
from torch import Tensor, nn

from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Decorator
from eyechart.zoo.losses import gradients
from eyechart.zoo.network import CachedNetwork, Network

DRAWS = 3
FLOOR = 1e-18  # the square of its inverse is still finite


class RMFE(Decorator):
    """Add the term with lambda 1e-10."""

    twice = True
    weight: ClassVar[float] = 1e-10

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Compute L."""
        model = CachedNetwork(model, batch)
        loss: Tensor = self.base(model, batch)
        return loss + self.weight * self.scale(self._norm(model, batch))

    def scale(self, norm: Tensor) -> Tensor:
        """Return the quantity to minimise."""
        return norm

    def _norm(self, model: Network, batch: Batch) -> Tensor:
        """Return ||(1 / I_v, 1 / I_w)||."""
        target = model(batch).logits.softmax(1).repeat(DRAWS, 1)
        many = repeat(batch.to(a=None), DRAWS)
        v, w = noisy(many.v), noisy(model.words(many))
        with torch.backends.cudnn.flags(enabled=False):  # cuDNN's recurrent layers have no second derivative
            logits = model(many.to(v=v, w=w)).logits
        f = nn.functional.binary_cross_entropy_with_logits(logits, target)
        information = [(slope**2).sum(1).mean() / f for slope in gradients(f, (v, w), keep=True)]
        norm: Tensor = torch.linalg.vector_norm(1 / torch.stack(information).clamp(min=FLOOR))
        return norm


class RMFELog(RMFE):
    """Add 0.01 times the logarithm of the norm."""

    weight: ClassVar[float] = 0.01

    def scale(self, norm: Tensor) -> Tensor:
        """Return the logarithm."""
        return norm.log()


def noisy(x: Tensor) -> Tensor:
    """Add noise with the spread of each number over the batch, and make the result require gradients."""
    spread = x.detach().std(0, correction=0)  # its own slope is infinite at 0, where all are padding
    changed = x + torch.randn_like(x) * spread
    return changed if changed.requires_grad else changed.requires_grad_()


def repeat(batch: Batch, times: int) -> Batch:
    """Concatenate copies of a batch."""
    held = {field.name: getattr(batch, field.name) for field in fields(batch)}
    return batch.to(**{name: torch.cat([value] * times) for name, value in held.items() if value is not None})
