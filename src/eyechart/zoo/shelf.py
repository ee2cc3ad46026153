"""Batches on a device: the features stay there when they fit, and are fetched batch by batch when they do not."""

from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor

from eyechart.zoo.arrays import Questions, Regions
from eyechart.zoo.batch import Batch

SHARE = 0.6  # of the device's free memory that features may take
OF_MEMORY = 4 << 30  # bytes they may take where the device is the processor
EXTRA = ("qtype", "hints", "qmask", "program")  # what a network or method may ask for
_BLOCK = 4096  # images at once


class Seen(NamedTuple):
    """Hold the regions of a batch."""

    v: Tensor  # [B, N, D]
    boxes: Tensor  # [B, N, 4]
    mask: Tensor  # [B, N] bool


class Shelf:
    """The features of all images, ready to be shown."""

    def __init__(self, regions: Regions, device: torch.device, room: int | None = None) -> None:
        self.regions, self.device = regions, device
        self.held: Seen | None = None
        if self.size(regions) <= (_room(device) if room is None else room):
            self.held = self._hold()

    @staticmethod
    def size(regions: Regions) -> int:
        """Count the bytes of all features, filled up to the same number of regions."""
        images = len(regions.starts) - 1
        return int(images * regions.most * (regions.values.shape[1] * regions.values.itemsize + 17))

    @classmethod
    def of(cls, v: Tensor, boxes: Tensor) -> Self:
        """Take features that are on a device already, [I, N, D] and [I, N, 4]."""
        made = cls.__new__(cls)
        made.device = v.device
        made.held = Seen(v, boxes, torch.ones(v.shape[:2], dtype=torch.bool, device=v.device))
        return made

    def show(self, images: Tensor) -> Seen:
        """Give the regions of images by number; the image -1 has none."""
        if self.held is None:
            return self._fetch(images.cpu().numpy())
        at = images.clamp(min=0)
        mask = self.held.mask[at] & (images >= 0).unsqueeze(1)
        return Seen(self.held.v[at].float(), self.held.boxes[at], mask)

    def _fetch(self, images: np.ndarray) -> Seen:
        v, boxes, mask = (torch.from_numpy(np.ascontiguousarray(part)) for part in self.regions.take(images))
        return Seen(v.to(self.device).float(), boxes.to(self.device).float(), mask.to(self.device))

    def _hold(self) -> Seen:
        images = np.arange(len(self.regions.starts) - 1)
        blocks = [self.regions.take(images[at : at + _BLOCK]) for at in range(0, max(1, len(images)), _BLOCK)]
        parts = [
            torch.cat([torch.from_numpy(np.ascontiguousarray(part)).to(self.device) for part in column])
            for column in zip(*blocks, strict=True)
        ]
        return Seen(parts[0], parts[1].float(), parts[2])


def _room(device: torch.device) -> int:
    return int(SHARE * torch.cuda.mem_get_info(device)[0]) if device.type == "cuda" else OF_MEMORY


class Deck:
    """The questions of a split on a device; `answers` is how many there are, `options` asks for options to choose."""

    def __init__(self, questions: Questions, shelf: Shelf, answers: int, *, options: bool = False) -> None:
        self.shelf, self.answers, self.options = shelf, answers, options
        held = {name: value for name, value in vars(questions).items() if value is not None}
        longest = _longest(questions.q)
        held |= {name: held[name][:, :longest] for name in ("q", "qmask") if name in held}
        self.held = {name: _tensor(value, shelf.device) for name, value in held.items()}
        self.extra = [name for name in EXTRA if name in self.held]

    def __len__(self) -> int:
        return len(self.held["q"])

    def keep_only(self, needs: tuple[str, ...]) -> None:
        """Lay out no more than is needed: every field of a batch costs time."""
        wanted = {"qtype" if name == "bias" else name for name in needs}
        self.extra = [name for name in self.extra if name in wanted]

    def batch(self, rows: Tensor) -> Batch:
        """Lay out some examples by their numbers."""
        seen = self.shelf.show(self.held["image"][rows])
        mask = seen.mask & self.held["seen"][rows] if "seen" in self.held else seen.mask
        extra = {name: self.held[name][rows] for name in self.extra}
        cand = self.held["cand"][rows] if self.options else None
        q = self.held["q"][rows]
        return Batch(q, seen.v, seen.boxes, mask, self.wanted(rows), cand, index=rows, **extra)

    def batches(self, size: int, order: Tensor | None = None) -> Iterator[Batch]:
        """Go through all examples, in their order or another."""
        rows = torch.arange(len(self), device=self.shelf.device) if order is None else order.to(self.shelf.device)
        for part in torch.split(rows, size):
            yield self.batch(part)

    def wanted(self, rows: Tensor) -> Tensor:
        """Score what may be said to some examples: every option, or every answer."""
        return self.held["right"][rows] if self.options else self.targets(rows)

    def targets(self, rows: Tensor) -> Tensor:
        """Spread the scored answers of some examples over all answers, [B, A]."""
        a = torch.zeros(len(rows), self.answers, device=self.shelf.device)
        return a.scatter_reduce_(1, self.held["answers"][rows], self.held["scores"][rows], "amax")


def _longest(q: np.ndarray) -> int:
    """Count the words of the longest question, at least 1: what is padding everywhere would only cost time."""
    return 1 + int(np.flatnonzero(q.any(0)).max(initial=0))


def _tensor(value: np.ndarray, device: torch.device) -> Tensor:
    kinds = {"f": torch.float32, "b": torch.bool}
    return torch.tensor(np.asarray(value)).to(device=device, dtype=kinds.get(value.dtype.kind, torch.long))
