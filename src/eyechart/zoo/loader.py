"""Batches on a device: region features stay there if they fit, and are fetched batch by batch otherwise."""

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from eyechart.zoo.arrays import QuestionArrays, Regions
from eyechart.zoo.batch import Batch

SHARE = 0.6  # of the device's free memory that features may use
MEMORY_LIMIT = 4 << 30  # bytes that features may use if the device is the CPU
EXTRA = ("qtype", "hints", "qmask", "program")  # fields that a network or method may need
_BLOCK = 4096  # images at once


class RegionTensors(NamedTuple):
    """Hold the regions of some images."""

    v: Tensor  # [B, N, D]
    boxes: Tensor  # [B, N, 4]
    mask: Tensor  # [B, N] bool


class DeviceRegions:
    """Look up the features of all images; `held` contains them if they fit on the device."""

    def __init__(self, regions: Regions, device: torch.device, room: int | None = None) -> None:
        self.regions, self.device = regions, device
        self.held: RegionTensors | None = None
        if self.size(regions) <= (_free_memory(device) if room is None else room):
            self.held = self._hold()

    @staticmethod
    def size(regions: Regions) -> int:
        """Count the bytes of all features, padded to the same number of regions."""
        images = len(regions.starts) - 1
        return int(images * regions.most * (regions.values.shape[1] * regions.values.itemsize + 17))

    @classmethod
    def of(cls, v: Tensor, boxes: Tensor) -> Self:
        """Wrap features that are already on a device, [I, N, D] and [I, N, 4]."""
        regions = cls.__new__(cls)
        regions.device = v.device
        regions.held = RegionTensors(v, boxes, torch.ones(v.shape[:2], dtype=torch.bool, device=v.device))
        return regions

    def take(self, images: Tensor) -> RegionTensors:
        """Gather the regions of images by number; image -1 has none."""
        if self.held is None:
            return self._fetch(images.cpu().numpy())
        rows = images.clamp(min=0)
        mask = self.held.mask[rows] & (images >= 0).unsqueeze(1)
        return RegionTensors(self.held.v[rows].float(), self.held.boxes[rows], mask)

    def _fetch(self, images: np.ndarray) -> RegionTensors:
        v, boxes, mask = (torch.from_numpy(np.ascontiguousarray(part)) for part in self.regions.take(images))
        return RegionTensors(v.to(self.device).float(), boxes.to(self.device).float(), mask.to(self.device))

    def _hold(self) -> RegionTensors:
        images = np.arange(len(self.regions.starts) - 1)
        starts = range(0, max(1, len(images)), _BLOCK)
        blocks = [self.regions.take(images[start : start + _BLOCK]) for start in starts]
        parts = [
            torch.cat([torch.from_numpy(np.ascontiguousarray(part)).to(self.device) for part in column])
            for column in zip(*blocks, strict=True)
        ]
        return RegionTensors(parts[0], parts[1].float(), parts[2])


def _free_memory(device: torch.device) -> int:
    return int(SHARE * torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else MEMORY_LIMIT


class QuestionLoader:
    """Make batches of a split's questions; `answers` is the number of answers, `options` adds the answer options."""

    def __init__(
        self, questions: QuestionArrays, regions: DeviceRegions, answers: int, *, options: bool = False
    ) -> None:
        self.regions, self.device, self.answers, self.options = regions, regions.device, answers, options
        arrays = {name: value for name, value in vars(questions).items() if value is not None}
        longest = _longest(questions.q)
        arrays |= {name: arrays[name][:, :longest] for name in ("q", "qmask") if name in arrays}
        self.arrays = {name: _tensor(value, self.device) for name, value in arrays.items()}
        self.extra = [name for name in EXTRA if name in self.arrays]

    def __len__(self) -> int:
        return len(self.arrays["q"])

    def keep_only(self, needs: tuple[str, ...]) -> None:
        """Drop the extra fields that are not needed, as every field of a batch costs time."""
        wanted = {"qtype" if name == "bias" else name for name in needs}
        self.extra = [name for name in self.extra if name in wanted]

    def batch(self, rows: Tensor) -> Batch:
        """Make a batch of examples, given by their row numbers."""
        regions = self.regions.take(self.arrays["image"][rows])
        mask = regions.mask & self.arrays["seen"][rows] if "seen" in self.arrays else regions.mask
        extra = {name: self.arrays[name][rows] for name in self.extra}
        cand = self.arrays["cand"][rows] if self.options else None
        q = self.arrays["q"][rows]
        return Batch(q, regions.v, regions.boxes, mask, self.scores(rows), cand, index=rows, **extra)

    def batches(self, size: int, order: Tensor | None = None) -> Iterator[Batch]:
        """Iterate over all examples in batches, in their order or another."""
        rows = torch.arange(len(self), device=self.device) if order is None else order.to(self.device)
        for part in torch.split(rows, size):
            yield self.batch(part)

    def scores(self, rows: Tensor) -> Tensor:
        """Return the score of every option of some examples, or else of every answer."""
        return self.arrays["right"][rows] if self.options else self.targets(rows)

    def targets(self, rows: Tensor) -> Tensor:
        """Return the scores of all answers for some examples, [B, A]."""
        a = torch.zeros(len(rows), self.answers, device=self.device)
        return a.scatter_reduce_(1, self.arrays["answers"][rows], self.arrays["scores"][rows], "amax")


def _longest(q: np.ndarray) -> int:
    """Return the length of the longest question, at least 1, because common padding would only cost time."""
    return 1 + int(np.flatnonzero(q.any(0)).max(initial=0))


def _tensor(value: np.ndarray, device: torch.device) -> Tensor:
    kinds = {"f": torch.float32, "b": torch.bool}
    return torch.tensor(np.asarray(value)).to(device=device, dtype=kinds.get(value.dtype.kind, torch.long))
