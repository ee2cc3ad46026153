"""SSL (Zhu et al. 2020) and RandImg (Teney et al. 2020): an answer should be unlikely for a different picture.

SSL: L = base + alpha mean softmax(s(q, v_perm))_y, with the pictures of the batch permuted. Its authors train plainly
for 12 epochs first.

RandImg: L = base + lambda mean sum_{k: a_k > 0} softplus(s_k(q, v_perm)), the simplest form that matches its
description; not checked against its authors' code. Later papers report lambda 5 and 12 for VQA-CP; 1 gives both
pictures the same weight.

Both use the intervention of the perceptual score, so that score rises by construction.
"""

from typing import ClassVar

from torch import Tensor, nn

from eyechart.zoo.batch import Batch, swap_pictures
from eyechart.zoo.debias import Decorator
from eyechart.zoo.losses import chance_of_answer
from eyechart.zoo.network import Network


class SSL(Decorator):
    """Lower the probability of the right answer, with alpha 3, the authors' value together with bce."""

    trained_on_the_metric = ("perception",)
    alpha: ClassVar[float] = 3.0

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Compute L."""
        loss: Tensor = self.base(model, batch)
        elsewhere = model(swap_pictures(batch)).logits
        return loss + self.alpha * chance_of_answer(elsewhere, batch.need("a")).mean()


class RandImg(Decorator):
    """Push down the logits of all answers with a score, with lambda 1."""

    trained_on_the_metric = ("perception",)
    weight: ClassVar[float] = 1.0

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Compute L."""
        loss: Tensor = self.base(model, batch)
        elsewhere = model(swap_pictures(batch)).logits  # [B, A]
        pushed = nn.functional.softplus(elsewhere) * (batch.need("a") > 0)
        return loss + self.weight * pushed.sum(1).mean()
