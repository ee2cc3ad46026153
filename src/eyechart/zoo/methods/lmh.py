"""LMH (Clark et al. 2019) and its family: train the network together with a bias model, and test it alone.

d_k = g (log(b_k + kappa) - log(1 - b_k + kappa));  L = bce(s + d, a) + w mean_{batch, k} H(sigma(d_k))

A product of two Bernoulli experts is a sum of logits, so the original's stacked log-probabilities reduce to this. The
entropy is a mean over answers while bce is a sum, so w depends on the number of answers it was tuned with.

Reweight, the baseline of the same paper: L = sum (1 - b) BCE(s, a) / sum (1 - b).
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Debias
from eyechart.zoo.losses import bce
from eyechart.zoo.network import Network

ENTROPY_WEIGHT = 0.36
THETA = -1.0  # kappa = sigma(theta) at the start


class LMH(Debias):
    """Learn how much to rely on the bias in each example, g = softplus(w . h + c), and keep it from vanishing."""

    needs = ("bias",)
    bias_from = "prior"
    weight: ClassVar[float] = ENTROPY_WEIGHT

    def __init__(self, model: Network) -> None:
        super().__init__(model)
        self.gate = nn.Linear(model.h_size, 1)
        self.theta = nn.Parameter(torch.tensor(THETA))

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Compute L for logits s + d."""
        out = model(batch)
        b, kappa = batch.need("bias"), self.theta.sigmoid()
        d = self.lean(out.h) * ((b + kappa).log() - (1 - b + kappa).log())  # [B, A]
        return bce(out.logits + d, batch.need("a")) + self.weight * binary_entropy(d).mean()

    def lean(self, h: Tensor) -> Tensor:
        """Return g, [B, 1]."""
        return nn.functional.softplus(self.gate(h))


class LM(LMH):
    """Leave the entropy out: w = 0."""

    weight: ClassVar[float] = 0.0


class BiasProduct(LM):
    """Rely on the bias equally in every example: g = 1, w = 0."""

    def lean(self, h: Tensor) -> Tensor:
        """Return 1."""
        return torch.ones_like(h[:, :1])


class LMHL(LMH):
    """Take the bias from a frozen question-only network."""

    bias_from = "question-only"


class LMHV(LMH):
    """Take the bias from a frozen image-only network."""

    bias_from = "image-only"


def binary_entropy(logit: Tensor) -> Tensor:
    """Return H(sigma(x)) in nats: log(1 + e^x) - x sigma(x)."""
    return nn.functional.softplus(logit) - logit * logit.sigmoid()


class Reweight(Debias):
    """Weight each answer of each example by 1 - b, less the more likely it is by the bias."""

    needs = ("bias",)
    bias_from = "prior"

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Compute L."""
        each = nn.functional.binary_cross_entropy_with_logits(model(batch).logits, batch.need("a"), reduction="none")
        weight = 1 - batch.need("bias")
        return (weight * each).sum() / weight.sum()
