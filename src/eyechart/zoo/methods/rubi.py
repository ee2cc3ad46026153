"""RUBi (Cadene et al. 2019): mask the logits by what the question alone suggests, while training.

z = c1(sg[q]);  L = ce(s sigma(z)) + ce(c2 z). Without c2 the branch would be a classifier and not a mask.
"""

from torch import Tensor, nn

from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Debias
from eyechart.zoo.losses import ce
from eyechart.zoo.methods.branch import QuestionBranch
from eyechart.zoo.network import Network


class RUBi(Debias):
    """Test s alone; made for ce, not for bce."""

    def __init__(self, model: Network) -> None:
        super().__init__(model)
        self.mask = QuestionBranch(model)
        self.classify = nn.Linear(self.answers, self.answers)

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Give L."""
        out, a = model(batch), batch.need("a")
        z = self.mask(out, batch)  # [B, A]
        return ce(out.logits * z.sigmoid(), a) + ce(self.classify(z), a)
