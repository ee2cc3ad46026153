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
from torch.func import functional_call
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

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
    """Compile a step, or go on without: tracing and compiling fail in many ways."""
    try:
        if lesson.debias.twice or not _blocks_of(lesson):
            return Traced(lesson, rows)
        differentiate_by_blocks(lesson.twin(), rows)  # what is compiled for a copy serves the lesson as well
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - as said above
        _log.warning("steps of kind %s are not compiled, which is slower: %s", kind, error)
        return differentiate
    return differentiate_by_blocks


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
        with torch.no_grad():
            self._gradients: Gradients = _inductor.compile(traced, [rows, *held_tensors(lesson)])

    def __call__(self, lesson: Lesson, rows: Tensor) -> Tensor:
        """Put the gradients of a loss where optimizers look for them and give the loss."""
        with torch.no_grad():
            loss, *found = self._gradients(rows, *held_tensors(lesson))
        _put(found, learned(lesson))
        return loss


def trace(lesson: Lesson, rows: Tensor) -> GraphModule:
    """List the operations that give the loss of a lesson and the gradients of what it learns, as a function of both."""
    twin = lesson.twin()  # tracing takes the step, and puts other tensors in the place of weights
    names = [name for name, _ in (*twin.named_parameters(), *twin.named_buffers())]
    learns = {name for name, weight in twin.named_parameters() if weight.requires_grad}

    def gradients(rows: Tensor, *tensors: Tensor) -> Found:
        given = dict(zip(names, tensors, strict=True))
        given |= {name: given[name].detach().requires_grad_() for name in learns}
        loss = functional_call(twin, given, (rows,))
        wanted = [given[name] for name in names if name in learns]
        return loss.detach(), *torch.autograd.grad(loss, wanted, allow_unused=True)

    with torch.backends.cudnn.flags(enabled=False):  # its recurrent layers move weights, which cannot be traced
        return make_fx(gradients)(rows, *held_tensors(twin))


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
