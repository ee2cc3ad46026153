"""Pictures on the wire: data URLs of a bounded size, with the media type of what they hold."""

import base64
import io
import math
from functools import lru_cache
from typing import NamedTuple

from eyechart.errors import DataError
from eyechart.pictures import Picture

SIDE = 1536  # pixels of the longer side of a picture that is sent, unless another is set


class Bounds(NamedTuple):
    """How large a picture may be when it is sent."""

    side: int  # pixels of the longer side; larger pictures are made smaller
    size: int  # bytes; a PNG that is larger is sent as JPEG


@lru_cache(maxsize=64)
def data_url(picture: Picture, bounds: Bounds) -> str:
    """Write a picture without loss as PNG where that is small enough, else as JPEG."""
    for form in ("png", "jpeg"):
        content = _encode(picture, bounds.side, form)
        if len(content) <= bounds.size:
            return f"data:image/{form};base64,{base64.b64encode(content).decode()}"
    found = f"{len(content):,} with a side of {bounds.side} pixels"
    raise DataError(f"a picture of at most {bounds.size:,} bytes", found, "lower max_side, or raise max_bytes")


def _encode(picture: Picture, side: int, form: str) -> bytes:
    from PIL import Image

    image = Image.fromarray(picture.pixels)
    image.thumbnail((side, side), Image.Resampling.LANCZOS)  # leaves smaller ones alone
    buffer = io.BytesIO()
    image.save(buffer, form, quality=90) if form == "jpeg" else image.save(buffer, form)
    return buffer.getvalue()


def estimate_tokens(text: str, pictures: tuple[Picture, ...]) -> int:
    """Estimate what a prompt costs: a token for 4 characters; for a picture 85 and 170 for each 512 x 512 tile."""
    return math.ceil(len(text) / 4) + sum(85 + 170 * _tiles(picture) for picture in pictures)


def _tiles(picture: Picture) -> int:
    height, width = map(int, picture.pixels.shape[:2])
    scale = min(1.0, SIDE / max(height, width))
    return math.ceil(height * scale / 512) * math.ceil(width * scale / 512)
