"""Take large files apart into batches that fit into memory, each of the columns and types that all of them have.

Parquet, CSV and TSV are streamed from where they lie. JSON lines say only at their end which columns they have, so they
are first written block by block into Parquet files of a temporary folder.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import polars as pl

from eyechart.readers.records import LINES, Records, read_blocks, reading, require_rows, union
from eyechart.readers.separated import SEPARATORS, find_form
from eyechart.readers.source import Source

LARGE = 512_000_000  # bytes of files from which on they are read in batches
BATCH = 64_000_000  # bytes of a batch as a table
SAMPLE = 1_000  # rows by which the size of a row is guessed
FEWEST, MOST = 1_000, 200_000  # rows of a batch


class Part(NamedTuple):
    """A table that is not in memory, of a source."""

    source: Source
    frame: pl.LazyFrame


@dataclass(frozen=True)
class Batches:
    """Parts of one table, its columns, how many rows to take at a time, and how many entries were no records."""

    parts: Sequence[Part]
    columns: pl.DataFrame  # without rows
    rows: int
    strays: int = 0

    def __iter__(self) -> Iterator[pl.DataFrame]:
        """Yield the rows in their order."""
        for part in self.parts:
            with reading(part.source):
                for batch in part.frame.collect_batches(chunk_size=self.rows, maintain_order=True):
                    yield union([self.columns, batch])


def are_large(sources: Sequence[Source]) -> bool:
    """Say whether files are too large to be read at once, and of formats that need not be."""
    if not all(source.path and source.suffix in (".parquet", *SEPARATORS, *LINES) for source in sources):
        return False
    large = sum(source.path.stat().st_size for source in sources if source.path) >= LARGE
    return large and all(source.is_streamable() for source in sources)


def in_batches(sources: Sequence[Source], spool: Path) -> Batches:
    """Look at the columns of files, writing JSON lines into the folder `spool` on the way."""
    parts: list[Part] = []
    strays = 0
    for at, source in enumerate(sources):
        if source.suffix in LINES:
            more, n = _spooled(source, spool / str(at))
            parts, strays = [*parts, *more], strays + n
        else:
            parts.append(Part(source, _scan(source)))
    if not parts:
        require_rows(Records(pl.DataFrame(), strays), sources[0].name)
    schemas = []
    for part in parts:
        with reading(part.source):
            schemas.append(part.frame.collect_schema().to_frame())
    return Batches(parts, union(schemas), _rows(parts[0]), strays)


def _scan(source: Source) -> pl.LazyFrame:
    path = source.path or Path(source.name)
    if source.suffix == ".parquet":
        return pl.scan_parquet(path, glob=False)
    form = find_form(source.head(), source.suffix)
    return pl.scan_csv(path, separator=form.separator, eol_char=form.line_end, infer_schema=False, glob=False)


def _spooled(source: Source, folder: Path) -> tuple[list[Part], int]:
    """Write the blocks of JSON lines as Parquet files, and give them the types that all blocks of the file share."""
    folder.mkdir()
    files, schemas, strays = [], [], 0
    with reading(source):
        for at, records in enumerate(read_blocks(source)):
            strays += records.strays
            if records.table.width:
                files.append(folder / f"{at}.parquet")
                schemas.append(records.table.clear())
                records.table.write_parquet(files[-1], compression="lz4")
    columns = union(schemas) if schemas else pl.DataFrame()
    return [Part(source, _fitted(pl.scan_parquet(file), columns)) for file in files], strays


def _fitted(frame: pl.LazyFrame, columns: pl.DataFrame) -> pl.LazyFrame:
    return pl.concat([columns.lazy(), frame], how="diagonal_relaxed")


def _rows(part: Part) -> int:
    with reading(part.source):
        sample = part.frame.head(SAMPLE).collect()
    each = sample.estimated_size() / max(sample.height, 1)
    return int(min(max(BATCH / max(each, 1.0), FEWEST), MOST))
