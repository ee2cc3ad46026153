"""A training step as few kernels: traced with all its gradients, then compiled by torch.

Torch's compiler cannot differentiate twice, as HINT, SCR, VisFIS and RMFE must. So a step is traced down to the
operations of its derivatives first, and what is compiled has nothing left to differentiate.
"""

import logging
from collections.abc import Callable, Hashable

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.fx import GraphModule
from torch.fx.experimental.proxy_tensor import make_fx

from eyechart.zoo.lesson import Lesson, differentiate, learned

_log = logging.getLogger("eyechart.zoo")

Found = tuple[Tensor, *tuple[Tensor | None, ...]]  # the loss, and the gradient of each weight
Gradients = Callable[..., Found]  # of rows and of all tensors of a lesson


class Compiler:
    """Differentiate lessons by compiled kernels; lessons that differ in the values of tensors alone may share one."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Gradients | None] = {}

    def differentiate(self, lesson: Lesson, rows: Tensor, kind: Hashable) -> Tensor:
        """Put the gradients of a loss where optimizers look for them and give the loss; all of a kind run the same."""
        if kind not in self._known:
            self._known[kind] = _compile(lesson, rows, kind)
        gradients = self._known[kind]
        if gradients is None:
            return differentiate(lesson, rows)
        with torch.no_grad():
            loss, *found = gradients(rows, *held_tensors(lesson))
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


def _compile(lesson: Lesson, rows: Tensor, kind: Hashable) -> Gradients | None:
    from torch import _inductor  # the compiler takes seconds to import

    try:
        traced = trace(lesson, rows)
        with torch.no_grad():
            compiled: Gradients = _inductor.compile(traced, [rows, *held_tensors(lesson)])
    except torch.OutOfMemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - tracing and compiling fail in many ways, and training goes on without
        _log.warning("steps of kind %s are not compiled, which is slower: %s", kind, error)
        return None
    return compiled


def _put(found: list[Tensor | None], weights: list[nn.Parameter]) -> None:
    """Give each weight a gradient of its own; of two that are equal the compiler makes one, which is clipped twice."""
    taken: set[int] = set()
    for weight, gradient in zip(weights, found, strict=True):
        weight.grad = gradient
        if gradient is not None and gradient.data_ptr() in taken:
            weight.grad = gradient.clone()
        elif gradient is not None:
            taken.add(gradient.data_ptr())
