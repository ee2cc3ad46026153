"""RUBi (Cadene et al. 2019): mask the logits with the predictions of the question alone, during training.

z = c1(sg[q]);  L = ce(s sigma(z)) + ce(c2 z). Without c2 the branch would be a classifier and not a mask.

c1 is a `QuestionBranch`, a separate classifier on the question alone, which LPF and CF-VQA also use to model the bias.
"""

from torch import Tensor, nn

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.debias import Debias
from eyechart.zoo.layers import QuestionReader, perceptron
from eyechart.zoo.losses import ce
from eyechart.zoo.network import Network


class RUBi(Debias):
    """Mask the logits in training only; designed for ce, not for bce."""

    def __init__(self, model: Network) -> None:
        super().__init__(model)
        self.mask = QuestionBranch(model)
        self.classify = nn.Linear(self.answers, self.answers)

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Compute L."""
        out, a = model(batch), batch.need("a")
        z = self.mask(out, batch)  # [B, A]
        return ce(out.logits * z.sigmoid(), a) + ce(self.classify(z), a)


class QuestionBranch(nn.Module):
    """Classify sg[q] or, if the network has no vector of the question alone, the output of a separate reader."""

    def __init__(self, model: Network) -> None:
        super().__init__()
        sizes = model.sizes
        if model.q_size is None:
            self.embedding = nn.Embedding(sizes.words, sizes.embedding, padding_idx=0)
            self.reader = QuestionReader(sizes.embedding, sizes.hidden)
        self.classify = perceptron(model.q_size or sizes.hidden, sizes.hidden, sizes.answers)

    def forward(self, out: Out, batch: Batch) -> Tensor:
        """Score the answers by the question alone, [B, A]."""
        q = self.reader(self.embedding(batch.q), batch).last if out.q is None else out.q.detach()
        logits: Tensor = self.classify(q)
        return logits
