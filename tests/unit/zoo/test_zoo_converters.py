"""Published features become a folder that is mapped into memory, region by region as they were."""

import base64
import gzip
import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from eyechart.base.errors import FileFormatError, MissingExtraError, SettingError
from eyechart.zoo.converters import convert, main
from eyechart.zoo.features import read_features

RNG = np.random.default_rng(0)
MADE = {
    "9": (RNG.random((2, 6), np.float32), np.array([[0, 0, 50, 20], [10, 10, 100, 40]], np.float32)),
    "123": (RNG.random((3, 6), np.float32), np.array([[0, 0, 100, 40]] * 3, np.float32)),
}
SIZE = (100, 40)


def tsv_line(image: str, size: tuple[object, object] = SIZE) -> str:
    values, boxes = (base64.b64encode(part.tobytes()).decode() for part in MADE[image])
    return "\t".join([image, *map(str, size), str(len(MADE[image][0])), boxes, values]) + "\n"


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


def refused(monkeypatch: pytest.MonkeyPatch, message: str, *words: str) -> None:
    """Convert on the command line: one line that tells the reason, and nothing is written."""
    monkeypatch.setattr(sys, "argv", ["converters", *words])
    before = sorted(Path(words[2]).parent.iterdir())

    with pytest.raises(SystemExit, match=rf"^error: expected (?=.*{message}).*; found .*; .*\Z"):
        main()

    assert sorted(Path(words[2]).parent.iterdir()) == before


@pytest.mark.parametrize(
    ("words", "content"),
    [
        ("bottom-up a.tsv", "é".encode("latin-1")),
        ("bottom-up a.tsv.gz", b"not packed"),
        ("bottom-up a.tsv --name {:q}.jpg", tsv_line("9").encode()),
        ("bottom-up a.tsv --name {.x}.jpg", tsv_line("9").encode()),
        ("gqa .", b"{"),
    ],
)
def test_a_wrong_file_is_one_line_on_the_command_line(
    words: str, content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kind, source, *more = words.split()
    Path("gqa_objects_info.json" if kind == "gqa" else source).write_bytes(content)
    refused(monkeypatch, ".*", kind, source, "out", *more)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (tsv_line("9") + tsv_line("123") + tsv_line("9"), "every image once .*found '9'"),
        (tsv_line("9", (0, 40)), "above 0 of image '9' .*found '0' and '40'"),
        (tsv_line("9", ("wide", 40)), "above 0 of image '9' .*found 'wide' and '40'"),
        (tsv_line("9", ("nan", 40)), "above 0 of image '9'"),
        (tsv_line("9", (50, 40)), "boxes as shares.* of image '9' .*found 0 to 2;"),
    ],
)
def test_lines_that_do_not_fit_are_refused(
    lines: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.tsv").write_text(lines)

    refused(monkeypatch, message, "bottom-up", str(tmp_path / "a.tsv"), str(tmp_path / "out"))


def test_images_that_get_the_same_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text(tsv_line("9") + tsv_line("123"))

    with pytest.raises(FileFormatError, match=r"'one\.jpg' more than once; .*--name"):
        convert("bottom-up", tmp_path / "a.tsv", tmp_path / "out", "one.jpg")


NPZ = {"x": MADE["9"][0], "bbox": MADE["9"][1], "image_w": SIZE[0], "image_h": SIZE[1]}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"x": np.zeros((2, 7, 7))}, r"found features \[2, 7, 7\]"),
        ({"x": np.zeros((2, 7, 7)), "bbox": MADE["9"][1] / 100}, r"found features \[2, 7, 7\]"),
        ({"x": np.zeros(6)}, r"found features \[6\]"),
        ({"x": np.zeros(())}, r"found features \[\]"),
        ({"x": np.zeros((2, 0))}, r"found features \[2, 0\]"),
        ({"x": np.zeros((0, 6))}, "at least one region"),
        ({"x": np.array([["a", "b"]] * 2)}, r"found features \[2, 2\] of <U1"),
        ({**NPZ, "bbox": np.zeros((2, 3))}, r"boxes \[2, 3\]"),
        ({**NPZ, "bbox": np.zeros(())}, r"boxes \[\]"),
        ({**NPZ, "bbox": np.array([["a"] * 4] * 2)}, "boxes .* of <U1"),
        ({"x": NPZ["x"], "bbox": NPZ["bbox"]}, "boxes as shares.*found 0 to 100; divide"),
        ({"x": NPZ["x"], "bbox": NPZ["bbox"] * np.nan}, "boxes as shares.*found nan"),
        ({**NPZ, "bbox": -NPZ["bbox"]}, "boxes as shares.*found -1 to -?0;"),
        ({**NPZ, "image_w": 0}, "above 0 .*found 0 and 40"),
        ({**NPZ, "image_w": [100, 100]}, r"above 0 .*found \[100, 100\] and 40"),
        ({**NPZ, "image_w": np.full(1000, 100)}, "above 0"),
        ({**NPZ, "image_w": "wide"}, "above 0 .*found 'wide'"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(
    arrays: dict[str, object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "npz").mkdir()
    np.savez(tmp_path / "npz" / "9.npz", **arrays)

    refused(monkeypatch, message, "npz", str(tmp_path / "npz"), str(tmp_path / "out"))


@pytest.mark.parametrize("damage", ["cut", "turned", "empty", "bare"])
def test_damaged_files_of_arrays_are_refused(damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "npz").mkdir()
    file = tmp_path / "npz" / "9.npz"
    np.savez_compressed(file, **NPZ)
    whole = file.read_bytes()
    broken = {"cut": whole[:-40], "turned": whole[:80] + b"\xff" * 40 + whole[120:], "empty": b""}
    if damage in broken:
        file.write_bytes(broken[damage])
    else:
        with file.open("wb") as bare:
            np.save(bare, NPZ["x"])

    refused(monkeypatch, r"arrays in .*9\.npz", "npz", str(tmp_path / "npz"), str(tmp_path / "out"))


def test_boxes_may_reach_out_of_their_image_by_rounding(tmp_path: Path) -> None:
    (tmp_path / "npz").mkdir()
    for name, box in {"shares": {"bbox": [[-0.01, 0, 1.01, 1]]}, "pixels": {**NPZ, "bbox": [[0, 0, 101, 40]]}}.items():
        np.savez(tmp_path / "npz" / name, **{**box, "x": np.ones((1, 6))})
    np.savez(tmp_path / "npz" / "listed", **{**NPZ, "image_w": [100], "image_h": [40]})

    convert("npz", tmp_path / "npz", tmp_path / "out")

    assert len(read_features(tmp_path / "out").images) == 3


def padded(part: np.ndarray, n: int) -> np.ndarray:
    return np.pad(part, ((0, n - len(part)), (0, 0)))


def write_hdf5(file: Path, arrays: dict[str, object]) -> None:
    h5py = pytest.importorskip("h5py", reason="the extra hdf5 is not installed")
    with h5py.File(file, "w") as made:
        for name, value in arrays.items():
            made[name] = value


def test_object_features_of_gqa_are_read(tmp_path: Path) -> None:
    info = {}
    for at, (name, (values, boxes)) in enumerate(MADE.items()):
        arrays = {"features": padded(values, 5)[None], "bboxes": padded(boxes, 5)[None]}
        write_hdf5(tmp_path / f"gqa_objects_{at}.h5", arrays)
        info[name] = {"file": at, "idx": 0, "objectsNum": len(values), "width": SIZE[0], "height": SIZE[1]}
    (tmp_path / "gqa_objects_info.json").write_text(json.dumps(info))

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
    (tmp_path / "turned.h5").write_bytes(whole.replace(b"TREE", b"EERT"))

    messages = {"nameless": "a dataset 'ids'", "cut": "check that the file is complete", "text": "an HDF5 file"}
    for name, message in {**messages, "turned": "an HDF5 file"}.items():
        with pytest.raises(FileFormatError, match=message):
            convert("hdf5", tmp_path / f"{name}.h5", tmp_path / "out")
    assert not (tmp_path / "out").exists()


HDF5 = {"features": np.ones((2, 3, 6)), "ids": ["9", "123"]}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"features": np.ones((2, 32, 7, 7))}, r"found shape \[2, 32, 7, 7\]"),
        ({"features": np.ones((2, 6))}, r"found shape \[2, 6\]"),
        ({"features": np.ones(2)}, r"found shape \[2\]"),
        ({"features": 1.0}, "features, ids and counts of the same length"),
        ({"features": np.full((2, 3, 6), b"a")}, r"found features \[3, 6\] of"),
        ({"ids": ["9", "123", "4"]}, "found 2 features, 3 ids"),
        ({"ids": ["9"]}, "found 2 features, 1 ids"),
        ({"ids": ["9", "9"]}, "every image once .*found '9'"),
        ({"ids": [["9", "123"]] * 2}, "features, ids and counts of the same length"),
        ({"counts": [2]}, "found 2 features, 2 ids, 1 counts"),
        ({"counts": ["two", "three"]}, "features, ids and counts of the same length"),
        ({"counts": [2, 4]}, r"4 regions in row 1 .*found shape \[2, 3, 6\]"),
        ({"counts": [2, -1]}, r"-1 regions in row 1 .*found shape \[2, 3, 6\]"),
        ({"boxes": np.full((2, 3, 4), 200)}, "boxes as shares.* of image '9' .*found 200 to 200; divide"),
        ({"boxes": np.ones((1, 3, 4))}, r"`boxes` .*row 1 .*found shape \[1, 3, 4\]"),
        ({"boxes": np.ones((2, 2, 4))}, r"boxes \[2, 4\]"),
    ],
)
def test_arrays_over_all_images_that_do_not_fit_are_refused(
    arrays: dict[str, object], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_hdf5(tmp_path / "all.h5", {**HDF5, **arrays})

    refused(monkeypatch, message, "hdf5", str(tmp_path / "all.h5"), str(tmp_path / "out"))


GQA = {"file": 0, "idx": 0, "objectsNum": 2, "width": SIZE[0], "height": SIZE[1]}


@pytest.mark.parametrize(
    ("info", "message"),
    [
        ([GQA], "a key for each image .*found list"),
        ({"9": "text"}, "image '9' .*found 'text'"),
        ({"9": [GQA]}, "image '9' .*found "),
        ({"9": {**GQA, "file": None}}, "image '9' .*found .*None"),
        ({"9": {**GQA, "idx": 1}}, r"row 1 .*found shape \[1, 2, 6\]"),
        ({"9": {**GQA, "idx": -1}}, "row -1 "),
        ({"9": {**GQA, "idx": float("inf")}}, "image '9' .*found .*inf"),
        ({"9": {**GQA, "objectsNum": 3}}, r"3 regions in row 0 .*found shape \[1, 2, 6\]"),
        ({"9": {**GQA, "width": "wide"}}, "above 0 of image '9' .*found 'wide' and 40"),
        ({"9": {**GQA, "width": [100]}}, "above 0 of image '9' "),
        ({"9": {**GQA, "height": 0}}, "above 0 of image '9' .*found 100 and 0"),
        ({"9": {**GQA, "width": 10}}, "boxes as shares.* of image '9' "),
    ],
)
def test_information_of_gqa_that_does_not_fit_is_refused(
    info: object, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_hdf5(tmp_path / "gqa_objects_0.h5", {"features": MADE["9"][0][None], "bboxes": MADE["9"][1][None]})
    (tmp_path / "gqa_objects_info.json").write_text(json.dumps(info))

    refused(monkeypatch, message, "gqa", str(tmp_path), str(tmp_path / "out"))


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
