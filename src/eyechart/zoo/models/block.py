"""BLOCK (Ben-younes et al. 2019): two glimpses at the words, two at the regions, both by its fusion.

Its question vectors come from a pretrained Skip-thoughts encoder; a GRU trained along is the honest substitute here.
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.layers import Reader, hide, masked_softmax
from eyechart.zoo.models.fusion import Fusion
from eyechart.zoo.network import Network, Recipe, Sizes

GLIMPSES = 2
JOINT = 1600 / 1024  # width of the fusion for each number of the question vector


class Block(Network):
    """Say s = W fusion(q, v), v two attended vectors whose attention is a fusion too."""

    recipe: ClassVar[Recipe] = Recipe("adamax", 1.4e-3, 64, 20, 1024, 4)

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.q_size = wide = GLIMPSES * sizes.hidden
        self.reader = Reader(sizes.embedding, sizes.hidden)
        self.rate_words = rating(sizes.hidden, sizes.hidden)
        joint = round(JOINT * sizes.hidden)
        self.look = Fusion(wide, sizes.features, joint)
        self.rate_regions = rating(self.look.size, sizes.hidden)
        self.fuse = Fusion(wide, GLIMPSES * sizes.features, joint)
        self.h_size = self.fuse.size
        self.head = nn.Linear(self.fuse.size, sizes.answers)

    def forward(self, batch: Batch) -> Out:
        """Read twice, look twice, fuse."""
        seen = batch.visible()  # [B, N]
        v = hide(batch.v, seen)  # [B, N, D]
        read = self.reader(self.words(batch), batch)
        q = glimpses(read.states, self.rate_words(read.states), read.is_word)[0]  # [B, 2H]
        ratings = self.rate_regions(self.look(q.unsqueeze(1), v))  # [B, N, 2]
        looked, att = glimpses(v, ratings, seen)  # [B, 2D], [B, N, 2]
        h = self.fuse(q, looked)  # [B, M]
        return Out(self.head(h), att.mean(-1), q, h)


def rating(inputs: int, hidden: int) -> nn.Sequential:
    """Make what rates each place once per glimpse."""
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, GLIMPSES))


def glimpses(x: Tensor, ratings: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
    """Put one attended vector per glimpse side by side, [B, G * D], and give the attention, [B, N, G]."""
    att = masked_softmax(ratings, seen.unsqueeze(-1), dim=1)
    return torch.einsum("bng,bnd->bgd", att, x).flatten(1), att
