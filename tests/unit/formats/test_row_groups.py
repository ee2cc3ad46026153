"""Row groups are listed as another library lists them, and ones that would not fit are refused in one line."""

import random
from pathlib import Path

import polars as pl
import pytest
from PIL import Image

from eyechart.base.errors import FileFormatError
from eyechart.formats import arrow
from eyechart.formats.row_groups import read_row_groups
from eyechart.formats.table import read_table


def write(path: Path, rows: int, group: int) -> Path:
    Image.new("RGB", (8, 6), "red").save(path.with_suffix(".png"))
    content = path.with_suffix(".png").read_bytes()
    pictures = [{"bytes": content + bytes([n % 256]), "path": None} for n in range(rows)]
    table = pl.DataFrame({"question": [f"what is {n}?" for n in range(rows)], "answer": "a", "image": pictures})
    table.write_parquet(path, row_group_size=group, compression="uncompressed")
    return path


@pytest.mark.parametrize(("rows", "group"), [(1, 1), (70, 7), (1000, 3), (50, 50)])
def test_row_groups_are_those_that_pyarrow_finds(rows: int, group: int, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    file = write(tmp_path / "it.parquet", rows, group)
    metadata = parquet.ParquetFile(file).metadata
    others = [metadata.row_group(n) for n in range(metadata.num_row_groups)]

    assert read_row_groups(file) == [(one.num_rows, one.total_byte_size) for one in others]


def test_a_damaged_end_is_an_error_of_the_file(tmp_path: Path) -> None:
    file = write(tmp_path / "it.parquet", 20, 5)
    whole, draw = file.read_bytes(), random.Random(7)  # noqa: S311 - of a test

    for _ in range(300):
        data = bytearray(whole)
        for _ in range(draw.randint(1, 6)):
            data[-draw.randint(1, 700)] = draw.randrange(256)
        file.write_bytes(data[: draw.choice([len(data), len(data) - 9, 5])])
        try:
            groups = read_row_groups(file)
        except OSError as error:
            assert "Parquet file" in str(error)  # noqa: PT017 - it may also go well
        else:
            assert all(isinstance(group.rows, int) for group in groups)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_without_pyarrow_what_would_fill_the_memory_is_refused(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "it.parquet", 40, 20)
    if suffix == ".arrow":
        pl.read_parquet(file).write_ipc(file.with_suffix(suffix), compat_level=pl.CompatLevel.oldest())
        file = file.with_suffix(suffix)
    monkeypatch.setattr(arrow, "find_spec", lambda _: None)
    monkeypatch.setattr(arrow, "WHOLE", 1000)

    with pytest.raises(FileFormatError, match=r"at most 1,000 bytes in .*; install pyarrow, .*'eyechart\[hub\]'"):
        read_table(file)


@pytest.mark.parametrize("group", [1, 7, 20, 40])
def test_without_pyarrow_row_groups_are_read_in_order(
    group: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "it.parquet", 40, group)
    monkeypatch.setattr(arrow, "find_spec", lambda _: None)
    monkeypatch.setattr(arrow, "BATCH", 2000)

    data = read_table(file)

    assert data.examples["question"].to_list() == [f"what is {n}?" for n in range(40)]
    assert data.images.table.height == 40
