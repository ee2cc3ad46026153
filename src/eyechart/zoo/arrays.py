"""Training data as plain arrays: regions by image and questions by split, with NumPy alone.

I images, R regions in total, D numbers each; M questions, T words, S scored answers, K options of L words.

The objects of a planted world become regions by `make_regions`:

    v = one-hot(label) + one-hot(colour) + one-hot(size) + one-hot(action) side by side, + sd * N(0, 1); then the box
"""

import hashlib
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyechart.base.errors import FileFormatError

Array = NDArray[Any]
NO_IMAGE = -1
SPLITS = ("train", "val")  # the splits that training needs; all others are only scored
OPERATIONS = ("none", "query", "relate", "count", "exist", "choose", "verify")  # of programs; none: no program
NOISE = 0.1  # standard deviation


def require_finite(values: Array, what: str) -> None:
    """Raise an error if any number is NaN or infinite: it would make everything that is learned so."""
    if not np.isfinite(values).all():
        n = int(np.count_nonzero(~np.isfinite(values)))
        raise FileFormatError(f"finite numbers as {what}", f"{n:,} that are NaN or infinite", "extract them again")


class PaddedRegions(NamedTuple):
    """The regions of some images, padded to the same number."""

    v: Array  # [B, N, D]
    boxes: Array  # [B, N, 4]
    seen: Array  # [B, N] bool


@dataclass(frozen=True)
class Regions:
    """The concatenated regions of all images; `values` may be memory-mapped."""

    values: Array  # [R, D]
    starts: Array  # [I + 1], those of image i are values[starts[i] : starts[i + 1]]
    boxes: Array | None = None  # [R, 4] corners as shares of width and height

    @property
    def most(self) -> int:
        """Return the largest number of regions in an image."""
        return int(np.diff(self.starts).max(initial=1))

    def take(self, images: Array) -> PaddedRegions:
        """Gather the regions of images by number; image -1 has none."""
        n = self.most
        known = images >= 0
        first, end = (np.where(known, self.starts[np.where(known, images, 0) + step], 0) for step in (0, 1))
        rows = first[:, None] + np.arange(n)
        seen = rows < end[:, None]
        rows = np.where(seen, rows, 0)
        boxes = np.zeros((*rows.shape, 4), np.float32) if self.boxes is None else self.boxes[rows]
        if not len(self.values):
            return PaddedRegions(np.zeros((*rows.shape, self.values.shape[1]), self.values.dtype), boxes, seen)
        values, boxes = (np.where(seen[..., None], each, 0) for each in (self.values[rows], boxes))
        require_finite(values, "region features")
        require_finite(boxes, "boxes of regions")
        return PaddedRegions(values, boxes, seen)


@dataclass(frozen=True)
class QuestionArrays:
    """The examples of a split; fields that no method or network needs may be None."""

    q: Array  # [M, T] words by number, 0 after the last
    image: Array  # [M] images by number, -1 if none is shown
    answers: Array  # [M, S] answers by number
    scores: Array  # [M, S] their scores, 0 after the last
    qtype: Array | None = None  # [M]
    hints: Array | None = None  # [M, N]
    qmask: Array | None = None  # [M, T] bool
    program: Array | None = None  # [M, 3]
    cand: Array | None = None  # [M, K, L]
    right: Array | None = None  # [M, K] scores of the options
    seen: Array | None = None  # [M, N] bool, the visible regions; None means all

    def __len__(self) -> int:
        return len(self.q)


@dataclass(frozen=True)
class TrainingArrays:
    """Regions and the questions of every split; the counts of words, answers and question types include number 0."""

    regions: Regions
    splits: Mapping[str, QuestionArrays]
    words: int
    answers: int
    types: int = 1

    @property
    def watched(self) -> tuple[str, ...]:
        """List the splits that are scored after every epoch, the validation split first."""
        return ("val", *(name for name in self.splits if name not in SPLITS))

    def digest(self) -> str:
        """Hash the questions and answers, but not the features, which may be too large to read."""
        digest = hashlib.sha256()
        for name, values in save_questions(self.splits).items():
            digest.update(f"{name} {values.dtype} {values.shape} ".encode())
            digest.update(np.ascontiguousarray(values).data)
        return digest.hexdigest()[:16]


def save_questions(splits: Mapping[str, QuestionArrays]) -> dict[str, Array]:
    """Collect the arrays of all splits under names such as `train/q`, to be written with `numpy.savez`."""
    arrays = {f"{name}/{field.name}": getattr(split, field.name) for name, split in splits.items() for field in _FIELDS}
    return {key: value for key, value in arrays.items() if value is not None}


def load_questions(arrays: Mapping[str, Array]) -> dict[str, QuestionArrays]:
    """Restore the splits from the arrays of `save_questions`, ignoring any other arrays."""
    names = dict.fromkeys(key.rpartition("/")[0] for key in arrays if key.endswith("/q"))
    known = {name: {field.name: arrays.get(f"{name}/{field.name}") for field in _FIELDS} for name in names}
    return {name: QuestionArrays(**known[name]) for name in names}  # type: ignore[arg-type]  # the first four are always there


_FIELDS = fields(QuestionArrays)


def read_arrays(file: Path) -> dict[str, Array]:
    """Read an npz file, refusing pickled objects."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            return {name: arrays[name] for name in arrays.files}
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error) as error:
        raise FileFormatError(f"arrays in {file}", str(error).splitlines()[0], "create the file again") from None


def make_regions(codes: Array, keys: Array, boxes: Array, sizes: Sequence[int], noise: float = NOISE) -> Regions:
    """Make features from codes [I, N, parts] (-1: the object lacks the part, all -1: no object) and boxes [I, N, 4].

    `sizes` are the numbers of codes of each part, `keys` [I] are integers. The noise of an image depends on its key
    alone, so that an image has the same features in every dataset.
    """
    exists = (codes >= 0).any(-1)  # [I, N]
    starts = np.concatenate([[0], np.cumsum(exists.sum(1))]).astype(np.int64)
    region_codes = codes[exists]  # [R, parts]
    hot = np.zeros((len(region_codes), sum(sizes)), np.float32)
    for part, start in enumerate(np.cumsum([0, *sizes])[:-1]):
        rows = np.flatnonzero(region_codes[:, part] >= 0)
        hot[rows, start + region_codes[rows, part]] = 1
    region_boxes = boxes[exists].astype(np.float32)
    hot += np.float32(noise) * _noise(keys, exists.sum(1), hot.shape[1])
    return Regions(np.concatenate([hot, region_boxes], axis=1), starts, region_boxes)


def _noise(keys: Array, counts: Array, width: int) -> Array:
    drawn = [
        np.random.Generator(np.random.Philox(key=int(key))).standard_normal((int(n), width), np.float32)
        for key, n in zip(keys, counts, strict=True)
    ]
    return np.concatenate([np.zeros((0, width), np.float32), *drawn])
