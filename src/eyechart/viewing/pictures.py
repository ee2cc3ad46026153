"""Pictures as a run shows them, opened only where they lie under the folder of pictures or in the run."""

import io
from pathlib import Path
from typing import Any

import polars as pl
from polars.datatypes import DataType, DataTypeClass

from eyechart.dataset import Images
from eyechart.errors import EyechartError
from eyechart.pictures import picture_paths, show_pictures
from eyechart.pixels import Pixels
from eyechart.probes import SEVERAL
from eyechart.store import Store
from eyechart.tables import BOX

SIDES = {"small": 320, "large": 1280}
QUALITY = 82
_SHOWN: dict[str, DataType | DataTypeClass] = {"image": pl.String, "removal": pl.String, "hidden": pl.List(BOX)}


def picture_of(
    store: Store, example: str, condition: str = "plain", size: str = "large", place: int = 0
) -> bytes | None:
    """Draw what is seen of an example under a condition, as WebP; None where there is nothing to see.

    Of an example with several pictures the first is edited as the probe says, and the others are shown as they are.
    """
    shown = _shown(store, example, condition)
    if place:
        several = shown.get(SEVERAL) or ()
        return draw(store, several[place], {}, size) if place < len(several) else None
    image = shown.get("image")
    return None if image is None else draw(store, str(image), shown, size)


def draw(store: Store, image: str, edits: dict[str, Any], size: str) -> bytes | None:
    """Open a picture, edit it and make it small."""
    images = store.picture_table(image)
    if not _is_inside(store, images):
        return None
    probe = pl.DataFrame({name: [edits.get(name)] for name in _SHOWN} | {"image": [image]}, schema=_SHOWN)
    try:
        picture = next(show_pictures(probe, images))
    except EyechartError:
        return None
    return None if picture is None else _as_webp(picture.pixels, SIDES[size])


def _shown(store: Store, example: str, condition: str) -> dict[str, Any]:
    """Read which picture a probe shows and what of it is hidden; without a probe the example's own."""
    probes = store.probe_keys(condition)
    found = [] if probes is None else probes.scan().filter(pl.col("id") == example).collect().to_dicts()
    if not found and condition != "plain":
        return {}
    probe = found[0] if found else {"image_from": example}
    examples = store.examples.scan()
    columns = [name for name in ("image", SEVERAL) if name in examples.collect_schema()]
    giver = examples.filter(pl.col("id") == probe.get("image_from", example)).select(columns).collect()
    return probe | (giver.row(0, named=True) if giver.height else {"image": None})


def _is_inside(store: Store, images: Images) -> bool:
    """Follow every link before a file is opened: a dataset from elsewhere may name any path."""
    places = [place for place in (images.root, store.folder) if place is not None]
    paths = picture_paths(images)["path"].to_list()
    return bool(paths) and all(path and any(_lies_in(Path(path), place) for place in places) for path in paths)


def _lies_in(path: Path, place: Path) -> bool:
    try:
        return path.resolve().is_relative_to(place.resolve())
    except (OSError, ValueError, RuntimeError):  # a loop of links, or a name no file can have
        return False


def _as_webp(pixels: Pixels, side: int) -> bytes:
    from PIL import Image

    small = Image.fromarray(pixels)
    small.thumbnail((side, side))
    file = io.BytesIO()
    small.save(file, "WEBP", quality=QUALITY)
    return file.getvalue()


def measure(store: Store, image: str) -> tuple[int, int] | None:
    """Find the width and the height of a picture that the table does not tell."""
    images = store.picture_table(image)
    if not _is_inside(store, images):
        return None
    try:
        picture = next(show_pictures(pl.DataFrame({"image": [image]}), images))
    except EyechartError:
        return None
    return None if picture is None else (picture.pixels.shape[1], picture.pixels.shape[0])
