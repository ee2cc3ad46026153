"""Edit pictures: hide boxes in one of several ways, keeping the size; or crop the picture to what is not hidden.

A hidden box is hidden entirely, with every pixel that it touches; with `feather` the edit fades out around it. Pixels
further away keep their values exactly. The same input always gives the same output: even the noise is deterministic.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from eyechart.base.errors import SettingError

Pixels = NDArray[np.uint8]  # height x width x 3
Box = Sequence[float]

GRAY = 128
_BLUR = 8  # the radius is this part of the shorter side, which blurs lettering and the colours of single objects away


def hide(pixels: Pixels, boxes: Sequence[Box], how: str = "mask", feather: int = 0) -> Pixels:
    """Replace the pixels in boxes by `mask` (the mean colour), `blur`, `noise` or `blank` (gray)."""
    if how not in WAYS:
        raise SettingError(f"pixels hidden by one of {', '.join(WAYS)}", repr(how), "choose one of these")
    strength = cover(pixels, boxes, feather)
    edit, edited = WAYS[how](pixels), pixels.copy()
    wholly, partly = strength == 1, (strength > 0) & (strength < 1)
    np.copyto(edited, edit, where=wholly[:, :, None])
    share = strength[partly][:, None]
    edited[partly] = np.round(edit[partly] * share + pixels[partly] * (1 - share))
    return edited


def crop(pixels: Pixels, boxes: Sequence[Box]) -> Pixels:
    """Crop the picture to the smallest rectangle around what is not hidden, and mask the hidden parts inside it."""
    shown = cover(pixels, boxes) == 0
    lines, columns = (np.flatnonzero(shown.any(axis=axis)) for axis in (1, 0))
    masked = hide(pixels, boxes)
    return masked[lines[0] : lines[-1] + 1, columns[0] : columns[-1] + 1] if lines.size else masked


def cover(pixels: Pixels, boxes: Sequence[Box], feather: int = 0) -> NDArray[np.float64]:
    """Compute how strongly each pixel is edited: 1 inside the boxes, falling to 0 over `feather` pixels around them."""
    strength = np.zeros(pixels.shape[:2])
    for away in range(feather, -1, -1):
        for left, top, right, bottom in boxes:
            lines = slice(max(int(np.floor(top)) - away, 0), max(int(np.ceil(bottom)) + away, 0))
            columns = slice(max(int(np.floor(left)) - away, 0), max(int(np.ceil(right)) + away, 0))
            if right > left and bottom > top:
                strength[lines, columns] = 1 - away / (feather + 1)
    return strength


def _mean(pixels: Pixels) -> Pixels:
    channels = np.ascontiguousarray(pixels.reshape(-1, 3).T)  # a mean over the first axes is ten times as slow
    return np.broadcast_to(np.round(channels.mean(axis=1)).astype(np.uint8), pixels.shape)


def _blank(pixels: Pixels) -> Pixels:
    return np.full_like(pixels, GRAY)


def _noise(pixels: Pixels) -> Pixels:
    return np.random.default_rng(0).integers(0, 256, pixels.shape, np.uint8)


def _blurred(pixels: Pixels) -> Pixels:
    from PIL import Image, ImageFilter

    blurred = Image.fromarray(pixels).filter(ImageFilter.GaussianBlur(min(pixels.shape[:2]) / _BLUR))
    return np.asarray(blurred)


WAYS: dict[str, Callable[[Pixels], Pixels]] = {"mask": _mean, "blur": _blurred, "noise": _noise, "blank": _blank}
