"""Make a dataset of files that are larger than memory: batch after batch becomes a Parquet file of examples.

What needs all rows is done last, on the few columns it needs: repeated ids, the table of images, gaps.
"""

import shutil
import tempfile
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

import polars as pl

from eyechart.readers.batches import Batches, in_batches
from eyechart.readers.counting import Count, Sifted, dropped, noted
from eyechart.readers.records import Records, require_rows
from eyechart.readers.rows import REPEATED
from eyechart.readers.source import Source
from eyechart.stored import Stored
from eyechart.tables import EXAMPLES, check

MOVED = ("path", "objects")  # columns of the files that go to the images


Prepare: TypeAlias = Callable[[pl.DataFrame, int], Sifted]  # a batch, and the number of its first row


class Found(NamedTuple):
    """Examples in memory or on disk, and what became of the rows."""

    examples: pl.DataFrame | Stored
    pictured: pl.DataFrame  # image and, where there are such columns, path and objects; a saying may stand there once
    counts: list[Count]
    gaps: list[Count]
    strays: int


def stream(sources: list[Source], path: Path, prepare: Prepare) -> Found:
    """Prepare files batch by batch, and keep the examples in a temporary folder that goes when nobody uses them."""
    owner = Scratch()
    batches = in_batches(sources, owner.folder)
    files, counts = _write(batches, owner.folder, prepare)
    if not files:
        require_rows(Records(batches.columns, batches.strays), str(path))
    counts.append(dropped(REPEATED, _drop_repeated(files)))
    whole = Stored(pl.scan_parquet(files), path, group=batches.rows, owner=owner)
    pictured = pl.concat([_pictured(pl.scan_parquet(file)) for file in files])
    gaps = [noted(f"row without an {name}", _nulls(whole, name)) for name in ("image", "answer")]
    return Found(
        whole.select([name for name in whole.columns if name not in MOVED]), pictured, counts, gaps, batches.strays
    )


class Scratch:
    """A temporary folder that goes with the last object that knows this one, or with the process."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="eyechart-"))
        weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)


class _Written(NamedTuple):
    files: list[Path]
    counts: list[Count]


def _write(batches: Batches, folder: Path, prepare: Prepare) -> _Written:
    files: list[Path] = []
    counts: list[Count] = []
    first = 0
    for at, batch in enumerate(batches):
        if batch.is_empty():  # of a file without rows
            continue
        examples, fates = prepare(batch, first)
        first += batch.height
        counts += fates
        files.append(folder / f"examples-{at:06}.parquet")
        check(examples, EXAMPLES).write_parquet(files[-1], compression="lz4")
    return _Written(files, counts)


def _drop_repeated(files: list[Path]) -> int:
    """Leave out rows whose id another has before them; ids are the only column that is ever whole in memory."""
    first = pl.scan_parquet(files).select(pl.col("id").is_first_distinct()).collect().to_series()
    if first.all():
        return 0
    at = 0
    for file in files:
        table = pl.read_parquet(file)
        kept = first.slice(at, table.height)
        at += table.height
        if not kept.all():
            table.filter(kept).write_parquet(file, compression="lz4")
    return int((~first).sum())


def _pictured(part: pl.LazyFrame) -> pl.DataFrame:
    names = [name for name in ("image", *MOVED) if name in part.collect_schema()]
    table = part.select(names).collect()
    known = table.filter(pl.col("image").is_not_null()).unique(maintain_order=True)
    return pl.concat([known, table.filter(pl.col("image").is_null())])  # of those without an image each is counted


def _nulls(stored: Stored, name: str) -> int:
    return int(stored.frame.select(pl.col(name).null_count()).collect().item())
