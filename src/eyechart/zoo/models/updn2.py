"""UpDn as SCR, SSL and the analysis of grounding by Shrestha et al. use it: two attention maps, added.

Differences from `updn`: two maps, each with one layer more (so att sums to 2 before it is reported as a share);
dropout on question, map and head; hidden 1280; SSL's batch normalisation of the joint vector.

Dropout is not that of SSL's and SCR's released code, which has 0.4 on word vectors, 0.2 after each of three layers of
attention, 0.1 after the two joint layers and 0.5 in the head; here it is 0.4 on the question vector that guides
attention, 0.2 after one layer of attention, none after the joint layers and 0.1 in the head. SSL's batch
normalisation has no weights of its own; here it has a learned scale and offset.
"""

from typing import ClassVar

from torch import Tensor, nn

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.layers import NormLinear, Reader, classifier, hide, masked_softmax, relu_map, weigh
from eyechart.zoo.network import Network, Recipe, Sizes


class Glance(nn.Module):
    """Rate each region by w . relu(W (relu(W_v v_n) * relu(W_q q)))."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        self.region, self.guide = relu_map(features, hidden), relu_map(hidden, hidden)
        self.rate = nn.Sequential(relu_map(hidden, hidden), nn.Dropout(0.2), NormLinear(hidden, 1))

    def forward(self, v: Tensor, q: Tensor, seen: Tensor) -> Tensor:
        """Share attention among the regions, [B, N]."""
        joint = self.region(v) * self.guide(q).unsqueeze(1)  # [B, N, H]
        return masked_softmax(self.rate(joint).squeeze(-1), seen)


class UpDn2(Network):
    """Attend to regions twice, guided by the question, and add the two."""

    recipe: ClassVar[Recipe] = Recipe("adam", 1e-3, 256, 40, 1280)

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        hidden = self.q_size = self.h_size = sizes.hidden
        self.reader, self.dropout = Reader(sizes.embedding, hidden), nn.Dropout(0.4)
        self.glances = nn.ModuleList(Glance(sizes.features, hidden) for _ in range(2))
        self.ask, self.see = relu_map(hidden, hidden), relu_map(sizes.features, hidden)
        self.norm = nn.BatchNorm1d(hidden)
        self.head = classifier(hidden, sizes.answers, dropout=0.1)

    def forward(self, batch: Batch) -> Out:
        """Look twice, then answer."""
        seen = batch.visible()  # [B, N]
        v = hide(batch.v, seen)  # [B, N, D]
        q = self.reader(self.words(batch), batch).last  # [B, H]
        guide = self.dropout(q)
        maps = [glance(v, guide, seen) for glance in self.glances]  # two of [B, N]
        att = maps[0] + maps[1]
        h = self.norm(self.ask(q) * self.see(weigh(att, v)))  # [B, H]
        return Out(self.head(h), att / 2, q, h)
