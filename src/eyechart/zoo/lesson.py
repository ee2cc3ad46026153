"""A step of training as one module, which holds all weights that its loss depends on."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from copy import deepcopy

from torch import Tensor, nn

from eyechart.zoo.bias import Bias
from eyechart.zoo.debias import Debias
from eyechart.zoo.network import Network
from eyechart.zoo.shelf import Deck

Precision = Callable[[], AbstractContextManager[object]]


class Lesson(nn.Module):
    """Teach a network by a method, from the examples of a deck."""

    def __init__(self, model: Network, debias: Debias, bias: Bias | None, deck: Deck, precision: Precision) -> None:
        super().__init__()
        self.model, self.debias, self.bias = model, debias, bias
        self._deck, self._precision = deck, precision

    def twin(self) -> "Lesson":
        """Copy all weights, not the examples."""
        return Lesson(*deepcopy((self.model, self.debias, self.bias)), self._deck, self._precision)

    def forward(self, rows: Tensor) -> Tensor:
        """Give the loss of some examples, by their numbers."""
        batch = self._deck.batch(rows)
        if self.bias is not None:
            batch = batch.to(bias=self.bias(batch))
        with self._precision():
            loss: Tensor = self.debias(self.model, batch)
        return loss


def differentiate(lesson: Lesson, rows: Tensor) -> Tensor:
    """Put the gradients of a loss where optimizers look for them and give the loss."""
    for weight in learned(lesson):
        weight.grad = None
    loss: Tensor = lesson(rows)
    loss.backward()  # type: ignore[no-untyped-call]  # torch
    return loss.detach()


def learned(lesson: Lesson) -> list[nn.Parameter]:
    """List what a lesson learns."""
    return [weight for weight in lesson.parameters() if weight.requires_grad]
