"""BLOCK (Ben-younes et al. 2019): two glimpses at the words, two at the regions, both by its fusion.

Its question vectors come from a pretrained Skip-thoughts encoder; here they come from a GRU trained with the network.

Fusion, of which MUTAN and MLB are special cases: p = W0 x and r = W1 y are cut into blocks; per block z_c = sum over
`rank` of (A_c p_c) * (B_c r_c), then the signed square root and length 1; the blocks are concatenated. All blocks are
equally wide here (the original makes the last one narrower), so that they are one product of tensors. The root is
smoothed near 0, where the original's infinite slope would dominate methods that differentiate twice.
"""

from math import sqrt
from typing import ClassVar

import torch
from torch import Tensor, nn

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.layers import QuestionReader, hide, masked_softmax
from eyechart.zoo.network import Network, NetworkSizes, TrainingRecipe

GLIMPSES = 2
JOINT = 1600 / 1024  # width of the fusion for each number of the question vector


class BLOCK(Network):
    """Compute s = W fusion(q, v), v two attended vectors whose attention is a fusion too."""

    recipe: ClassVar[TrainingRecipe] = TrainingRecipe("adamax", 1.4e-3, 64, 20, 1024, 4)

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__(sizes)
        self.q_size = wide = GLIMPSES * sizes.hidden
        self.reader = QuestionReader(sizes.embedding, sizes.hidden)
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
    """Make the layers that rate each place, once per glimpse."""
    return nn.Sequential(nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, GLIMPSES))


def glimpses(x: Tensor, ratings: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
    """Concatenate one attended vector per glimpse, [B, G * D], and return the attention, [B, N, G]."""
    att = masked_softmax(ratings, seen.unsqueeze(-1), dim=1)
    return torch.einsum("bng,bnd->bgd", att, x).flatten(1), att


RANK, MOST_BLOCKS, LEAST_WIDTH = 15, 20, 8
NEAR_ZERO = 1e-2  # with 1e-4 BLOCK does not learn by VisFIS, with 1e-2 it does; plain training works with either


class Fusion(nn.Module):
    """Fuse two vectors (with any equal or broadcast axes before the last) into one of `self.size` numbers."""

    def __init__(self, first: int, second: int, joint: int) -> None:
        super().__init__()
        self.blocks = max(1, min(MOST_BLOCKS, joint // LEAST_WIDTH))
        self.width = -(-joint // self.blocks)
        self.size = self.blocks * self.width
        self.of_first, self.of_second = nn.Linear(first, self.size), nn.Linear(second, self.size)
        self.left, self.right = self._core(), self._core()
        self.left_offset = nn.Parameter(torch.zeros(self.blocks, RANK * self.width))
        self.right_offset = nn.Parameter(torch.zeros(self.blocks, RANK * self.width))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        """Return z, [..., size], first turning x into a matrix for y, as one x is often fused with many y."""
        p = self._cut(self.of_first(x))  # [..., C, S]
        left = torch.einsum("...cs,cso->...co", p, self.left) + self.left_offset  # [..., C, R * S]
        left = self._by_rank(left)  # [..., C, R, S]
        matrix = torch.einsum("...crs,cjrs->...cjs", left, self._by_rank(self.right))  # [..., C, S, S]
        offset = torch.einsum("...crs,crs->...cs", left, self._by_rank(self.right_offset))  # [..., C, S]
        z = torch.einsum("...cj,...cjs->...cs", self._cut(self.of_second(y)), matrix) + offset  # [..., C, S]
        return nn.functional.normalize(signed_root(z), dim=-1).flatten(-2)

    def _core(self) -> nn.Parameter:
        bound = self.width**-0.5
        return nn.Parameter(torch.empty(self.blocks, self.width, RANK * self.width).uniform_(-bound, bound))

    def _cut(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:-1], self.blocks, self.width)

    def _by_rank(self, core: Tensor) -> Tensor:
        return core.reshape(*core.shape[:-1], RANK, self.width)


def signed_root(z: Tensor) -> Tensor:
    """Take sign(z) sqrt(|z|), with a finite slope at 0: sign(z) (sqrt(|z| + c) - sqrt(c))."""
    return z.sign() * ((z.abs() + NEAR_ZERO).sqrt() - sqrt(NEAR_ZERO))
