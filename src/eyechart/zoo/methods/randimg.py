"""RandImg (Teney et al. 2020), in the smallest form that fits its description; not checked against its authors' code.

L = base + lambda mean sum_{k: a_k > 0} softplus(s_k(q, v_perm)): answers with a score are pushed down when the picture
is another one. Later papers report lambda 5 and 12 for VQA-CP; 1 gives both pictures the same weight.
"""

from typing import ClassVar

from torch import Tensor, nn

from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Decorator
from eyechart.zoo.editing import swap_pictures
from eyechart.zoo.network import Network


class RandImg(Decorator):
    """Add the term with lambda 1."""

    trained_on_the_metric = ("perception",)
    weight: ClassVar[float] = 1.0

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Give L."""
        loss: Tensor = self.base(model, batch)
        elsewhere = model(swap_pictures(batch)).logits  # [B, A]
        pushed = nn.functional.softplus(elsewhere) * (batch.need("a") > 0)
        return loss + self.weight * pushed.sum(1).mean()
