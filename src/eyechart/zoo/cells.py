"""The cell of a GRU, which a GPU runs as one kernel that torch's compiler does not know, in operations that it knows.

r = s(i_r + h_r)   z = s(i_z + h_z)   n = tanh(i_n + r h_n)   h' = n + z (h - n), gates i, h with their biases
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload

FromGates = tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]  # of both gates, of h and of both biases


def gru_cell(
    of_input: Tensor, of_state: Tensor, h: Tensor, input_bias: Tensor | None = None, state_bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Give h' from gates [B, 3H] and h [B, H], and what `gru_cell_backward` needs."""
    if input_bias is not None and state_bias is not None:
        of_input, of_state = of_input + input_bias, of_state + state_bias
    (i_r, i_z, i_n), (h_r, h_z, h_n) = of_input.chunk(3, 1), of_state.chunk(3, 1)
    r, z = (i_r + h_r).sigmoid(), (i_z + h_z).sigmoid()
    n = (i_n + r * h_n).tanh()
    return n + z * (h - n), torch.cat([r, z, n, h, h_n], 1)


def gru_cell_backward(slope: Tensor, kept: Tensor, has_bias: bool) -> FromGates:  # noqa: FBT001 - torch calls it so
    """Give the gradients of everything `gru_cell` was given, from the one of h'."""
    r, z, n, h, h_n = kept.chunk(5, 1)
    of_n = slope * (1 - z) * (1 - n**2)
    of_z = slope * (h - n) * z * (1 - z)
    of_r = of_n * h_n * r * (1 - r)
    of_input, of_state = torch.cat([of_r, of_z, of_n], 1), torch.cat([of_r, of_z, of_n * r], 1)
    return of_input, of_state, slope * z, *((of_input.sum(0), of_state.sum(0)) if has_bias else (None, None))


AS_KNOWN: dict[OpOverload, Callable[..., Any]] = {  # results differ with the operation
    torch.ops.aten._thnn_fused_gru_cell.default: gru_cell,  # noqa: SLF001 - the name of the operation
    torch.ops.aten._thnn_fused_gru_cell_backward.default: gru_cell_backward,  # noqa: SLF001 - as above
}
