"""SCR, self-critical reasoning (Wu and Mooney 2019): a wrong answer should not lean on the region of the right one.

n* = of the 5 regions of highest hint, the one with the least ordering violation (as in HINT);
L = base + w violation(n*) + w_c mean_t relu(p_t - p_y) (g_n*(t) - g_n*(y)), t the 4 highest answers.

The paper's form: released code confuses the rank of n* among the five with its place among the regions. The last term
has no lower bound; its authors stay safe by a rate of 1e-5 and few epochs after two other stages.
"""

from typing import ClassVar

import torch
from torch import Tensor

from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Decorator
from eyechart.zoo.losses import gradient, region_saliency
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
        """Give L."""
        loss: Tensor = self.base(model, batch)
        out, v, g = region_saliency(model, batch)
        wrong = violations(g, batch.need("hints"), batch.visible()).sum(2)  # [B, N]
        chosen = self._choose(wrong.detach(), batch)  # [B, 1]
        compared = self._compare(out.logits, v, g.gather(1, chosen), chosen, batch.need("a"))
        return loss + self.weight * wrong.gather(1, chosen).mean() + self.compare_weight * compared

    @staticmethod
    def _choose(wrong: Tensor, batch: Batch) -> Tensor:
        """Find n* among the proposals in sight, as a place among the regions, [B, 1]."""
        seen = batch.visible()
        proposals = batch.need("hints").masked_fill(~seen, -1).topk(min(PROPOSALS, wrong.shape[1]), 1).indices
        least = wrong.masked_fill(~seen, torch.inf).gather(1, proposals).argmin(1, keepdim=True)
        return proposals.gather(1, least)

    @staticmethod
    def _compare(logits: Tensor, v: Tensor, of_right: Tensor, chosen: Tensor, a: Tensor) -> Tensor:
        """Compare the right answer's gradient at n* with that of each rival."""
        rivals = logits.topk(min(RIVALS, a.shape[1]), 1).indices  # [B, 4]
        p_right = logits.gather(1, a.argmax(1, keepdim=True)).sigmoid()  # [B, 1]
        terms = []
        for rival in rivals.T.unsqueeze(2):  # [B, 1] each
            score = logits.gather(1, rival)  # [B, 1]
            of_rival = gradient(score.sum(), v, keep=True).sum(-1).gather(1, chosen)
            terms.append((score.sigmoid() - p_right).relu() * (of_rival - of_right))
        return torch.cat(terms, 1).mean()
