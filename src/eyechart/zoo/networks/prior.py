"""The prior: the mean score of each answer among the training questions of a type; it learns by counting."""

from typing import ClassVar

import torch
from torch import Tensor, nn

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.network import Network, NetworkSizes, TrainingRecipe

SMALLEST = 1e-6  # replaces a mean of 0, which has no logarithm


class Prior(Network):
    """Answer by the log of the mean target of the question type, counting each training batch after answering it.

    A type that did not occur in training has the mean over all.
    """

    recipe: ClassVar[TrainingRecipe] = TrainingRecipe(epochs=1)
    needs: ClassVar[tuple[str, ...]] = ("qtype",)
    totals: Tensor
    counts: Tensor

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__(sizes)
        self.q_size = self.h_size = sizes.types
        self.register_buffer("totals", torch.zeros(sizes.types, sizes.answers))
        self.register_buffer("counts", torch.zeros(sizes.types, 1))
        self.still = nn.Parameter(torch.zeros(()))  # has no effect, but optimizers need a parameter

    def kinds(self, batch: Batch) -> Tensor:
        """Return the table row of each example, [B]."""
        return batch.need("qtype")

    def forward(self, batch: Batch) -> Out:
        """Look up the means of the question types."""
        kinds = self.kinds(batch)
        logits = self._mean().clamp(min=SMALLEST).log()[kinds] + 0 * self.still
        if self.training and batch.a is not None:
            self._count(kinds, batch.a)
        known = nn.functional.one_hot(kinds, self.sizes.types).to(logits.dtype)
        return Out(logits, q=known, h=known)

    @torch.no_grad()
    def chances(self, batch: Batch) -> Tensor:
        """Return the mean target itself, [B, A]."""
        return self._mean()[self.kinds(batch)]

    def _mean(self) -> Tensor:
        """Return the mean target of every type, [types, A]."""
        over_all = self.totals.sum(0) / self.counts.sum().clamp(min=1)
        return torch.where(self.counts > 0, self.totals / self.counts.clamp(min=1), over_all)

    @torch.no_grad()
    def _count(self, kinds: Tensor, a: Tensor) -> None:
        self.totals.index_add_(0, kinds, a.to(self.totals.dtype))
        self.counts.index_add_(0, kinds, torch.ones_like(a[:, :1], dtype=self.counts.dtype))


class Majority(Prior):
    """Answer by the log of the mean target over all questions."""

    needs: ClassVar[tuple[str, ...]] = ()

    def kinds(self, batch: Batch) -> Tensor:
        """Put every question in the first row."""
        return torch.zeros_like(batch.q[:, 0])
