"""What a network is trained on, as plain arrays: regions by image, questions by split; NumPy alone.

I images, R regions in all, D numbers each; M questions, T words, S scored answers, K options of L words.
"""

import hashlib
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyechart.errors import FileFormatError

Array = NDArray[Any]
NO_IMAGE = -1
SPLITS = ("train", "val")  # what training needs; every other split is only watched


class Padded(NamedTuple):
    """Hold the regions of some images, filled up to the same number."""

    v: Array  # [B, N, D]
    boxes: Array  # [B, N, 4]
    seen: Array  # [B, N] bool


@dataclass(frozen=True)
class Regions:
    """The regions of all images under each other; `values` may lie in a file that is mapped into memory."""

    values: Array  # [R, D]
    starts: Array  # [I + 1], those of image i are values[starts[i] : starts[i + 1]]
    boxes: Array | None = None  # [R, 4] corners as shares of width and height

    @property
    def most(self) -> int:
        """Count the regions of the image that has most."""
        return int(np.diff(self.starts).max(initial=1))

    def take(self, images: Array) -> Padded:
        """Gather the regions of images by their numbers; an image of number -1 has none."""
        n = self.most
        known = images >= 0
        first, last = (np.where(known, self.starts[np.where(known, images, 0) + at], 0) for at in (0, 1))
        at = first[:, None] + np.arange(n)
        seen = at < last[:, None]
        at = np.where(seen, at, 0)
        boxes = np.zeros((*at.shape, 4), np.float32) if self.boxes is None else self.boxes[at]
        if not len(self.values):
            return Padded(np.zeros((*at.shape, self.values.shape[1]), self.values.dtype), boxes, seen)
        return Padded(np.where(seen[..., None], self.values[at], 0), np.where(seen[..., None], boxes, 0), seen)


@dataclass(frozen=True)
class Questions:
    """The examples of a split; what a method or network does not need may be None."""

    q: Array  # [M, T] words by number, 0 behind the last
    image: Array  # [M] images by number, -1 where none is shown
    answers: Array  # [M, S] answers by number
    scores: Array  # [M, S] their scores, 0 behind the last
    qtype: Array | None = None  # [M]
    hints: Array | None = None  # [M, N]
    qmask: Array | None = None  # [M, T] bool
    program: Array | None = None  # [M, 3]
    cand: Array | None = None  # [M, K, L]
    right: Array | None = None  # [M, K] scores of the options
    seen: Array | None = None  # [M, N] bool, regions in sight where not all are

    def __len__(self) -> int:
        return len(self.q)


@dataclass(frozen=True)
class TrainingArrays:
    """Regions and the questions of every split; words, answers and types of questions are counted with number 0."""

    regions: Regions
    splits: Mapping[str, Questions]
    words: int
    answers: int
    types: int = 1

    @property
    def watched(self) -> tuple[str, ...]:
        """Name the splits that are scored after every epoch: the validation split first."""
        return ("val", *(name for name in self.splits if name not in SPLITS))

    def digest(self) -> str:
        """Tell these questions and answers from all others; features may be too many to be read whole."""
        found = hashlib.sha256()
        for name, values in save_questions(self.splits).items():
            found.update(f"{name} {values.dtype} {values.shape} ".encode())
            found.update(np.ascontiguousarray(values).data)
        return found.hexdigest()[:16]


def save_questions(splits: Mapping[str, Questions]) -> dict[str, Array]:
    """Lay the arrays of all splits under names such as `train/q`, to be written with `numpy.savez`."""
    found = {f"{name}/{field.name}": getattr(split, field.name) for name, split in splits.items() for field in _FIELDS}
    return {key: value for key, value in found.items() if value is not None}


def load_questions(arrays: Mapping[str, Array]) -> dict[str, Questions]:
    """Read back what `save_questions` laid out, whatever else is among the arrays."""
    names = dict.fromkeys(key.rpartition("/")[0] for key in arrays if key.endswith("/q"))
    known = {name: {field.name: arrays.get(f"{name}/{field.name}") for field in _FIELDS} for name in names}
    return {name: Questions(**known[name]) for name in names}  # type: ignore[arg-type]  # the first four are always there


_FIELDS = fields(Questions)


def read_arrays(file: Path) -> dict[str, Array]:
    """Read an npz file, without ever unpickling."""
    try:
        with np.load(file, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise FileFormatError(f"arrays in {file}", str(error).splitlines()[0], "make the file anew") from None
