"""Read tables that hold their pictures, and tell the memory and the time this takes.

    python benchmarks/pictures.py [--rows 10000] [--kilobytes 200] [--limit-mb 600] [--record]

The pictures are JPEG files of random pixels, no two alike. Each form is read in a process of its own, `eyechart read
table`, which is ended when more than the limit is resident; Parquet also without pyarrow, which reads large row groups
in parts. Arrow files are mapped into memory, whose pages count as resident but can be taken back at any time.
"""

import argparse
import base64
import io
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
from PIL import Image
from pyarrow import parquet

import record
from children import EYECHART, Limits, Spent, run

AT_ONCE = 100  # rows made at once
WITHOUT_PYARROW = "import sys; sys.modules['pyarrow'] = None; from eyechart.cli import main; main()"
Write = Callable[[Iterator[pl.DataFrame], Path, int], None]


def make_rows(rows: int, kilobytes: float) -> Iterator[pl.DataFrame]:
    """Make questions, each with a picture of about this size, in parts."""
    base = make_picture(kilobytes * 1000)
    for start in range(0, rows, AT_ONCE):
        numbers = range(start, min(start + AT_ONCE, rows))
        pictures = [{"bytes": with_comment(base, f"{number:08}"), "path": f"{number}.jpg"} for number in numbers]
        questions = [f"What is in picture {number}?" for number in numbers]
        yield pl.DataFrame({"image": pictures, "question": questions, "answer": ["a cat"] * len(numbers)})


def make_picture(size: float) -> bytes:
    """Make a JPEG file of random pixels that has about this size."""
    side = max(int((size / 0.69) ** 0.5), 8)
    buffer = io.BytesIO()
    pixels = np.random.default_rng(0).integers(0, 256, (side, side, 3), np.uint8)
    Image.fromarray(pixels).save(buffer, "JPEG", quality=80)
    return buffer.getvalue()


def with_comment(picture: bytes, text: str) -> bytes:
    """Add a comment to a JPEG file, so that it is like no other."""
    return picture[:2] + b"\xff\xfe" + (len(text) + 2).to_bytes(2, "big") + text.encode() + picture[2:]


def make_file(write: Write, path: Path, group: int, rows: int, kilobytes: float) -> None:
    """Write a file in a process of its own: the memory of this one would be counted with that of the reading."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(fill_file, write, path, group, rows, kilobytes).result()


def fill_file(write: Write, path: Path, group: int, rows: int, kilobytes: float) -> None:
    """Write a file."""
    write(make_rows(rows, kilobytes), path, group)


def write_parquet(parts: Iterator[pl.DataFrame], path: Path, group: int) -> None:
    """Write Parquet in row groups of so many rows."""
    whole = pl.concat(parts).to_arrow() if group > AT_ONCE else None
    if whole is not None:
        parquet.write_table(whole, path, row_group_size=group)
        return
    first = next(parts).to_arrow()
    with parquet.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first, group)
        for part in parts:
            writer.write_table(part.to_arrow(), group)


def write_arrow(parts: Iterator[pl.DataFrame], path: Path, _: int) -> None:
    """Write a stream of Arrow, as `save_to_disk` does."""
    first = next(parts).to_arrow()
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, first.schema) as writer:
        for part in (first, *map(pl.DataFrame.to_arrow, parts)):
            writer.write_table(part)


def write_lines(parts: Iterator[pl.DataFrame], path: Path, _: int) -> None:
    """Write JSON lines with base64 text."""
    with path.open("w") as lines:
        for row in (row for part in parts for row in part.iter_rows(named=True)):
            lines.write(json.dumps(row | {"image": base64.b64encode(row["image"]["bytes"]).decode()}) + "\n")


def forms(rows: int) -> list[tuple[str, str, Write, int, bool]]:
    """List the files to read: what they are, their suffix, how they are written, and whether pyarrow is there."""
    return [
        ("Parquet, row groups of 100", "parquet", write_parquet, min(100, rows), True),
        (f"Parquet, one row group of {rows:,}", "parquet", write_parquet, rows, True),
        ("Parquet, row groups of 100, without pyarrow", "parquet", write_parquet, min(100, rows), False),
        ("Arrow, batches of 100", "arrow", write_arrow, 100, True),
        ("JSON lines, base64", "jsonl", write_lines, 0, True),
    ]


def measure(path: Path, limit_mb: float | None, *, with_pyarrow: bool) -> Spent:
    """Read a file into a dataset folder and throw that away."""
    program = EYECHART if with_pyarrow else (sys.executable, "-c", WITHOUT_PYARROW)
    out = path.with_name("data")
    spent = run([*program, "read", "table", str(path), "-o", str(out)], Limits(limit_mb))
    shutil.rmtree(out, ignore_errors=True)
    return spent


def main() -> None:
    """Make the files one by one, read them, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--kilobytes", type=float, default=200, help="of a picture")
    parser.add_argument("--limit-mb", type=float, default=600, help="of memory for each reading; 0: no limit")
    parser.add_argument("--only", default="", help="read only the files whose name begins so")
    record.add_flag(parser)
    given = parser.parse_args()
    found: list[record.Row] = []
    for name, suffix, write, group, with_pyarrow in forms(given.rows):
        if not name.startswith(given.only):
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"table.{suffix}"
            make_file(write, path, group, given.rows, given.kilobytes)
            spent = measure(path, given.limit_mb if suffix != "arrow" else None, with_pyarrow=with_pyarrow)
            gb = path.stat().st_size / 1e9
        state = "" if spent.code == 0 else f"  ended with {spent.code}: {spent.last[:80]}"
        print(f"{name:<45}{given.rows:>8,}{gb:>6.1f} GB{spent.wall:>7.1f} s{spent.mb:>7,.0f} MB{state}", flush=True)
        if spent.code == 0:
            row = {"file": name, "rows": given.rows, "gb": round(gb, 2)}
            found.append(row | {"seconds": round(spent.wall, 1), "mb": round(spent.mb)})
    if given.record:
        record.keep("pictures", found, recorded="timings of one machine: run the command again")


if __name__ == "__main__":
    main()
