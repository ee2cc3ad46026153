"""Pictures as a run shows them, opened only if they are inside the picture folder or the run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from eyechart.base.errors import EyechartError
from eyechart.data.images import PICTURES, Images, picture_paths
from eyechart.data.picture_files import PictureTraits, find_picture, is_inside, read_header, resolve
from eyechart.data.pictures import show_pictures
from eyechart.data.several import IMAGE_LIST, PLACES, boxes_on
from eyechart.data.store import Store
from eyechart.data.tables import PICTURE_COLUMNS
from eyechart.data.turning import require_upright
from eyechart.data.web import is_address
from eyechart.reporting.gallery import shrink

PICTURE_PLACES = tuple(map(str, range(1, 100)))  # of further pictures of one example, in addresses
SIDES = {"small": 320, "medium": 640, "large": 1280}
QUALITY = 82


def list_pictures(store: Store, example: str, condition: str = "plain") -> list[tuple[str, str]]:
    """List the names of the pictures that an example shows under a condition, in order, each with its caption."""
    shown = _shown(store, example, condition)
    whole = _whole(store, shown)
    places = shown.get(PICTURES) or range(len(whole))
    return [_caption(whole, number, place) for number, place in enumerate(places, 1)]


def picture_of(
    store: Store, example: str, condition: str = "plain", size: str = "large", number: int = 0
) -> bytes | None:
    """Return one of the pictures that an example shows under a condition, as WebP; None if it has not as many."""
    several = list_pictures(store, example, condition)
    if number >= len(several):
        return None
    return draw(store, several[number][0], _shown(store, example, condition), size, number)


def draw(store: Store, image: str, edits: dict[str, Any], size: str, number: int = 0) -> bytes | None:
    """Open a picture, edit it and shrink it; None if it cannot be opened or is outside the allowed folders.

    It is one of several by its number, so that only those boxes are hidden that are on it.
    """
    images = store.picture_table(image)
    if not _is_inside(store, images):
        return None
    probe = pl.DataFrame(
        {name: [edits.get(name)] for name in PICTURE_COLUMNS} | {"image": [image]}, schema=PICTURE_COLUMNS
    )
    probe = probe.with_columns(boxes_on(probe, "hidden", number)).drop(PLACES["hidden"])
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


def _whole(store: Store, shown: Mapping[str, Any]) -> list[tuple[str, float | None]]:
    """List all pictures of the image that a probe shows, with their times; runs of older versions have lists alone."""
    image, listed = shown.get("image"), shown.get(IMAGE_LIST) or [None]
    if image is None:
        return []
    table = store.picture_table(image).table
    pictures = table[PICTURES].to_list() if PICTURES in table.columns else []
    if pictures and pictures[0]:
        return [(each["image"], each["time"]) for each in pictures[0]]
    return [(name, None) for name in (listed if listed[0] == image else [image])]


def _caption(whole: Sequence[tuple[str, float | None]], number: int, place: int) -> tuple[str, str]:
    """Caption a picture with its number, its time in the video, and its number in the data if that is another."""
    image, time = whole[place]
    at = "" if time is None else f" at {int(time // 60)}:{time % 60:04.1f}"
    return image, f"{number}{at}" + ("" if place == number - 1 else f" (in the data {place + 1})")


def _is_inside(store: Store, images: Images) -> bool:
    """Allow data without a folder of pictures, which may name any path, those in the run alone."""
    paths = [path for path in picture_paths(images)["path"] if path and not is_address(path)]
    return images.root is not None or all(
        (target := resolve(Path(path))) is not None and is_inside(target, (store.folder,)) for path in paths
    )


def measure(store: Store, image: str) -> PictureTraits | None:
    """Read the size and the orientation of a picture; None if it cannot be opened."""
    images = store.picture_table(image)
    path = picture_paths(images)["path"].to_list()
    if not _is_inside(store, images) or not path or path[0] is None:
        return None
    try:
        return read_header(find_picture(image, path[0], images.root, images.web.links))
    except EyechartError:
        return None


def boxes_fit(store: Store, image: str, traits: PictureTraits) -> bool:
    """Return whether boxes are known to be on a picture as it is shown."""
    try:
        require_upright(image, store.picture_table(image), traits.upright, traits.orientation)
    except EyechartError:
        return False
    return True
