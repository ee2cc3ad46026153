"""Compile a training step to few kernels with torch: the network block by block, or the whole step at once.

If a network consists of repeated blocks, each kind of block is compiled once, in tens of seconds. Torch's compiler
cannot differentiate twice, however, as HINT, SCR, VisFIS and RMFE must. Their steps, and those of networks without
blocks, are first traced down to the operations of their derivatives, so that nothing is left to differentiate; this
takes minutes.

The cell of a GRU is a single GPU kernel that torch's compiler does not know; a trace replaces it by known operations:

    r = s(i_r + h_r)   z = s(i_z + h_z)   n = tanh(i_n + r h_n)   h' = n + z (h - n), gates i, h with their biases
"""

import logging
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any

import torch
from torch import Tensor, nn
from torch._functorch import config as functorch
from torch._guards import TracingContext, tracing
from torch._ops import OpOverload
from torch._subclasses import FakeTensorMode
from torch.func import functional_call
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from eyechart.zoo.layers import RepeatedBlock
from eyechart.zoo.train.step import TrainingStep, differentiate, trainable

_log = logging.getLogger("eyechart.zoo")

LossAndGradients = tuple[Tensor, *tuple[Tensor | None, ...]]  # the loss, and the gradient of each weight
Gradients = Callable[..., LossAndGradients]  # of rows and of all tensors of a step
Differentiate = Callable[[TrainingStep, Tensor], Tensor]  # from a step and rows to the loss


class Compiler:
    """Differentiate steps with compiled kernels, shared by steps that differ only in the values of tensors."""

    def __init__(self) -> None:
        self._by_kind: dict[Hashable, Differentiate] = {}

    def differentiate(self, step: TrainingStep, rows: Tensor, kind: Hashable) -> Tensor:
        """Store the gradients for the optimizer and return the loss; all steps of a kind run the same operations."""
        if kind not in self._by_kind:
            with torch.random.fork_rng([rows.device] if rows.is_cuda else []):  # a resumed training compiles later
                self._by_kind[kind] = _choose(step, rows, kind)
        return self._by_kind[kind](step, rows)


def _choose(step: TrainingStep, rows: Tensor, kind: Hashable) -> Differentiate:
    """Compile a step and try it on a copy; if that fails, as it can in many ways, warn and run uncompiled."""
    try:
        whole = step.debias.twice or not _blocks_of(step)
        run: Differentiate = Traced(step, rows) if whole else differentiate_by_blocks
        run(step.clone(), rows)  # compiles the blocks, and the step uses what was compiled for the copy
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - see above
        _log.warning("steps of kind %s are not compiled, which is slower: %s", kind, error)
        return differentiate
    return run


def differentiate_by_blocks(step: TrainingStep, rows: Tensor) -> Tensor:
    """Differentiate without tracing, but with compiled repeated blocks."""
    with _run_compiled(_blocks_of(step)):
        return differentiate(step, rows)


def _blocks_of(step: TrainingStep) -> list[RepeatedBlock]:
    return [module for module in step.modules() if isinstance(module, RepeatedBlock)]


@contextmanager
def _run_compiled(blocks: list[RepeatedBlock]) -> Iterator[None]:
    """Run blocks compiled within this context only, as they would be recompiled for batches of other sizes."""
    for block in blocks:
        block.forward = partial(compiled_forward(type(block)), block)  # type: ignore[arg-type]  # classes have hashes
    try:
        with functorch.patch(donated_buffer=False):  # CSS backpropagates twice, so keep the buffers
            yield
    finally:
        for block in blocks:
            del block.forward


@cache
def compiled_forward(kind: type[RepeatedBlock]) -> Callable[..., object]:
    """Compile the forward pass of a class of blocks."""
    return torch.compile(kind.forward, dynamic=False)


class Traced:
    """Differentiate steps like the one it was compiled from, with kernels for the whole step."""

    def __init__(self, step: TrainingStep, rows: Tensor) -> None:
        from torch import _inductor  # the compiler takes seconds to import

        traced = trace(step, rows)
        self._examples = take_out_constants(traced)
        # Torch caches compiled kernels on disk for other processes only if shapes are recorded.
        shapes = FakeTensorMode(shape_env=ShapeEnv(assume_static_by_default=True))
        with torch.no_grad(), tracing(TracingContext(shapes)):
            self._gradients: Gradients = _inductor.compile(traced, [rows, *held_tensors(step), *self._examples])

    def __call__(self, step: TrainingStep, rows: Tensor) -> Tensor:
        """Store the gradients for the optimizer and return the loss."""
        with torch.no_grad():
            loss, *gradients = self._gradients(rows, *held_tensors(step), *self._examples)
        _store(gradients, trainable(step))
        return loss


def trace(step: TrainingStep, rows: Tensor) -> GraphModule:
    """Trace the loss of a step and the gradients of its weights as one graph of operations."""
    clone = step.clone()  # tracing runs the step, and replaces weights by other tensors
    names = [name for name, _ in (*clone.named_parameters(), *clone.named_buffers())]
    learns = [name for name, weight in clone.named_parameters() if weight.requires_grad]  # in the same order every time

    def gradients(rows: Tensor, *tensors: Tensor) -> LossAndGradients:
        given = dict(zip(names, tensors, strict=True))
        given |= {name: given[name].detach().requires_grad_() for name in learns}
        loss = functional_call(clone, given, (rows,))
        return loss.detach(), *torch.autograd.grad(loss, [given[name] for name in learns], allow_unused=True)

    with plain_recurrence():
        return make_fx(gradients, AS_KNOWN)(rows, *held_tensors(clone))


@contextmanager
def plain_recurrence() -> Iterator[None]:
    """Run recurrent layers without libraries: cuDNN moves weights, which is untraceable; oneDNN is not compiled."""
    was = torch.backends.mkldnn.enabled
    # Its own context manager also sets options that not all machines have, with a warning.
    torch.backends.mkldnn.enabled = False  # type: ignore[assignment]  # a property that takes a bool
    try:
        with torch.backends.cudnn.flags(enabled=False):
            yield
    finally:
        torch.backends.mkldnn.enabled = was


def take_out_constants(traced: GraphModule) -> list[Tensor]:
    """Turn the constants of a trace, such as image features, into further inputs, and list them.

    Torch would read every number of a constant to check whether it is in the cache of compiled kernels.
    """
    last = [node for node in traced.graph.nodes if node.op == "placeholder"][-1]
    taken: dict[str, Node] = {}
    for node in [node for node in traced.graph.nodes if node.op == "get_attr"]:
        if node.target not in taken:
            with traced.graph.inserting_after(last):
                last = taken[node.target] = traced.graph.placeholder(node.target)
        node.replace_all_uses_with(taken[node.target])
        traced.graph.erase_node(node)
    traced.recompile()
    return [getattr(traced, name) for name in taken]


def held_tensors(step: TrainingStep) -> list[Tensor]:
    """List the weights and buffers of a step, in the order of their names."""
    return [*(weight.detach() for weight in step.parameters()), *step.buffers()]


def _store(gradients: list[Tensor | None], weights: list[nn.Parameter]) -> None:
    """Store a separate gradient for each weight: the compiler shares equal ones, which would be clipped twice."""
    taken: set[int] = set()
    for weight, gradient in zip(weights, gradients, strict=True):
        weight.grad = gradient
        if gradient is not None and gradient.data_ptr() in taken:
            weight.grad = gradient.clone()
        elif gradient is not None:
            taken.add(gradient.data_ptr())


FromGates = tuple[Tensor, Tensor, Tensor, Tensor | None, Tensor | None]  # gradients of both gates, h and both biases


def gru_cell(
    of_input: Tensor, of_state: Tensor, h: Tensor, input_bias: Tensor | None = None, state_bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Compute h' from gates [B, 3H] and h [B, H], and the tensors that `gru_cell_backward` needs."""
    if input_bias is not None and state_bias is not None:
        of_input, of_state = of_input + input_bias, of_state + state_bias
    (i_r, i_z, i_n), (h_r, h_z, h_n) = of_input.chunk(3, 1), of_state.chunk(3, 1)
    r, z = (i_r + h_r).sigmoid(), (i_z + h_z).sigmoid()
    n = (i_n + r * h_n).tanh()
    return n + z * (h - n), torch.cat([r, z, n, h, h_n], 1)


def gru_cell_backward(slope: Tensor, kept: Tensor, has_bias: bool) -> FromGates:  # noqa: FBT001 - torch calls it so
    """Compute the gradients of the arguments of `gru_cell` from the gradient of h'."""
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
