"""CSS (Chen et al. 2020): train also on examples without their critical word or regions, and without their answer.

Half of the batches hide words, half regions. The critical word is the one with the highest gradient outside the
question's type; the critical regions are, among the 9 with the highest hints, those with the highest gradients up to
0.65 of softmax(10 g), at least one. Answers that the critical part alone would give (the 5 highest) lose their score.

The authors' code computes which regions to keep in the order of gradients and applies it in the order of hints, as does
`as_in_code`. The Perceptual Score paper (4.1.2) finds that changing only the labels, with the original inputs, does as
well: `CSSLabels`. Both losses make one step here, but two in the authors' code.
"""

from collections.abc import Hashable
from typing import ClassVar

import torch
from torch import Tensor

from eyechart.zoo.batch import Batch, drop
from eyechart.zoo.debias import Debias, Decorator
from eyechart.zoo.losses import ask_of_regions, ask_of_words, region_saliency, word_saliency
from eyechart.zoo.network import Network

WORDS_SHARE = 0.5
CANDIDATES, SHARPNESS, MASS = 9, 10.0, 0.65
TAKEN = 5


class CSS(Decorator):
    """Add the base loss of the edited batch."""

    needs = ("hints", "qmask")
    edit_inputs: ClassVar[bool] = True
    as_in_code: ClassVar[bool] = False

    def __init__(self, model: Network, base: Debias | None = None) -> None:
        super().__init__(model, base)
        self.hides_words = True

    def begin_step(self) -> Hashable:
        """Draw whether to hide words or regions."""
        self.hides_words = bool(torch.rand(()) < WORDS_SHARE)
        return self.hides_words, super().begin_step()

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Compute L = base(batch) + base(batch without its critical part and labels)."""
        if self.hides_words:
            model, shown = ask_of_words(model, batch)
            critical, without = hide_words(word_saliency(model, shown), batch)
        else:
            model, shown = ask_of_regions(model, batch)
            g = region_saliency(model, shown, keep=False)
            critical, without = hide_regions(g, batch, as_in_code=self.as_in_code)
        labels = take_answers(model, critical)
        edited = without if self.edit_inputs else shown
        loss: Tensor = self.base(model, shown) + self.base(model, edited.to(a=labels))
        return loss


class CSSLabels(CSS):
    """Change the labels only."""

    edit_inputs: ClassVar[bool] = False


def hide_words(g: Tensor, batch: Batch) -> tuple[Batch, Batch]:
    """Return a batch with only the critical word, which has the highest gradient, and one without it."""
    may_be = batch.need("qmask")  # [B, T]
    highest = g.masked_fill(~may_be, -torch.inf).argmax(1, keepdim=True)
    critical = may_be & (torch.arange(may_be.shape[1], device=g.device) == highest)
    alone, without = batch.q.masked_fill(may_be & ~critical, 0), batch.q.masked_fill(critical, 0)
    return batch.to(q=alone), batch.to(q=without)


def hide_regions(g: Tensor, batch: Batch, *, as_in_code: bool) -> tuple[Batch, Batch]:
    """Return a batch showing only the critical regions, and one without them."""
    critical = critical_regions(g, batch, as_in_code=as_in_code)
    return drop(batch, critical), drop(batch, ~critical)


def critical_regions(g: Tensor, batch: Batch, *, as_in_code: bool) -> Tensor:
    """Choose the critical regions by gradient among those with the highest hints, [B, N] bool."""
    seen = batch.visible()
    best = batch.need("hints").masked_fill(~seen, -1).topk(min(CANDIDATES, g.shape[1]), 1).indices  # [B, C]
    order = g.masked_fill(~seen, torch.finfo(g.dtype).min).gather(1, best).sort(1, descending=True)
    mass = (SHARPNESS * order.values).softmax(1).cumsum(1)
    kept = (mass <= MASS) | (torch.arange(mass.shape[1], device=g.device) == 0)
    indices = best if as_in_code else best.gather(1, order.indices)
    return torch.zeros_like(seen).scatter(1, indices, kept) & seen


@torch.no_grad()
def take_answers(model: Network, critical: Batch) -> Tensor:
    """Return the labels with 0 for the highest answers to the critical part alone, [B, A]."""
    a = critical.need("a")
    highest = model(critical.to(a=None)).logits.topk(min(TAKEN, a.shape[1]), 1).indices
    return a.scatter(1, highest, 0.0)
