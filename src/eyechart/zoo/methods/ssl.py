"""SSL (Zhu et al. 2020): the right answer should become unlikely when the picture is another one.

L = base + alpha mean softmax(s(q, v_perm))_y, with the pictures of the batch permuted. Its authors train plainly for 12
epochs first. This is the perceptual score's own intervention, so that score rises by construction.
"""

from typing import ClassVar

from torch import Tensor

from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Decorator
from eyechart.zoo.editing import swap_pictures
from eyechart.zoo.losses import chance_of_answer
from eyechart.zoo.network import Network


class SSL(Decorator):
    """Add the term with alpha 3, the authors' value beside bce."""

    trained_on_the_metric = ("perception",)
    alpha: ClassVar[float] = 3.0

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Give L."""
        loss: Tensor = self.base(model, batch)
        elsewhere = model(swap_pictures(batch)).logits
        return loss + self.alpha * chance_of_answer(elsewhere, batch.need("a")).mean()
