"""Region features by image: a folder of memory-mapped arrays, or features generated for the planted world.

A folder has `features.npy` [R, D], `starts.npy` [I + 1], `images.npy` [I] texts, and `boxes.npy` [R, 4] (shares of
width and height) if boxes are known: image i has the rows starts[i] to starts[i + 1], and region j is object j.
"""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.base.errors import DataError, FileFormatError, and_more
from eyechart.base.files import missing, replacing_folder
from eyechart.base.hashing import hash_text
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.world.program import ATTRIBUTES, scene_of
from eyechart.world.vocabulary import ACTIONS, COLORS, LABELS, SIZES
from eyechart.zoo.arrays import NO_IMAGE, NOISE, Array, Regions, make_regions, require_finite

MARK = "starts.npy"
PARTS = {"label": LABELS, "color": tuple(COLORS), "size": tuple(SIZES), "action": ACTIONS}


_TYPES = {"f": "numbers", "iu": "whole numbers", "SUiu": "names"}
_SHAPES = {"features": ("f", 2), "starts": ("iu", 1), "images": ("SUiu", 1), "boxes": ("f", 2)}
_BLOCK = 1 << 14  # regions that are checked at once


class Features(NamedTuple):
    """Regions, and the number of each image in them."""

    regions: Regions
    images: pl.DataFrame  # image, number

    def number(self, names: pl.Series) -> Array:
        """Return the numbers of images by name; null becomes -1, and an image without features is an error."""
        asked = pl.DataFrame({"image": names.cast(pl.String)})
        numbered = asked.join(self.images, on="image", how="left", validate="m:1", maintain_order="left")
        missing_names = (
            numbered.filter(pl.col("image").is_not_null() & pl.col("number").is_null())["image"].unique().sort()
        )
        if len(missing_names):
            found = f"none for {missing_names[0]!r}{and_more(len(missing_names) - 1)}"
            raise DataError("region features of every image", found, "extract them too, or leave out their questions")
        return numbered["number"].fill_null(NO_IMAGE).to_numpy().astype(np.int64)


def open_features(images: Images, noise: float = NOISE) -> Features:
    """Open the features of a dataset's images: from their folder, or made from the objects of a planted world."""
    if images.features is not None:
        return read_features(images.features)
    if all(name in images.table.columns for name in ATTRIBUTES):
        return world_features(images.table, noise)
    advice = (
        "convert some with `python -m eyechart.zoo.converters` and read the data with --features (even for networks "
    )
    advice += "that see no image)"
    raise DataError("images with region features", "none in these data", advice)


def with_features(data: Dataset, folder: Path) -> Dataset:
    """Attach a folder of region features to a dataset, checking that every image of an example has some."""
    check_features(folder).number(data.scan("image").select("image").unique().sort("image").collect()["image"])
    return replace(data, images=replace(data.images, features=folder))


def frames_of(images: Images) -> pl.DataFrame | None:
    """Return the size of each image, needed to convert boxes to shares; None if the data lack it."""
    wanted = ["image", "width", "height"]
    return images.table.select(wanted) if set(wanted) <= set(images.table.columns) else None


def check_features(folder: Path) -> Features:
    """Memory-map the arrays of a folder, and check every number in them."""
    features = read_features(folder)
    for name, values in (("features", features.regions.values), ("boxes", features.regions.boxes)):
        if values is None:
            continue
        for start in range(0, len(values), _BLOCK):
            require_finite(values[start : start + _BLOCK], f"{name}.npy in {folder}")
    return features


def read_features(folder: Path) -> Features:
    """Memory-map the arrays of a folder; their numbers are checked when they are used."""
    arrays = {name: _map(folder / f"{name}.npy") for name in ("features", "starts", "images")}
    if (folder / "boxes.npy").is_file():
        arrays["boxes"] = _map(folder / "boxes.npy")
    for name, array in arrays.items():
        kinds, dimensions = _SHAPES[name]
        if array.dtype.kind not in kinds or array.ndim != dimensions:
            found = f"an array of {array.ndim} dimensions and type {array.dtype}"
            wanted = f"{_TYPES[kinds]} in {dimensions} dimension{'s' if dimensions > 1 else ''}"
            raise FileFormatError(f"{wanted} in {name}.npy of {folder}", found, "convert them again")
    values, starts, boxes = arrays["features"], np.asarray(arrays["starts"], np.int64), arrays.get("boxes")
    fit = len(starts) == len(arrays["images"]) + 1 and starts[0] == 0 and starts[-1] == len(values)
    if not fit or (np.diff(starts) < 0).any() or (boxes is not None and boxes.shape != (len(values), 4)):
        found = f"{len(values)} regions, {len(starts)} starts and {len(arrays['images'])} images"
        found += " whose starts decrease" if (np.diff(starts) < 0).any() else ""
        found += "" if boxes is None else f", boxes {boxes.shape}"
        raise FileFormatError(f"consistent features in {folder}", found, "convert them again")
    return Features(Regions(values, starts, boxes), _numbered(_read_names(arrays["images"], folder)))


def _read_names(images: Array, folder: Path) -> pl.Series:
    try:
        names = pl.Series("image", np.asarray(images).astype(str), pl.String)
    except Exception as error:  # noqa: BLE001 - what is no text makes NumPy raise nearly anything
        raise FileFormatError(f"names in images.npy of {folder}", _first_line(error), "convert them again") from None
    if (repeated := names.filter(names.is_duplicated()).unique()).len():
        found = f"{repeated.len()} more than once, such as {repeated.sort()[0]!r}"
        raise FileFormatError(f"every image once in {folder}", found, "convert them again")
    return names


def write_features(blocks: Iterable[tuple[str, Array, Array | None]], folder: Path) -> None:
    """Write (image, features, boxes) one by one, without holding all of them in memory."""
    names, sizes, boxes, width = [], [0], [], 0
    with replacing_folder(folder, MARK) as draft:
        with (draft / "raw").open("wb") as file:
            for name, values, box in blocks:
                width = width or values.shape[1]
                _check(name, values, box, width)
                np.ascontiguousarray(values, np.float16).tofile(file)
                names.append(name)
                sizes.append(len(values))
                boxes.append(box)
        if not names:
            raise DataError("features of at least one image", "none", "check the file they come from")
        _wrap(draft / "raw", draft / "features.npy", (sum(sizes), width))
        np.save(draft / MARK, np.cumsum(sizes))
        np.save(draft / "images.npy", np.array(names))
        known = [each for each in boxes if each is not None]
        if len(known) == len(boxes):
            np.save(draft / "boxes.npy", np.concatenate(known).astype(np.float32))


def _check(name: str, values: Array, boxes: Array | None, width: int) -> None:
    """Refuse regions that differ in shape from those of other images, or that half precision cannot hold."""
    advice = "check the file they come from"
    if values.shape[1] != width or (boxes is not None and boxes.shape != (len(values), 4)):
        found = f"{values.shape} and boxes {None if boxes is None else boxes.shape}"
        raise DataError(f"{width} numbers and a box for each region of image {name!r}", found, advice)
    if not (np.abs(values) <= np.finfo(np.float16).max).all():
        raise DataError(f"numbers up to {np.finfo(np.float16).max} in image {name!r}", "larger ones, or NaN", advice)


def _wrap(raw: Path, file: Path, shape: tuple[int, int]) -> None:
    """Convert raw numbers to an array file by a copy on disk."""
    made = np.lib.format.open_memmap(file, mode="w+", dtype=np.float16, shape=shape)
    made[:] = np.memmap(raw, np.float16, "r", shape=shape)
    made.flush()
    raw.unlink()


def world_features(table: pl.DataFrame, noise: float = NOISE) -> Features:
    """Make the features of a planted world from its objects."""
    codes, boxes = world_codes(table)
    keys = hash_text(table["image"])
    sizes = tuple(len(names) for names in PARTS.values())
    return Features(make_regions(codes, keys, boxes, sizes, noise), _numbered(table["image"]))


def world_codes(table: pl.DataFrame) -> tuple[Array, Array]:
    """Encode label, colour, size and action (-1: none) of the objects of each image, [I, N, 4], and their boxes."""
    numbers = pl.DataFrame({"image": table["image"], "number": np.arange(table.height)})
    frames = table.select("image", "width", "height")
    scene = scene_of(table).join(numbers, on="image", validate="m:1").join(frames, on="image", validate="m:1")
    n = int(table["objects"].list.len().max() or 1)  # type: ignore[arg-type]  # a number
    codes = np.full((table.height, n, len(PARTS)), -1, np.int16)
    boxes = np.zeros((table.height, n, 4), np.float32)
    row, column = scene["number"].to_numpy(), scene["index"].to_numpy()
    for part, (name, known) in enumerate(PARTS.items()):
        part_codes = {text: code for code, text in enumerate(known)}
        codes[row, column, part] = scene[name].replace_strict(part_codes, default=-1, return_dtype=pl.Int16).to_numpy()
    frame = scene.select("width", "height", pl.col("width").alias("w"), pl.col("height").alias("h")).to_numpy()
    boxes[row, column] = scene["box"].to_numpy() / frame
    return codes, boxes


def _numbered(names: pl.Series) -> pl.DataFrame:
    return pl.DataFrame({"image": names.cast(pl.String), "number": np.arange(len(names))})


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _map(file: Path) -> Array:
    try:
        mapped: Array = np.load(file, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise missing(file) from None
    except Exception as error:  # noqa: BLE001 - a damaged header makes NumPy raise nearly anything
        raise FileFormatError(f"an array in {file}", _first_line(error), "convert it again") from None
    return mapped
