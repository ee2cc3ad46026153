"""SAN (Yang et al. 2016): stacked attention, two hops.

v_n = tanh(W x_n);  u_0 = q;  att = softmax_n w . tanh(W_v v_n + W_u u);  u <- u + sum_n att_n v_n;  s = W u
"""

from typing import ClassVar

from torch import Tensor, nn

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.layers import QuestionReader, hide, masked_softmax, weigh
from eyechart.zoo.network import Network, NetworkSizes, TrainingRecipe


class Hop(nn.Module):
    """Update the query with the regions it attends to."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        narrow = max(hidden // 2, 1)
        self.of_region, self.of_query = nn.Linear(hidden, narrow, bias=False), nn.Linear(hidden, narrow)
        self.dropout, self.rate = nn.Dropout(0.5), nn.Linear(narrow, 1)

    def forward(self, v: Tensor, u: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        """Return the updated query, [B, H], and the attention, [B, N]."""
        joint = (self.of_region(v) + self.of_query(u).unsqueeze(1)).tanh()  # [B, N, H/2]
        att = masked_softmax(self.rate(self.dropout(joint)).squeeze(-1), seen)
        return u + weigh(att, v), att


class SAN(Network):
    """Attend twice, the second time with the result of the first."""

    recipe: ClassVar[TrainingRecipe] = TrainingRecipe("adam", 1e-3, 256, 20, 1024)

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__(sizes)
        self.q_size = self.h_size = sizes.hidden
        self.reader = QuestionReader(sizes.embedding, sizes.hidden, nn.LSTM)
        self.see = nn.Sequential(nn.Linear(sizes.features, sizes.hidden), nn.Tanh())
        self.hops = nn.ModuleList(Hop(sizes.hidden) for _ in range(2))
        self.head = nn.Sequential(nn.Dropout(0.5), nn.Linear(sizes.hidden, sizes.answers))

    def forward(self, batch: Batch) -> Out:
        """Hop twice, then answer, and return the attention of the last hop."""
        seen = batch.visible()  # [B, N]
        v = self.see(hide(batch.v, seen))  # [B, N, H]
        q = self.reader(self.words(batch), batch).last  # [B, H]
        u, att = q, None
        for hop in self.hops:
            u, att = hop(v, u, seen)
        return Out(self.head(u), att, q, u)
