"""SCR, self-critical reasoning (Wu and Mooney 2019): a wrong answer should not rely on the region of the right one.

n* = of the 5 regions with the highest hints above 0, the one with the smallest ordering violation (as in HINT);
L = base + w violation(n*) + w_c mean_t relu(p_t - p_y) (g_n*(t) - g_n*), t the 4 highest answers. Examples without such
a region, or without a right answer, have 0 in both terms.

g_n*(t) is the gradient of the logit of t alone, g_n* that of the sum of all logits with a score, as computed by
`region_saliency`. The paper has g_n*(y) there; released code uses the sum. n* is the paper's: released code confuses
its rank among the five with its index among the regions. That code also weights each rival by its textual dissimilarity
to the right answer, takes the mean over rivals that are ahead, binarises hints, and skips regions without any
violation if another has some; none of that is done here. The last term has no lower bound; its authors avoid problems
by a rate of 1e-5 and few epochs after two other stages.
"""

from typing import ClassVar

import torch
from torch import Tensor

from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Decorator
from eyechart.zoo.losses import ask_of_regions, gradient, has_answer, region_saliency
from eyechart.zoo.methods.hint import violations
from eyechart.zoo.network import Network

PROPOSALS, RIVALS = 5, 4


class SCR(Decorator):
    """Add both terms; p is the sigmoid of a logit."""

    needs = ("hints",)
    rate = 1e-5
    twice = True
    weight: ClassVar[float] = 3.0
    compare_weight: ClassVar[float] = 1000.0

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Compute L."""
        model, batch = ask_of_regions(model, batch)
        loss: Tensor = self.base(model, batch)
        g = region_saliency(model, batch)
        wrong = violations(g, batch.need("hints"), batch.visible()).sum(2)  # [B, N]
        chosen, known = self._choose(wrong.detach(), batch)  # [B, 1]
        compared = self._compare(model, batch, g.gather(1, chosen), chosen)  # [B, 1]
        terms = self.weight * wrong.gather(1, chosen) + self.compare_weight * compared
        return loss + (terms * known).mean()

    @staticmethod
    def _choose(wrong: Tensor, batch: Batch) -> tuple[Tensor, Tensor]:
        """Find the index of n* among the regions, and whether there is one, both [B, 1]."""
        h = batch.need("hints")
        marked = batch.visible() & (h > 0)
        proposals = h.masked_fill(~marked, -1).topk(min(PROPOSALS, h.shape[1]), 1).indices
        least = wrong.masked_fill(~marked, torch.inf).gather(1, proposals).argmin(1, keepdim=True)
        return proposals.gather(1, least), marked.any(1, keepdim=True) & has_answer(batch.need("a")).unsqueeze(1)

    @staticmethod
    def _compare(model: Network, batch: Batch, of_right: Tensor, chosen: Tensor) -> Tensor:
        """Compare the right answer's gradient at n* with those of its rivals, weighted by their lead."""
        logits: Tensor = model(batch).logits
        a = batch.need("a")
        rivals = logits.topk(min(RIVALS, a.shape[1]), 1)  # [B, 4]
        ahead = (rivals.values.sigmoid() - logits.gather(1, a.argmax(1, keepdim=True)).sigmoid()).relu()
        weight = torch.zeros_like(logits).scatter(1, rivals.indices, ahead)  # [B, A]
        # Gradients are linear, so one is enough for all rivals: sum_t ahead_t g_n*(t) = g_n* of sum_t ahead_t s_t.
        of_rivals = gradient(logits, batch.v, keep=True, weight=weight).sum(-1).gather(1, chosen)
        compared: Tensor = (of_rivals - ahead.sum(1, keepdim=True) * of_right) / ahead.shape[1]
        return compared
