"""Read files that are larger than memory, batch by batch, into a Parquet file of examples.

Parquet, CSV and TSV are streamed from the files themselves. The columns of JSON lines are known only at the end, so
they are first written block by block to Parquet files in a temporary folder. What needs all rows is done last, on the
few columns it needs: repeated ids, the table of images, gaps.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeAlias

import polars as pl
import polars.selectors as cs

from eyechart.base.files import TemporaryFolder
from eyechart.data.several import IMAGE_LIST
from eyechart.data.stored import StoredTable
from eyechart.data.tables import EXAMPLES, check
from eyechart.formats.arrow import name_labels, read_labels
from eyechart.formats.embedded import EmbeddedPictures
from eyechart.formats.limits import PART, require_short_rows
from eyechart.formats.records import (
    LINES,
    SEPARATORS,
    Records,
    find_separators,
    has_pictures,
    read_parts,
    reading,
    require_rows,
    union,
)
from eyechart.formats.rows import REPEATED, CountedTable, RowCount, dropped, noted
from eyechart.formats.sources import SourceFile

LARGE = 512_000_000  # bytes of files above which they are read in batches
BATCH = 64_000_000  # bytes of a batch as a table
SAMPLE = 1_000  # rows used to estimate the size of a row
FEWEST, MOST = 100, 200_000  # rows of a batch
DECISIVE = 100_000  # rows that decide how the columns are understood
MOVED = ("path", "objects")  # columns of the files that move to the images

Prepare: TypeAlias = Callable[[pl.DataFrame, int], CountedTable]  # a batch, and the number of its first row


class SourceTable(NamedTuple):
    """A table in a file, not in memory."""

    source: SourceFile
    frame: pl.LazyFrame


@dataclass(frozen=True)
class Batches:
    """A table in parts, its columns, the rows of a batch, and how many entries were not records."""

    parts: Sequence[SourceTable]
    columns: pl.DataFrame  # has no rows
    rows: int
    strays: int = 0

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """Yield the rows in order, batch by batch, each with all columns."""
        for part in self.parts:
            with reading(part.source):
                for batch in part.frame.collect_batches(chunk_size=self.rows, maintain_order=True):
                    yield union([self.columns, batch])

    def first(self, rows: int) -> pl.DataFrame:
        """Return the first rows, without pictures: the files may be larger than memory because of them."""
        parts: list[pl.DataFrame] = []
        for batch in self:
            parts.append(batch.select(~cs.binary()))
            if sum(part.height for part in parts) >= rows:
                break
        return union(parts).head(rows) if parts else self.columns


class LoadedTable(NamedTuple):
    """Examples in memory or on disk, what they say about images, and the fate of the rows."""

    examples: pl.DataFrame | StoredTable
    of_images: pl.DataFrame  # image and, if there are such columns, path, objects, images; repeats may be left out
    counts: list[RowCount]
    gaps: list[RowCount]
    strays: int


def are_large(sources: Sequence[SourceFile]) -> bool:
    """Return whether files are too large to be read at once and have formats that can be read in batches."""
    if not all(source.path and source.suffix in (".parquet", *SEPARATORS, *LINES) for source in sources):
        return False
    large = sum(source.path.stat().st_size for source in sources if source.path) >= LARGE
    return large and all(source.is_streamable() for source in sources)


def stream(sources: list[SourceFile], path: Path, prepare: Prepare, embedded: EmbeddedPictures) -> LoadedTable:
    """Prepare files batch by batch, and keep the examples in a temporary folder that is deleted with the last user."""
    owner = TemporaryFolder()
    batches = _in_batches(sources, owner.folder, embedded)
    evidence = batches.first(DECISIVE)
    if evidence.height:
        prepare(evidence, 0)
    files, counts = _write(batches, owner.folder, prepare)
    if not files:
        require_rows(Records(batches.columns, batches.strays), str(path))
    counts.append(dropped(REPEATED, _drop_repeated(files)))
    whole = StoredTable(pl.scan_parquet(files), path, group=batches.rows, owner=owner)
    of_images = pl.concat([_select_of_images(pl.scan_parquet(file)) for file in files])
    gaps = [noted(f"row without an {name}", _count_nulls(whole, name)) for name in ("image", "answer")]
    examples = whole.select([name for name in whole.columns if name not in MOVED])
    return LoadedTable(examples, of_images, counts, gaps, batches.strays)


def _write(batches: Batches, folder: Path, prepare: Prepare) -> tuple[list[Path], list[RowCount]]:
    files: list[Path] = []
    counts: list[RowCount] = []
    first = 0
    for number, batch in enumerate(batches):
        if batch.is_empty():  # from a file without rows
            continue
        examples, more = prepare(batch, first)
        first += batch.height
        counts += more
        files.append(folder / f"examples-{number:06}.parquet")
        check(examples, EXAMPLES).write_parquet(files[-1], compression="lz4")
    return files, counts


def _drop_repeated(files: list[Path]) -> int:
    """Drop rows with an id seen before; ids are the only column that is ever whole in memory."""
    first = pl.scan_parquet(files).select(pl.col("id").is_first_distinct()).collect().to_series()
    if first.all():
        return 0
    start = 0
    for file in files:
        table = pl.read_parquet(file)
        kept = first.slice(start, table.height)
        start += table.height
        if not kept.all():
            table.filter(kept).write_parquet(file, compression="lz4")
    return int((~first).sum())


def _select_of_images(part: pl.LazyFrame) -> pl.DataFrame:
    names = [name for name in ("image", *MOVED, IMAGE_LIST) if name in part.collect_schema()]
    table = part.select(names).collect()
    known = table.filter(pl.col("image").is_not_null()).unique(maintain_order=True)
    return pl.concat([known, table.filter(pl.col("image").is_null())])  # those without an image are each counted


def _count_nulls(stored: StoredTable, name: str) -> int:
    return int(stored.frame.select(pl.col(name).null_count()).collect().item())


def _in_batches(sources: Sequence[SourceFile], folder: Path, embedded: EmbeddedPictures) -> Batches:
    """Find the columns of files, writing JSON lines and tables without their pictures into the folder on the way."""
    parts: list[SourceTable] = []
    strays = 0
    for number, source in enumerate(sources):
        if source.suffix in LINES or has_pictures(source):
            more, n = _convert(source, folder / str(number), embedded)
            parts, strays = [*parts, *more], strays + n
        else:
            parts.append(SourceTable(source, _scan(source)))
    if not parts:
        require_rows(Records(pl.DataFrame(), strays), sources[0].name)
    schemas = []
    for part in parts:
        with reading(part.source):
            schemas.append(part.frame.collect_schema().to_frame())
    return Batches(parts, union(schemas), _batch_size(parts[0]), strays)


def _scan(source: SourceFile) -> pl.LazyFrame:
    path = source.path or Path(source.name)
    if source.suffix == ".parquet":
        scan = pl.scan_parquet(path, glob=False)
        return scan.with_columns(name_labels(scan.collect_schema(), read_labels(path, source.suffix)))
    with path.open("rb") as file:
        require_short_rows(source.name, iter(partial(file.read, PART), b""))
    separator, line_end = find_separators(source.head(), source.suffix)
    return pl.scan_csv(path, separator=separator, eol_char=line_end, infer_schema=False, glob=False)


def _convert(source: SourceFile, folder: Path, embedded: EmbeddedPictures) -> tuple[list[SourceTable], int]:
    """Write the parts of a file as Parquet files, with types that fit all of them."""
    folder.mkdir()
    files, schemas, strays = [], [], 0
    with reading(source):
        for number, records in enumerate(read_parts(source, embedded)):
            strays += records.strays
            if records.table.width:
                files.append(folder / f"{number}.parquet")
                schemas.append(records.table.clear())
                records.table.write_parquet(files[-1], compression="lz4")
    columns = union(schemas) if schemas else pl.DataFrame()
    scans = (pl.concat([columns.lazy(), pl.scan_parquet(file)], how="diagonal_relaxed") for file in files)
    return [SourceTable(source, scan) for scan in scans], strays


def _batch_size(part: SourceTable) -> int:
    with reading(part.source):
        sample = part.frame.head(SAMPLE).collect()
    each = sample.estimated_size() / max(sample.height, 1)
    return int(min(max(BATCH / max(each, 1.0), FEWEST), MOST))
