"""A classifier on the question alone, beside the network: what RUBi, LPF and CF-VQA hold the bias in."""

from torch import Tensor, nn

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.layers import Reader, perceptron
from eyechart.zoo.network import Network


class QuestionBranch(nn.Module):
    """Classify sg[q], or, where a network has no vector of the question alone, what a reader of its own makes of it."""

    def __init__(self, model: Network) -> None:
        super().__init__()
        sizes = model.sizes
        if model.q_size is None:
            self.embedding = nn.Embedding(sizes.words, sizes.embedding, padding_idx=0)
            self.reader = Reader(sizes.embedding, sizes.hidden)
        self.classify = perceptron(model.q_size or sizes.hidden, sizes.hidden, sizes.answers)

    def forward(self, out: Out, batch: Batch) -> Tensor:
        """Score the answers by the question, [B, A]."""
        q = self.reader(self.embedding(batch.q), batch).last if out.q is None else out.q.detach()
        logits: Tensor = self.classify(q)
        return logits
