"""One training step recorded on a GPU and played again: a small network costs launches of kernels, not arithmetic."""

import logging
from collections import Counter
from collections.abc import Callable, Hashable
from typing import NamedTuple

import torch
from torch import Tensor

_log = logging.getLogger("eyechart.zoo")

WARM = 3  # steps of a kind that are taken as they are: optimizers and kernels make their memory in them


class Kind(NamedTuple):
    """What steps share that run the same operations with the same numbers."""

    of_method: Hashable
    rate: float


Step = Callable[[Tensor, Kind], Tensor]


class Recording(NamedTuple):
    """Hold a recorded step and where it reads and writes."""

    graph: torch.cuda.CUDAGraph
    rows: Tensor
    loss: Tensor

    def play(self, rows: Tensor) -> Tensor:
        """Take the step for other examples, by their numbers."""
        self.rows.copy_(rows)
        self.graph.replay()
        return self.loss


class Recorder:
    """Take steps of one batch size; all steps of a kind run the same kernels, so that one recording serves them."""

    def __init__(self, step: Step, size: int, device: torch.device) -> None:
        self._step, self._size, self._device = step, size, device
        self._aside = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]  # torch
        self._taken: Counter[Kind] = Counter()
        self._recordings: dict[Kind, Recording | None] = {}

    def __call__(self, rows: Tensor, kind: Kind) -> Tensor:
        """Take the step for some examples and give its loss, which the next step may overwrite."""
        if len(rows) != self._size:  # the last batch of an epoch is shorter
            return self._step(rows, kind)
        if kind not in self._recordings and self._taken[kind] >= WARM:
            self._recordings[kind] = self._record(kind)
        recording = self._recordings.get(kind)
        if recording is not None:
            return recording.play(rows)
        self._taken[kind] += 1
        return self._beside(rows, kind)

    def _beside(self, rows: Tensor, kind: Kind) -> Tensor:
        """Take a step on a stream of its own, as recording demands of the steps before it."""
        now = torch.cuda.current_stream(self._device)
        self._aside.wait_stream(now)
        with torch.cuda.stream(self._aside):
            loss = self._step(rows, kind)
        now.wait_stream(self._aside)
        return loss

    def _record(self, kind: Kind) -> Recording | None:
        """Record a step without taking it; a step that waits for the processor cannot be recorded."""
        rows = torch.zeros(self._size, dtype=torch.long, device=self._device)
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph):
                loss = self._step(rows, kind)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError as error:
            _log.warning("steps of kind %s are not recorded, which is slower: %s", kind, error)
            return None
        return Recording(graph, rows, loss)
