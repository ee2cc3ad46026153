"""Real files are read whole from the command line, and damaged in five ways they are counted or refused in one line."""

import gzip
import json
import subprocess
import sys
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


def read(name: str, path: Path, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "eyechart", "read", name.partition("-")[0], str(path), "-o", str(out), "--json"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", FILES)
def test_a_real_file_is_read_whole(name: str, real_data: Path, tmp_path: Path) -> None:
    path, n = FILES[name]
    done = read(name, real_data / path, tmp_path / "data")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["examples"] == n


def test_gqa_testdev_is_read_whole(real_data: Path, tmp_path: Path) -> None:
    done = read("gqa", real_data / "gqa" / "testdev_balanced_questions.tar.gz", tmp_path / "data")

    assert json.loads(done.stdout)["examples"] == 12_578


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("name", FILES)
def test_a_damaged_real_file_is_refused_in_one_line_or_counted(
    name: str, damage: Callable[[bytes], bytes], real_data: Path, tmp_path: Path
) -> None:
    path, n = FILES[name]
    broken = tmp_path / Path(path).name
    broken.write_bytes(damage((real_data / path).read_bytes()))
    done = read(name, broken, tmp_path / "data")

    if done.returncode:
        assert done.returncode == 1
        assert done.stderr.startswith("eyechart: expected ")
        assert done.stderr.count("\n") == 1
        assert not (tmp_path / "data").exists()
    else:
        told = json.loads(done.stdout)
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
    name: str, file: str, damage: Callable[[bytes], bytes], real_data: Path, tmp_path: Path
) -> None:
    broken = tmp_path / Path(file).name
    broken.write_bytes(damage((real_data / file).read_bytes()))
    done = read(name, broken, tmp_path / "data")

    assert done.returncode == 1, done.stdout
    assert done.stderr.startswith("eyechart: expected ")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "data").exists()
