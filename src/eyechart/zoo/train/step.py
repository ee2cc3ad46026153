"""One training step: the source of the bias, the loss as one module, and steps recorded on a GPU and replayed.

The cost of a small network is launching kernels, not arithmetic, so a step whose operations never change is recorded
once as a CUDA graph and replayed for every later batch.
"""

import logging
from collections import Counter
from collections.abc import Callable, Hashable
from contextlib import AbstractContextManager
from copy import deepcopy
from typing import NamedTuple

import torch
from torch import Tensor, nn

from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Debias
from eyechart.zoo.loader import QuestionLoader
from eyechart.zoo.network import Network

_log = logging.getLogger("eyechart.zoo")

PRIOR = "prior"
WARM_UP = 3  # unrecorded steps of a kind, in which optimizers and kernels allocate their memory

Precision = Callable[[], AbstractContextManager[object]]
StepKind = tuple[Hashable, float]  # shared by steps that run the same operations: the method's own kind, and the rate
TakeStep = Callable[[Tensor, StepKind], Tensor]  # from the numbers of some examples to their loss


class Bias(nn.Module):
    """Compute a biased probability of each answer for a batch, [B, A]."""


class PriorBias(Bias):
    """Use the mean target of each question type over a split."""

    mean: Tensor  # [types, A]

    def __init__(self, loader: QuestionLoader, types: int, size: int) -> None:
        super().__init__()
        totals = torch.zeros(types, loader.answers, dtype=torch.float64, device=loader.device)
        for rows in torch.split(torch.arange(len(loader), device=loader.device), size):
            of_type = nn.functional.one_hot(loader.arrays["qtype"][rows], types).double()  # [B, types]
            totals += (
                of_type.T @ loader.targets(rows).double()
            )  # a product, because adding by index is not deterministic on a GPU
        counts = torch.bincount(loader.arrays["qtype"], minlength=types).unsqueeze(1)
        self.register_buffer("mean", (totals / counts.clamp(min=1)).float())

    def forward(self, batch: Batch) -> Tensor:
        """Look up the means for the question types of a batch."""
        return self.mean[batch.need("qtype")]


class FrozenBias(Bias):
    """Use the answers of a trained and frozen network."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network.requires_grad_(requires_grad=False)

    def forward(self, batch: Batch) -> Tensor:
        """Run the network."""
        return self.network.chances(batch)


class TrainingStep(nn.Module):
    """Compute the loss of a method on examples of a loader; it contains all weights that the loss depends on."""

    def __init__(
        self, model: Network, debias: Debias, bias: Bias | None, loader: QuestionLoader, precision: Precision
    ) -> None:
        super().__init__()
        self.model, self.debias, self.bias = model, debias, bias
        self._loader, self._precision = loader, precision

    def clone(self) -> "TrainingStep":
        """Copy all weights, but not the examples."""
        return TrainingStep(*deepcopy((self.model, self.debias, self.bias)), self._loader, self._precision)

    def forward(self, rows: Tensor) -> Tensor:
        """Compute the loss of some examples, given by their row numbers."""
        batch = self._loader.batch(rows)
        if self.bias is not None:
            batch = batch.to(bias=self.bias(batch))
        with self._precision():
            loss: Tensor = self.debias(self.model, batch)
        return loss


def differentiate(step: TrainingStep, rows: Tensor) -> Tensor:
    """Store the gradients for the optimizer and return the loss."""
    for weight in trainable(step):
        weight.grad = None
    loss: Tensor = step(rows)
    loss.backward()  # type: ignore[no-untyped-call]  # torch
    return loss.detach()


def trainable(step: TrainingStep) -> list[nn.Parameter]:
    """List the weights that a step trains."""
    return [weight for weight in step.parameters() if weight.requires_grad]


class Recording(NamedTuple):
    """Hold a recorded step and the tensors it reads and writes."""

    graph: torch.cuda.CUDAGraph
    rows: Tensor
    loss: Tensor

    def play(self, rows: Tensor) -> Tensor:
        """Take the step for other examples, given by their row numbers."""
        self.rows.copy_(rows)
        self.graph.replay()
        return self.loss


class Recorder:
    """Take steps of one batch size, with one recording for all steps of a kind, which run the same kernels."""

    def __init__(self, step: TakeStep, size: int, device: torch.device) -> None:
        self._step, self._size, self._device = step, size, device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]  # torch
        self._taken: Counter[StepKind] = Counter()
        self._recordings: dict[StepKind, Recording | None] = {}

    def __call__(self, rows: Tensor, kind: StepKind) -> Tensor:
        """Take the step for some examples, and return its loss, which the next step may overwrite."""
        if len(rows) != self._size:  # the last batch of an epoch is shorter
            return self._step(rows, kind)
        if kind not in self._recordings and self._taken[kind] >= WARM_UP:
            self._recordings[kind] = self._record(kind)
        recording = self._recordings.get(kind)
        if recording is not None:
            return recording.play(rows)
        self._taken[kind] += 1
        return self._take_on_stream(rows, kind)

    def _take_on_stream(self, rows: Tensor, kind: StepKind) -> Tensor:
        """Take a step on a separate stream, as recording requires of the steps before it."""
        now = torch.cuda.current_stream(self._device)
        self._stream.wait_stream(now)
        with torch.cuda.stream(self._stream):
            loss = self._step(rows, kind)
        now.wait_stream(self._stream)
        return loss

    def _record(self, kind: StepKind) -> Recording | None:
        """Record a step without taking it; None for a step that waits for the CPU, which cannot be recorded."""
        rows = torch.zeros(self._size, dtype=torch.long, device=self._device)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                loss = self._step(rows, kind)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            _log.warning("steps of kind %s cannot be recorded, which is slower: %s", kind, error)
            return None
        return Recording(graph, rows, loss)
