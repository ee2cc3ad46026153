"""LPF (Liang et al. 2021): weight an example less, the more confidently the question alone predicts its answer.

z = c(sg[q]);  p = softmax(z)_y;  L = mean (1 - p)^gamma ce_i(s) + ce(z). As in the authors' code, p is not detached, so
the first term raises the branch's p too.
"""

from typing import ClassVar

from torch import Tensor

from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Debias
from eyechart.zoo.losses import ce, ce_each, chance_of_answer
from eyechart.zoo.methods.rubi import QuestionBranch
from eyechart.zoo.network import Network


class LPF(Debias):
    """Weight by 1 - p, gamma 1: the authors' choice for VQA v2."""

    gamma: ClassVar[float] = 1.0

    def __init__(self, model: Network) -> None:
        super().__init__(model)
        self.branch = QuestionBranch(model)

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Compute L."""
        out, a = model(batch), batch.need("a")
        z = self.branch(out, batch)
        weight = (1 - chance_of_answer(z, a)) ** self.gamma
        return (weight * ce_each(out.logits, a)).mean() + ce(z, a)


class LPF5(LPF):
    """Weight by (1 - p)^5: the authors' choice for VQA-CP."""

    gamma: ClassVar[float] = 5.0
