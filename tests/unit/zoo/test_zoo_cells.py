"""The cell of a GRU in plain operations gives what torch's own gives, with first and second derivatives."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.fx.experimental.proxy_tensor import make_fx

from eyechart.zoo.train.compiling import AS_KNOWN
from unit.zoo.toy import assert_equal_in_double

Cell = Callable[..., Tensor]  # of x, h, and the weights of torch's cell
FUSED = torch.ops.aten._thnn_fused_gru_cell


def fused(x: Tensor, h: Tensor, from_input: Tensor, from_state: Tensor, *biases: Tensor) -> Tensor:
    """Ask for the kernel that only GPUs have: untraced it fails on a CPU."""
    return FUSED(x @ from_input.T, h @ from_state.T, h, *biases)[0]


def derived(cell: Cell, order: int) -> Callable[..., tuple[Tensor, ...]]:
    """Take two steps by a cell and give the state with gradients of a loss of it, or of its gradients too."""

    def found(*given: Tensor) -> tuple[Tensor, ...]:
        x, h, *weights = (each.detach().requires_grad_() for each in given)
        state = cell(x, cell(x, h, *weights), *weights)
        loss = (state**2).sum()
        if order == 2:
            loss = loss + (torch.autograd.grad(loss, x, create_graph=True)[0] ** 2).sum()
        return state.detach(), *torch.autograd.grad(loss, [x, h, *weights])

    return found


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("biases", [2, 0])
def test_a_traced_cell_is_that_of_torch(order: int, biases: int) -> None:
    torch.manual_seed(0)
    shapes = [(3, 5), (3, 4), (12, 5), (12, 4), *[(12,)] * biases]
    given = [torch.randn(shape, dtype=torch.double) for shape in shapes]
    traced = make_fx(derived(fused, order), AS_KNOWN)(*given)

    assert not any("gru" in str(node.target) for node in traced.graph.nodes)
    for ours, theirs in zip(traced(*given), derived(torch.gru_cell, order)(*given), strict=True):
        assert_equal_in_double(ours, theirs)
