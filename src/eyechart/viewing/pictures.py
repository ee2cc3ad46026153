"""Pictures as a run shows them, opened only if they are inside the picture folder or the run."""

from pathlib import Path
from typing import Any

import polars as pl

from eyechart.base.errors import EyechartError
from eyechart.data.images import Images, picture_paths
from eyechart.data.pictures import show_pictures
from eyechart.data.several import IMAGE_LIST
from eyechart.data.store import Store
from eyechart.reporting.gallery import PICTURE_COLUMNS, shrink

SIDES = {"small": 320, "large": 1280}
QUALITY = 82


def picture_of(
    store: Store, example: str, condition: str = "plain", size: str = "large", number: int = 0
) -> bytes | None:
    """Return what an example shows under a condition, as WebP; None if nothing.

    If an example has several pictures, the first is edited as the probe says, and the others are shown unchanged.
    """
    shown = _shown(store, example, condition)
    if number:
        several = shown.get(IMAGE_LIST) or ()
        return draw(store, several[number], {}, size) if number < len(several) else None
    image = shown.get("image")
    return None if image is None else draw(store, str(image), shown, size)


def draw(store: Store, image: str, edits: dict[str, Any], size: str) -> bytes | None:
    """Open a picture, edit it and shrink it; None if it cannot be opened or is outside the allowed folders."""
    images = store.picture_table(image)
    if not _is_inside(store, images):
        return None
    probe = pl.DataFrame(
        {name: [edits.get(name)] for name in PICTURE_COLUMNS} | {"image": [image]}, schema=PICTURE_COLUMNS
    )
    try:
        picture = next(show_pictures(probe, images))
    except EyechartError:
        return None
    return None if picture is None else shrink(picture.pixels, SIDES[size], QUALITY)


def _shown(store: Store, example: str, condition: str) -> dict[str, Any]:
    """Read which picture a probe shows and what of it is hidden; without a probe, the example's own picture."""
    probes = store.probe_keys(condition)
    rows = [] if probes is None else probes.scan().filter(pl.col("id") == example).collect().to_dicts()
    if not rows and condition != "plain":
        return {}
    probe = rows[0] if rows else {"image_from": example}
    examples = store.examples.scan()
    columns = [name for name in ("image", IMAGE_LIST) if name in examples.collect_schema()]
    giver = examples.filter(pl.col("id") == probe.get("image_from", example)).select(columns).collect()
    return probe | (giver.row(0, named=True) if giver.height else {"image": None})


def _is_inside(store: Store, images: Images) -> bool:
    """Resolve every link before a file is opened, because a dataset from elsewhere may name any path."""
    folders = [folder for folder in (images.root, store.folder) if folder is not None]
    paths = picture_paths(images)["path"].to_list()
    return bool(paths) and all(path and any(_is_within(Path(path), folder) for folder in folders) for path in paths)


def _is_within(path: Path, folder: Path) -> bool:
    try:
        return path.resolve().is_relative_to(folder.resolve())
    except (OSError, ValueError, RuntimeError):  # a loop of links, or a name no file can have
        return False


def measure(store: Store, image: str) -> tuple[int, int] | None:
    """Measure the width and height of a picture whose table lacks them."""
    images = store.picture_table(image)
    if not _is_inside(store, images):
        return None
    try:
        picture = next(show_pictures(pl.DataFrame({"image": [image]}), images))
    except EyechartError:
        return None
    return None if picture is None else (picture.pixels.shape[1], picture.pixels.shape[0])
