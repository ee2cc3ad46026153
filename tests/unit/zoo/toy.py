"""A network whose values and gradients can be written down: s_k = sum_n tanh(v_n . U_k) + sum_t w_t . P_k."""

from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.models import MODELS
from eyechart.zoo.network import Network, Sizes

LARGE = ("lxmert", "visualbert") if find_spec("transformers") else ()
SMALL = tuple(name for name in MODELS.names() if name not in {"mlp-a", "lxmert", "visualbert"})  # mlp-a is answer-only


class Toy(Network):
    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.q_size, self.h_size = sizes.embedding, sizes.features
        self.of_regions = nn.Parameter(torch.randn(sizes.answers, sizes.features))
        self.of_words = nn.Parameter(torch.randn(sizes.answers, sizes.embedding))

    def forward(self, batch: Batch) -> Out:
        seen = batch.visible().unsqueeze(-1).to(batch.v.dtype)
        q = self.words(batch).sum(1)
        s = ((batch.v @ self.of_regions.T).tanh() * seen).sum(1) + q @ self.of_words.T
        return Out(s, q=q, h=(batch.v * seen).sum(1))


class Known(NamedTuple):
    """The same in NumPy."""

    regions: np.ndarray  # U
    words: np.ndarray  # P
    vectors: np.ndarray

    def s(self, v: np.ndarray, seen: np.ndarray, w: np.ndarray) -> np.ndarray:
        return (np.tanh(v @ self.regions.T) * seen[..., None]).sum(1) + w.sum(1) @ self.words.T

    def slopes(self, v: np.ndarray, seen: np.ndarray) -> np.ndarray:
        """Give sum_d d s_k / d v_nd, [B, N, K]."""
        inner = (1 - np.tanh(v @ self.regions.T) ** 2) * seen[..., None]
        return inner * self.regions.sum(1)

    def slopes_by_number(self, v: np.ndarray, seen: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Give d (sum_k weight_k s_k) / d v_nd, [B, N, D]."""
        inner = (1 - np.tanh(v @ self.regions.T) ** 2) * seen[..., None]
        return np.einsum("bnk,bk,kd->bnd", inner, weights, self.regions)


def known(toy: Toy) -> Known:
    parts = (toy.of_regions, toy.of_words, toy.embedding.weight)
    return Known(*(part.detach().numpy() for part in parts))
