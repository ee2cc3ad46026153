"""Convert published region features to a folder of memory-mapped arrays.

    python -m eyechart.zoo.converters bottom-up trainval_36.tsv features/
    python -m eyechart.zoo.converters gqa gqa_objects/ features/

bottom-up   the TSV of Anderson et al. (image_id, image_w, image_h, num_boxes, boxes, features; base64 of float32),
            or a folder of such files, compressed (.gz) or not
gqa         GQA's object features: gqa_objects_*.h5 with `features` [n, 100, 2048] and `bboxes`, and
            gqa_objects_info.json, which locates each image and gives its number of objects
npz         a folder of one file per image (`features` or `x`, and `bbox` or `boxes`: in pixels with `image_w` and
            `image_h`, as shares without them)
hdf5        one file with `features` [I, N, D] and `ids` [I] (and `boxes` as shares, `counts`); needs h5py

Images are named by their ids as written in the files; `--name "{:012}.jpg"` formats numeric ids. Duplicate images,
features that are not [regions, numbers], and boxes outside their image are refused.
"""

import argparse
import base64
import csv
import gzip
import json
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from textwrap import shorten
from typing import IO, Any, NamedTuple

import numpy as np

from eyechart.base.errors import DataError, EyechartError, FileFormatError, MissingExtraError, SettingError
from eyechart.zoo.arrays import Array, read_arrays
from eyechart.zoo.features import write_features

FIELDS = ("image_id", "image_w", "image_h", "num_boxes", "boxes", "features")
_LONGEST_FIELD = 1 << 27
_UNPACK = "unpack GQA's objectFeatures.zip there"
_ROUNDING = 0.02  # how far boxes may extend beyond their image, as a share
_NO_VALUES = (ValueError, TypeError, LookupError, OverflowError)
_DAMAGE = (*_NO_VALUES, OSError, EOFError, RuntimeError, csv.Error, zlib.error, zipfile.BadZipFile)


class ImageRegions(NamedTuple):
    """The regions of one image as read from a file, not yet checked."""

    image: str
    values: Array  # [N, D]
    boxes: Array | None  # [N, 4]
    frame: tuple[Any, Any] | None = None  # width and height if boxes are in pixels, None if they are shares


def read_bottom_up(path: Path) -> Iterator[ImageRegions]:
    """Read the TSV of bottom-up features, line by line."""
    csv.field_size_limit(_LONGEST_FIELD)
    for file in sorted(path.glob("*.tsv*")) if path.is_dir() else [path]:
        with _reading(f"bottom-up features in {file}"), _open_text(file) as lines:
            for number, row in enumerate(csv.DictReader(lines, FIELDS, delimiter="\t"), 1):
                with _reading(f"{', '.join(FIELDS)} in line {number} of {file}"):
                    block = _bottom_up_row(row)
                yield block


def _bottom_up_row(row: dict[str, Any]) -> ImageRegions:
    n = int(row["num_boxes"])
    values, boxes = (
        np.frombuffer(base64.b64decode(row[name]), np.float32).reshape(n, -1) for name in ("features", "boxes")
    )
    return ImageRegions(str(row["image_id"]), values, boxes, (row["image_w"], row["image_h"]))


def read_gqa(folder: Path) -> Iterator[ImageRegions]:
    """Read GQA's object features, image by image in file order."""
    info = folder / "gqa_objects_info.json"
    if not info.is_file():
        raise FileFormatError(f"gqa_objects_info.json in {folder}", "none", _UNPACK)
    with _reading(f"JSON in {info}"):
        entries = json.loads(info.read_text(encoding="utf-8"))
    if not isinstance(entries, dict):
        raise FileFormatError(f"an object with a key for each image in {info}", type(entries).__name__, _UNPACK)
    by_file: dict[int, list[tuple[str, int, int, tuple[Any, Any]]]] = {}
    for name, entry in entries.items():
        try:
            number, row, n = (int(entry[key]) for key in ("file", "idx", "objectsNum"))
            frame = entry["width"], entry["height"]
        except _NO_VALUES:
            expected = f"numbers file, idx, objectsNum, width and height for image {name!r} in {info}"
            raise FileFormatError(expected, shorten(repr(entry), 100), _UNPACK) from None
        by_file.setdefault(number, []).append((name, row, n, frame))
    for number, images in sorted(by_file.items()):
        with _open_hdf5(folder / f"gqa_objects_{number}.h5") as arrays:
            for name, row, n, frame in images:
                yield ImageRegions(
                    name, _regions(arrays, "features", row, n), _regions(arrays, "bboxes", row, n), frame
                )


def read_npz(folder: Path) -> Iterator[ImageRegions]:
    """Read one file per image, named after the image."""
    for file in sorted(folder.glob("*.npz")):
        with _reading(f"arrays in {file}"), zipfile.ZipFile(file):  # closes a damaged file, which NumPy does not
            arrays = read_arrays(file)
        values = arrays.get("features", arrays.get("x"))
        if values is None:
            raise FileFormatError(f"`features` or `x` in {file}", ", ".join(arrays) or "none", "rename the array")
        boxes = arrays.get("boxes", arrays.get("bbox"))
        if boxes is not None and values.shape[:1] != boxes.shape[:1] == values.shape[1:]:
            values = values.T  # openvqa writes one column per region
        sides = [arrays[name].squeeze().tolist() for name in ("image_w", "image_h") if name in arrays]
        yield ImageRegions(file.stem, values, boxes, (sides[0], sides[1]) if len(sides) == 2 else None)


def read_hdf5(file: Path) -> Iterator[ImageRegions]:
    """Read one file with arrays over all images."""
    with _open_hdf5(file) as arrays:
        for name in ("features", "ids"):
            if name not in arrays:
                raise FileFormatError(f"a dataset {name!r} in {file}", ", ".join(arrays) or "none", "rename it")
        with _reading(f"features, ids and counts of the same length in {file}"):
            sizes = {name: len(arrays[name]) for name in ("features", "ids", "counts") if name in arrays}
            columns = {name: arrays[name][:].reshape(n) for name, n in sizes.items() if name != "features"}
            ids = [image.decode() if isinstance(image, bytes) else str(image) for image in columns["ids"]]
            counts = [int(n) for n in columns["counts"]] if "counts" in columns else [None] * len(ids)
        if len(set(sizes.values())) > 1:
            found = ", ".join(f"{n} {name}" for name, n in sizes.items())
            expected = f"features, ids and counts of the same length in {file}"
            raise FileFormatError(expected, found, "write one per image")
        for row, (image, n) in enumerate(zip(ids, counts, strict=True)):
            boxes = _regions(arrays, "boxes", row, n) if "boxes" in arrays else None
            yield ImageRegions(image, _regions(arrays, "features", row, n), boxes)


def _regions(arrays: Any, name: str, row: int, n: int | None) -> Array:  # noqa: ANN401 - h5py has no types
    """Read the first n regions of the image in a row, or all of them."""
    shape: tuple[int, ...] = getattr(arrays.get(name), "shape", None) or ()
    if len(shape) != 3 or not (0 <= row < shape[0] and 0 <= (n or 0) <= shape[1]):
        expected = f"`{name}` [images, regions, numbers] with " + ("" if n is None else f"{n} regions in ")
        found = f"shape {list(shape)}"
        raise FileFormatError(
            f"{expected}row {row} in {arrays.filename}", found, "check that it is whole and of this kind"
        )
    return np.asarray(arrays[name][row, :n])


READERS: dict[str, Callable[[Path], Iterator[ImageRegions]]] = {
    "bottom-up": read_bottom_up,
    "gqa": read_gqa,
    "npz": read_npz,
    "hdf5": read_hdf5,
}


def convert(kind: str, source: Path, folder: Path, name: str = "{}") -> None:
    """Read features of a kind and write them as a folder; `name` formats the names of images with numeric ids."""
    if kind not in READERS:
        raise SettingError(f"features of {', '.join(READERS)}", repr(kind), "choose one of these")
    if not source.exists():
        raise FileFormatError(f"features at {source}", "nothing", "check the path")
    write_features(_checked(READERS[kind](source), source, name), folder)


def _checked(blocks: Iterable[ImageRegions], source: Path, name: str) -> Iterator[tuple[str, Array, Array | None]]:
    """Check and name the images of any kind of file, and convert their boxes to shares."""
    seen: set[str] = set()
    regions = 0
    for block in blocks:
        image = _named(block.image, name)
        if image in seen:
            advice = "leave one of them out, or distinguish the images with --name"
            raise FileFormatError(f"every image once in {source}", f"{image!r} more than once", advice)
        seen.add(image)
        _check_shapes(block, f"image {image!r} in {source}")
        regions += len(block.values)
        yield image, block.values, _shares(block, f"image {image!r} in {source}")
    if seen and not regions:
        raise DataError(f"at least one region in {source}", f"none in {len(seen)} images", "check how it was extracted")


def _check_shapes(block: ImageRegions, where: str) -> None:
    """Refuse features that are not [regions, numbers], and boxes that are not [regions, 4]."""
    values, boxes = block.values, block.boxes
    fit = values.ndim == 2 and values.shape[1] > 0 and (boxes is None or boxes.shape == (len(values), 4))
    if not fit or any(part is not None and part.dtype.kind not in "fiu" for part in (values, boxes)):
        found = f"features {list(values.shape)} of {values.dtype}"
        found += "" if boxes is None else f", boxes {list(boxes.shape)} of {boxes.dtype}"
        advice = "extract a row of numbers and a box for each region; grid features have no regions"
        raise FileFormatError(
            f"features [regions, numbers], with boxes [regions, 4] or none, of {where}", found, advice
        )


def _shares(block: ImageRegions, where: str) -> Array | None:
    """Convert boxes to shares of width and height, and refuse those outside their image."""
    if block.boxes is None:
        return None
    size, advice = np.ones(2), "divide pixels by width and height, or give image_w and image_h in an npz"
    if block.frame is not None:
        advice = "check its width and height, which boxes in pixels are divided by"
        try:
            size = np.array([float(side) for side in block.frame])
        except _NO_VALUES:
            size = np.zeros(2)
        if not ((size > 0) & (size < np.inf)).all():
            found = shorten(f"{block.frame[0]!r} and {block.frame[1]!r}", 100)
            raise FileFormatError(f"width and height above 0 of {where}", found, advice)
    with np.errstate(all="ignore"):  # values that are not finite are refused below
        shares = block.boxes / np.tile(size, 2)
        inside = (shares >= -_ROUNDING) & (shares <= 1 + _ROUNDING)
    if not inside.all():
        found = f"{shares.min():g} to {shares.max():g}"
        raise FileFormatError(f"boxes as shares, from 0 to 1, of {where}", found, advice)
    return np.asarray(shares, np.float32)


def _named(image: str, name: str) -> str:
    try:
        return name.format(int(image)) if name != "{}" and image.isdecimal() else image
    except (ValueError, LookupError, AttributeError) as error:
        raise SettingError("a format of one number in --name, as '{:012}.jpg'", str(error), "write another") from None


@contextmanager
def _reading(expected: str) -> Iterator[None]:
    """Turn errors from damaged files into one line that says what was expected."""
    try:
        yield
    except _DAMAGE as error:
        found = f"{type(error).__name__}: {error}".splitlines()[0]
        raise FileFormatError(expected, found, "check that the file is complete") from None


def _open_text(file: Path) -> IO[str]:
    return gzip.open(file, "rt", encoding="ascii") if file.suffix == ".gz" else file.open(encoding="ascii")


@contextmanager
def _open_hdf5(file: Path) -> Iterator[Any]:
    try:
        h5py: Any = import_module("h5py")
    except ImportError:
        raise MissingExtraError("the package h5py", "none", "pip install 'eyechart[hdf5]'") from None
    with _reading(f"an HDF5 file {file}"), h5py.File(file, "r") as arrays:
        yield arrays


def main() -> None:
    """Convert features as the command line requests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=list(READERS))
    parser.add_argument("source", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--name", default="{}")
    arguments = parser.parse_args(sys.argv[1:])
    try:
        convert(arguments.kind, arguments.source, arguments.folder, arguments.name)
    except EyechartError as error:
        raise SystemExit(f"error: {error}") from None


if __name__ == "__main__":
    main()
