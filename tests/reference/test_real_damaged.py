"""Real files are read whole from the command line, and damaged in five ways they are counted or refused in one line."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

FILES = {
    "aokvqa": ("aokvqa/aokvqa_v1p0_val.json.gz", 1_145),
    "socialiq": ("socialiq2/qa_train.json.gz", 6_159),
    "socialiq-val": ("socialiq2/qa_val.json.gz", 943),
    "gqa-head": ("gqa/ood_testdev_head.json.gz", 1_733),
    "gqa-tail": ("gqa/ood_testdev_tail.json.gz", 1_063),
}


def cut(data: bytes) -> bytes:
    return gzip.compress(gzip.decompress(data)[: len(data) // 2])


def tear(data: bytes) -> bytes:
    return data[: len(data) // 2]


def scribble(data: bytes) -> bytes:
    whole = gzip.decompress(data)
    return gzip.compress(whole[: len(whole) // 3] + b'\x00"}]' + whole[len(whole) // 3 + 4 :])


def empty(_: bytes) -> bytes:
    return gzip.compress(b"")


def lie(_: bytes) -> bytes:
    return b"this is not gzip at all"


DAMAGES: tuple[Callable[[bytes], bytes], ...] = (cut, tear, scribble, empty, lie)


Eyechart = Callable[..., tuple[int, str, str]]
Read = Callable[[str, Path], tuple[int, str, str]]


@pytest.fixture
def read(eyechart: Eyechart) -> Read:
    """Read a file from the command line into the folder `data` of an empty folder, in which the test is."""
    return lambda name, path: eyechart("read", name.partition("-")[0], path, "-o", "data", "--json")


@pytest.mark.parametrize("name", FILES)
def test_a_real_file_is_read_whole(name: str, real_data: Path, read: Read) -> None:
    path, n = FILES[name]
    code, out, err = read(name, real_data / path)

    assert code == 0, err
    assert json.loads(out)["examples"] == n


def test_gqa_testdev_is_read_whole(real_data: Path, read: Read) -> None:
    _, out, _ = read("gqa", real_data / "gqa" / "testdev_balanced_questions.tar.gz")

    assert json.loads(out)["examples"] == 12_578


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_real_file_is_refused_in_one_line_or_counted(
    name: str, damage: Callable[[bytes], bytes], real_data: Path, read: Read
) -> None:
    path, n = FILES[name]
    broken = Path(Path(path).name)
    broken.write_bytes(damage((real_data / path).read_bytes()))
    code, out, err = read(name, broken)

    if code:
        assert code == 1
        assert err.startswith("eyechart: expected ")
        assert err.count("\n") == 1
        assert not Path("data").exists()
    else:
        told = json.loads(out)
        assert sum(row["n"] for row in told["counts"] if row["status"] in ("read", "dropped")) <= n
        assert told["examples"] < n


RAW_DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "cut short": lambda data: data[: len(data) // 2],
    "scribbled on": lambda data: data[: len(data) // 2] + b"\x00" * 64 + data[len(data) // 2 + 64 :],
    "without its beginning": lambda data: data[100:],
    "empty": lambda _: b"",
    "something else": lambda _: b"this is neither an archive nor a workbook",
}


@pytest.mark.parametrize("damage", RAW_DAMAGES.values(), ids=RAW_DAMAGES)
@pytest.mark.parametrize(
    ("name", "file"),
    [("gqa", "gqa/testdev_balanced_questions.tar.gz"), ("table", "samples/llava_next_yi_34b_MMStar.xlsx")],
)
def test_a_damaged_real_archive_or_workbook_is_refused_in_one_line(
    name: str, file: str, damage: Callable[[bytes], bytes], real_data: Path, read: Read
) -> None:
    broken = Path(Path(file).name)
    broken.write_bytes(damage((real_data / file).read_bytes()))
    code, out, err = read(name, broken)

    assert code == 1, out
    assert err.startswith("eyechart: expected ")
    assert err.count("\n") == 1
    assert not Path("data").exists()
