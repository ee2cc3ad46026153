"""A network whose values and gradients can be written down: s_k = sum_n tanh(v_n . U_k) + sum_t w_t . P_k."""

from importlib.util import find_spec
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.debias import Debias
from eyechart.zoo.methods import make_method
from eyechart.zoo.network import Network, NetworkSizes
from eyechart.zoo.networks import NETWORKS

LARGE = ("lxmert", "visualbert") if find_spec("transformers") else ()
SMALL = tuple(
    name for name in NETWORKS.names() if name not in {"mlp-a", "lxmert", "visualbert"}
)  # mlp-a is answer-only


class Toy(Network):
    def __init__(self, sizes: NetworkSizes) -> None:
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


class Case(NamedTuple):
    """A network, a batch, and both in NumPy."""

    toy: Toy
    batch: Batch
    known: Known
    arrays: SimpleNamespace

    def method(self, name: str) -> Debias:
        torch.manual_seed(1)
        method = make_method(name, self.toy).double()
        method.begin_step()
        return method

    def loss(self, name: str) -> tuple[float, Debias]:
        method = self.method(name)
        torch.manual_seed(2)
        return float(method(self.toy, self.batch).detach()), method


def case_of(toy: Toy, batch: Batch) -> Case:
    truth = known(toy)
    arrays = SimpleNamespace(**{n: getattr(batch, n).numpy() for n in ("q", "v", "a", "bias", "hints", "qmask")})
    arrays.seen, arrays.w = batch.v_mask.numpy().astype(float), truth.vectors[arrays.q]
    arrays.s, arrays.y = truth.s(arrays.v, arrays.seen, arrays.w), arrays.a.argmax(1)
    arrays.g = (truth.slopes(arrays.v, arrays.seen) * (arrays.a > 0)[:, None]).sum(2)
    return Case(toy, batch, truth, arrays)


def with_many_regions(case: Case) -> Case:
    """Twelve regions, ten to twelve of them in sight: more than CSS and SCR look at."""
    draw = torch.Generator().manual_seed(0)
    v, hints = torch.randn(4, 12, 5, generator=draw).double(), torch.rand(4, 12, generator=draw).double()
    seen = torch.ones(4, 12).bool()
    seen[0, 3] = seen[2, 0] = seen[2, 7] = False
    return case_of(case.toy, case.batch.to(v=v, hints=hints, v_mask=seen, boxes=None))


def in_double(batch: Batch) -> Batch:
    """Give the numbers of a batch in double, in which no processor rounds so that a formula seems another."""
    return batch.to(**{name: getattr(batch, name).double() for name in ("v", "boxes", "a", "bias", "hints")})


def assert_equal_in_double(ours: torch.Tensor, theirs: torch.Tensor) -> None:
    """Compare what was computed in two ways, all of it in double, but for the last digits."""
    assert ours.dtype == theirs.dtype == torch.float64
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


def array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().numpy().astype(np.float64)


def sigma(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def softmax(x: np.ndarray) -> np.ndarray:
    return np.exp(x) / np.exp(x).sum(1, keepdims=True)


def ce_each(s: np.ndarray, y: np.ndarray) -> np.ndarray:
    return -np.log(softmax(s)[np.arange(len(y)), y])
