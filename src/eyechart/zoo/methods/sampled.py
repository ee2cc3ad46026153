"""One answer drawn from the people's answers each time an example is seen: how RUBi, LPF, CF-VQA and S-MRL are trained.

L = base with y drawn by the scores a. Their losses are cross-entropies against one answer, the highest unless drawn.
"""

from torch import Tensor

from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Decorator
from eyechart.zoo.editing import sample_answers
from eyechart.zoo.network import Network


class Sampled(Decorator):
    """Draw answers, as in `rubi+sampled`."""

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Give the base loss for the answers drawn."""
        loss: Tensor = self.base(model, sample_answers(batch))
        return loss
