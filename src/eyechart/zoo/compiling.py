"""A training step as few kernels, compiled by torch: its network block by block, or the whole step at once.

A network that is made of equal blocks has one of each compiled, in tens of seconds. Torch's compiler cannot
differentiate twice, though, as HINT, SCR, VisFIS and RMFE must. Their steps, and those of networks without blocks, are
traced down to the operations of their derivatives first, so that what is compiled has nothing left to differentiate; it
takes minutes.
"""

import logging
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import cache, partial

import torch
from torch import Tensor, nn
from torch._functorch import config as functorch
from torch._guards import TracingContext, tracing
from torch._subclasses import FakeTensorMode
from torch.func import functional_call
from torch.fx import GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from eyechart.zoo.cells import AS_KNOWN
from eyechart.zoo.layers import Block
from eyechart.zoo.lesson import Lesson, differentiate, learned

_log = logging.getLogger("eyechart.zoo")

Found = tuple[Tensor, *tuple[Tensor | None, ...]]  # the loss, and the gradient of each weight
Gradients = Callable[..., Found]  # of rows and of all tensors of a lesson
Way = Callable[[Lesson, Tensor], Tensor]  # to differentiate


class Compiler:
    """Differentiate lessons by compiled kernels; lessons that differ in the values of tensors alone may share one."""

    def __init__(self) -> None:
        self._ways: dict[Hashable, Way] = {}

    def differentiate(self, lesson: Lesson, rows: Tensor, kind: Hashable) -> Tensor:
        """Put the gradients of a loss where optimizers look for them and give the loss; all of a kind run the same."""
        if kind not in self._ways:
            with torch.random.fork_rng([rows.device] if rows.is_cuda else []):  # training that goes on compiles later
                self._ways[kind] = _choose(lesson, rows, kind)
        return self._ways[kind](lesson, rows)


def _choose(lesson: Lesson, rows: Tensor, kind: Hashable) -> Way:
    """Compile a step and try it on a copy, or go on without: tracing, compiling and running fail in many ways."""
    try:
        whole = lesson.debias.twice or not _blocks_of(lesson)
        way: Way = Traced(lesson, rows) if whole else differentiate_by_blocks
        way(lesson.twin(), rows)  # which compiles blocks; those of the lesson take what serves the copy
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - as said above
        _log.warning("steps of kind %s are not compiled, which is slower: %s", kind, error)
        return differentiate
    return way


def differentiate_by_blocks(lesson: Lesson, rows: Tensor) -> Tensor:
    """Differentiate as ever, but run the blocks compiled."""
    with _compiled(_blocks_of(lesson)):
        return differentiate(lesson, rows)


def _blocks_of(lesson: Lesson) -> list[Block]:
    return [module for module in lesson.modules() if isinstance(module, Block)]


@contextmanager
def _compiled(blocks: list[Block]) -> Iterator[None]:
    """Let blocks run compiled for a while: to answer other batches they would be compiled anew."""
    for block in blocks:
        block.forward = partial(compiled_forward(type(block)), block)  # type: ignore[arg-type]  # classes have hashes
    try:
        with functorch.patch(donated_buffer=False):  # CSS goes back through a pass twice: nothing of it is given away
            yield
    finally:
        for block in blocks:
            del block.forward


@cache
def compiled_forward(kind: type[Block]) -> Callable[..., object]:
    """Compile what all blocks of a kind do."""
    return torch.compile(kind.forward, dynamic=False)


class Traced:
    """Differentiate lessons as the one it was made from, by kernels for the whole step."""

    def __init__(self, lesson: Lesson, rows: Tensor) -> None:
        from torch import _inductor  # the compiler takes seconds to import

        traced = trace(lesson, rows)
        self._examples = take_out_constants(traced)
        # Torch keeps compiled kernels on disk, for other processes to find, only where there is a record of shapes.
        shapes = FakeTensorMode(shape_env=ShapeEnv(assume_static_by_default=True))
        with torch.no_grad(), tracing(TracingContext(shapes)):
            self._gradients: Gradients = _inductor.compile(traced, [rows, *held_tensors(lesson), *self._examples])

    def __call__(self, lesson: Lesson, rows: Tensor) -> Tensor:
        """Put the gradients of a loss where optimizers look for them and give the loss."""
        with torch.no_grad():
            loss, *found = self._gradients(rows, *held_tensors(lesson), *self._examples)
        _put(found, learned(lesson))
        return loss


def trace(lesson: Lesson, rows: Tensor) -> GraphModule:
    """List the operations that give the loss of a lesson and the gradients of what it learns, as a function of both."""
    twin = lesson.twin()  # tracing takes the step, and puts other tensors in the place of weights
    names = [name for name, _ in (*twin.named_parameters(), *twin.named_buffers())]
    learns = [name for name, weight in twin.named_parameters() if weight.requires_grad]  # in the same order every time

    def gradients(rows: Tensor, *tensors: Tensor) -> Found:
        given = dict(zip(names, tensors, strict=True))
        given |= {name: given[name].detach().requires_grad_() for name in learns}
        loss = functional_call(twin, given, (rows,))
        return loss.detach(), *torch.autograd.grad(loss, [given[name] for name in learns], allow_unused=True)

    with plain_recurrence():
        return make_fx(gradients, AS_KNOWN)(rows, *held_tensors(twin))


@contextmanager
def plain_recurrence() -> Iterator[None]:
    """Keep libraries out of recurrent layers: cuDNN moves weights, which cannot be traced, oneDNN is not compiled."""
    was = torch.backends.mkldnn.enabled
    # Its own context manager also sets what only some machines have, with a warning.
    torch.backends.mkldnn.enabled = False  # type: ignore[assignment]  # a property that takes a bool
    try:
        with torch.backends.cudnn.flags(enabled=False):
            yield
    finally:
        torch.backends.mkldnn.enabled = was


def take_out_constants(traced: GraphModule) -> list[Tensor]:
    """Let a trace take the tensors it found around it, as features of images, behind its other inputs; list them.

    Torch would look at every number of a constant to tell whether it has compiled the like before.
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


def held_tensors(lesson: Lesson) -> list[Tensor]:
    """List everything a lesson holds, in the order of its names."""
    return [*(weight.detach() for weight in lesson.parameters()), *lesson.buffers()]


def _put(found: list[Tensor | None], weights: list[nn.Parameter]) -> None:
    """Give each weight a gradient of its own; of two that are equal the compiler makes one, which is clipped twice."""
    taken: set[int] = set()
    for weight, gradient in zip(weights, found, strict=True):
        weight.grad = gradient
        if gradient is not None and gradient.data_ptr() in taken:
            weight.grad = gradient.clone()
        elif gradient is not None:
            taken.add(gradient.data_ptr())
