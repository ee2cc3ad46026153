"""S-MRL, the simplified MuRel that RUBi (Cadene et al. 2019) builds on: fuse each region with the question, then max.

m_n = W fusion(q, v_n);  h = max over n;  s = MLP(h). The original has no mask; here the max is over visible regions.
RUBi's S-MRL reads the question by two glimpses of self-attention over its words, 4800 numbers; here q is the last state
of a GRU, `hidden` numbers.
"""

from typing import ClassVar

from torch import nn

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.layers import QuestionReader, hide, masked_max, perceptron
from eyechart.zoo.network import Network, NetworkSizes, TrainingRecipe
from eyechart.zoo.networks.block import Fusion


class SMRL(Network):
    """Answer from the largest response of any region in each dimension."""

    recipe: ClassVar[TrainingRecipe] = TrainingRecipe("adam", 6e-4, 256, 22, 1024, 7)

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__(sizes)
        self.q_size, self.h_size = sizes.hidden, 2 * sizes.hidden
        self.reader = QuestionReader(sizes.embedding, sizes.hidden)
        self.fuse = Fusion(sizes.hidden, sizes.features, sizes.hidden)
        self.out = nn.Linear(self.fuse.size, self.h_size)
        self.head = perceptron(self.h_size, sizes.hidden, sizes.answers)

    def forward(self, batch: Batch) -> Out:
        """Fuse every region with the question."""
        seen = batch.visible()  # [B, N]
        q = self.reader(self.words(batch), batch).last  # [B, H]
        m = self.out(self.fuse(q.unsqueeze(1), hide(batch.v, seen)))  # [B, N, 2H]
        h = masked_max(m, seen)  # [B, 2H]
        return Out(self.head(h), q=q, h=h)
