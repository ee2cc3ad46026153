"""Published features become a folder that is mapped into memory, region by region as they were."""

import base64
import gzip
import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from eyechart.errors import FileFormatError, MissingExtraError, SettingError
from eyechart.zoo.converters import convert, main
from eyechart.zoo.features import read_features

RNG = np.random.default_rng(0)
MADE = {
    "9": (RNG.random((2, 6), np.float32), np.array([[0, 0, 50, 20], [10, 10, 100, 40]], np.float32)),
    "123": (RNG.random((3, 6), np.float32), np.array([[0, 0, 100, 40]] * 3, np.float32)),
}
SIZE = (100, 40)


def tsv_line(image: str) -> str:
    values, boxes = (base64.b64encode(part.tobytes()).decode() for part in MADE[image])
    return "\t".join([image, *map(str, SIZE), str(len(MADE[image][0])), boxes, values]) + "\n"


def check(folder: Path, names: dict[str, str]) -> None:
    found = read_features(folder)
    for image, name in names.items():
        values, boxes = MADE[image]
        taken = found.regions.take(found.number(pl.Series([name])))
        assert np.allclose(taken.v[0, : len(values)], values, atol=1e-3)
        assert np.allclose(taken.boxes[0, : len(boxes)], boxes / np.array([*SIZE, *SIZE]))
        assert taken.seen.sum() == len(values)


def test_bottom_up_features_are_read_packed_or_not(tmp_path: Path) -> None:
    (tmp_path / "tsv").mkdir()
    (tmp_path / "tsv" / "one.tsv").write_text(tsv_line("9"))
    with gzip.open(tmp_path / "tsv" / "two.tsv.gz", "wt") as file:
        file.write(tsv_line("123"))

    convert("bottom-up", tmp_path / "tsv", tmp_path / "out", "{:06}.jpg")

    check(tmp_path / "out", {"9": "000009.jpg", "123": "000123.jpg"})


def test_a_line_that_is_cut_off_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(tsv_line("9") + tsv_line("123")[:-40] + "\n")

    with pytest.raises(FileFormatError, match="line 2"):
        convert("bottom-up", tmp_path / "a.tsv", tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_one_file_an_image_is_read(tmp_path: Path) -> None:
    (tmp_path / "npz").mkdir()
    for name, (values, boxes) in MADE.items():
        np.savez(tmp_path / "npz" / f"{name}.npz", x=values, bbox=boxes, image_w=SIZE[0], image_h=SIZE[1])

    convert("npz", tmp_path / "npz", tmp_path / "out")

    check(tmp_path / "out", {name: name for name in MADE})


def test_one_column_a_region_is_read_as_openvqa_writes_it(tmp_path: Path) -> None:
    (tmp_path / "npz").mkdir()
    for image, (values, boxes) in MADE.items():
        np.savez(tmp_path / "npz" / image, x=values.T, bbox=boxes, image_w=SIZE[0], image_h=SIZE[1])

    convert("npz", tmp_path / "npz", tmp_path / "out")

    check(tmp_path / "out", {image: image for image in MADE})


@pytest.mark.parametrize(
    ("words", "content"),
    [
        ("bottom-up a.tsv", "é".encode("latin-1")),
        ("bottom-up a.tsv.gz", b"not packed"),
        ("bottom-up a.tsv --name {:q}.jpg", tsv_line("9").encode()),
        ("gqa .", b"{"),
    ],
)
def test_a_wrong_file_is_one_line_on_the_command_line(
    words: str, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kind, source, *more = words.split()
    Path("gqa_objects_info.json" if kind == "gqa" else source).write_bytes(content)
    monkeypatch.setattr(sys, "argv", ["converters", kind, source, "out", *more])

    with pytest.raises(SystemExit, match=r"^error: expected .*; found .*; "):
        main()

    assert not Path("out").exists()


def padded(part: np.ndarray, n: int) -> np.ndarray:
    return np.pad(part, ((0, n - len(part)), (0, 0)))


def write_hdf5(file: Path, arrays: dict[str, object]) -> None:
    h5py = pytest.importorskip("h5py", reason="the extra hdf5 is not installed")
    with h5py.File(file, "w") as made:
        for name, value in arrays.items():
            made[name] = value


def test_object_features_of_gqa_are_read(tmp_path: Path) -> None:
    told = {}
    for at, (name, (values, boxes)) in enumerate(MADE.items()):
        arrays = {"features": padded(values, 5)[None], "bboxes": padded(boxes, 5)[None]}
        write_hdf5(tmp_path / f"gqa_objects_{at}.h5", arrays)
        told[name] = {"file": at, "idx": 0, "objectsNum": len(values), "width": SIZE[0], "height": SIZE[1]}
    (tmp_path / "gqa_objects_info.json").write_text(json.dumps(told))

    convert("gqa", tmp_path, tmp_path / "out")

    check(tmp_path / "out", {name: name for name in MADE})


@pytest.mark.parametrize("ids", [list(MADE), [name.encode() for name in MADE], [int(name) for name in MADE]])
def test_one_array_over_all_images_is_read(ids: list[object], tmp_path: Path) -> None:
    scale = np.array([*SIZE, *SIZE])
    arrays = {
        "features": np.stack([padded(values, 3) for values, _ in MADE.values()]),
        "boxes": np.stack([padded(boxes / scale, 3) for _, boxes in MADE.values()]),
        "ids": ids,
        "counts": [2, 3],
    }
    write_hdf5(tmp_path / "all.h5", arrays)

    convert("hdf5", tmp_path / "all.h5", tmp_path / "out")

    check(tmp_path / "out", {name: name for name in MADE})


def test_hdf5_files_that_are_cut_off_or_lack_an_array_are_refused(tmp_path: Path) -> None:
    write_hdf5(tmp_path / "nameless.h5", {"features": np.zeros((1, 2, 3))})
    whole = (tmp_path / "nameless.h5").read_bytes()
    (tmp_path / "cut.h5").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "text.h5").write_text("features")

    for name, told in {"nameless": "a dataset 'ids'", "cut": "check that it is whole", "text": "an HDF5 file"}.items():
        with pytest.raises(FileFormatError, match=told):
            convert("hdf5", tmp_path / f"{name}.h5", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_missing_library_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "h5py", None)

    with pytest.raises(MissingExtraError, match="hdf5"):
        convert("hdf5", tmp_path, tmp_path / "out")


def test_unknown_kinds_and_places_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="bottom-up"):
        convert("tsv", tmp_path, tmp_path / "out")
    with pytest.raises(FileFormatError, match="nowhere"):
        convert("npz", tmp_path / "nowhere", tmp_path / "out")
    with pytest.raises(FileFormatError, match="gqa_objects_info"):
        convert("gqa", tmp_path, tmp_path / "out")
