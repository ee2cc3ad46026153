"""Turn published region features into a folder that is mapped into memory.

    python -m eyechart.zoo.converters bottom-up trainval_36.tsv features/
    python -m eyechart.zoo.converters gqa gqa_objects/ features/

bottom-up   the TSV of Anderson et al. (image_id, image_w, image_h, num_boxes, boxes, features; base64 of float32),
            or a folder or list of such files, packed (.gz) or not
gqa         GQA's object features: gqa_objects_*.h5 with `features` [n, 100, 2048] and `bboxes`, and
            gqa_objects_info.json, which says where each image lies and how many objects it has
npz         a folder of one file an image (`features` or `x`, and `bbox` or `boxes` in pixels with `image_w`, `image_h`)
hdf5        one file with `features` [I, N, D] and `ids` [I] (and `boxes` as shares, `counts`), where h5py is installed

Images are named by their ids as the files write them; `--name "{:012}.jpg"` writes numbers another way.
"""

import base64
import csv
import gzip
import json
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from eyechart.errors import EyechartError, FileFormatError, MissingExtraError, SettingError
from eyechart.zoo.arrays import Array, read_arrays

FIELDS = ("image_id", "image_w", "image_h", "num_boxes", "boxes", "features")
_LONGEST_FIELD = 1 << 27


class Block(NamedTuple):
    """The regions of one image."""

    image: str
    values: Array  # [N, D]
    boxes: Array | None  # [N, 4] as shares


def read_bottom_up(path: Path) -> Iterator[Block]:
    """Read the TSV of bottom-up features, line by line."""
    csv.field_size_limit(_LONGEST_FIELD)
    for file in sorted(path.glob("*.tsv*")) if path.is_dir() else [path]:
        with _open_text(file) as lines:
            for number, row in enumerate(csv.DictReader(lines, FIELDS, delimiter="\t"), 1):
                yield _bottom_up_row(row, f"line {number} of {file}")


def _bottom_up_row(row: dict[str, Any], where: str) -> Block:
    try:
        n = int(row["num_boxes"])
        values, boxes = (
            np.frombuffer(base64.b64decode(row[name]), np.float32).reshape(n, -1) for name in ("features", "boxes")
        )
        return Block(str(row["image_id"]), values, shares(boxes, float(row["image_w"]), float(row["image_h"])))
    except (TypeError, ValueError, KeyError) as error:
        told = str(error).splitlines()[0]
        raise FileFormatError(f"{', '.join(FIELDS)} in {where}", told, "check that the file is whole") from None


def read_gqa(folder: Path) -> Iterator[Block]:
    """Read GQA's object features, image by image in the order of their files."""
    info = folder / "gqa_objects_info.json"
    if not info.is_file():
        raise FileFormatError(f"gqa_objects_info.json in {folder}", "none", "unpack GQA's objectFeatures.zip there")
    known: dict[str, dict[str, Any]] = json.loads(info.read_text(encoding="utf-8"))
    by_file: dict[int, list[str]] = {}
    for name, told in known.items():
        by_file.setdefault(int(told["file"]), []).append(name)
    for at, names in sorted(by_file.items()):
        with _open_hdf5(folder / f"gqa_objects_{at}.h5") as found:
            for name in names:
                told = known[name]
                row, n = int(told["idx"]), int(told["objectsNum"])
                boxes = shares(found["bboxes"][row, :n], float(told["width"]), float(told["height"]))
                yield Block(name, found["features"][row, :n], boxes)


def read_npz(folder: Path) -> Iterator[Block]:
    """Read one file an image; its name is the image's."""
    for file in sorted(folder.glob("*.npz")):
        found = read_arrays(file)
        values = found.get("features", found.get("x"))
        if values is None:
            raise FileFormatError(f"`features` or `x` in {file}", ", ".join(found), "rename the array")
        boxes = found.get("boxes", found.get("bbox"))
        if boxes is not None and len(values) != len(boxes) == values.shape[-1]:
            values = values.T  # openvqa writes one column a region
        if boxes is not None and {"image_w", "image_h"} <= found.keys():
            boxes = shares(boxes, float(found["image_w"]), float(found["image_h"]))
        yield Block(file.stem, values, boxes)


def read_hdf5(file: Path) -> Iterator[Block]:
    """Read one file with an array over all images."""
    with _open_hdf5(file) as found:
        for name in ("features", "ids"):
            if name not in found:
                raise FileFormatError(f"a dataset {name!r} in {file}", ", ".join(found), "rename it")
        for at, image in enumerate(found["ids"][:]):
            n = int(found["counts"][at]) if "counts" in found else found["features"].shape[1]
            boxes = found["boxes"][at, :n] if "boxes" in found else None
            yield Block(image.decode() if isinstance(image, bytes) else str(image), found["features"][at, :n], boxes)


READERS: dict[str, Callable[[Path], Iterator[Block]]] = {
    "bottom-up": read_bottom_up,
    "gqa": read_gqa,
    "npz": read_npz,
    "hdf5": read_hdf5,
}


def shares(boxes: Array, width: float, height: float) -> Array:
    """Turn pixels into shares of width and height."""
    return np.asarray(boxes / np.array([width, height, width, height]), np.float32)


def convert(kind: str, source: Path, folder: Path, name: str = "{}") -> None:
    """Read features of a kind and write them as a folder; `name` is a format for images numbered by whole numbers."""
    from eyechart.zoo.features import write_features

    if kind not in READERS:
        raise SettingError(f"features of {', '.join(READERS)}", repr(kind), "choose one of these")
    if not source.exists():
        raise FileFormatError(f"features at {source}", "nothing", "check the path")
    blocks = (block._replace(image=_named(block.image, name)) for block in READERS[kind](source))
    try:
        write_features(blocks, folder)
    except (UnicodeDecodeError, EOFError, gzip.BadGzipFile, json.JSONDecodeError, KeyError) as error:
        told = f"{type(error).__name__}: {error}"
        raise FileFormatError(f"{kind} features in {source}", told, "check that its files are whole") from None


def _named(image: str, name: str) -> str:
    try:
        return name.format(int(image)) if name != "{}" and image.isdecimal() else image
    except (ValueError, LookupError) as error:
        raise SettingError("a format of one number in --name, as '{:012}.jpg'", str(error), "write another") from None


def _open_text(file: Path) -> IO[str]:
    return gzip.open(file, "rt", encoding="ascii") if file.suffix == ".gz" else file.open(encoding="ascii")


def _open_hdf5(file: Path) -> Any:  # noqa: ANN401 - h5py has no types
    try:
        h5py: Any = import_module("h5py")
    except ImportError:
        raise MissingExtraError("the package h5py", "none", "pip install 'eyechart[hdf5]'") from None
    try:
        return h5py.File(file, "r")
    except OSError as error:
        raise FileFormatError(f"an HDF5 file {file}", str(error).splitlines()[0], "check that it is whole") from None


def main() -> None:
    """Convert by the words of the command line."""
    import argparse

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=list(READERS))
    parser.add_argument("source", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--name", default="{}")
    given = parser.parse_args(sys.argv[1:])
    try:
        convert(given.kind, given.source, given.folder, given.name)
    except EyechartError as error:
        raise SystemExit(f"error: {error}") from None


if __name__ == "__main__":
    main()
