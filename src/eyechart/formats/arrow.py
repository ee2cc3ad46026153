"""Read Parquet and Arrow files in batches, and the names of labels that Hugging Face datasets writes into them.

pyarrow reads the pages of a row group one after the other. Without it Polars is used, which needs two to three times
the memory of a whole row group, or of a whole Arrow file: files for which this is too much are refused.
"""

import io
import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeAlias

import polars as pl

from eyechart.base.errors import FileFormatError
from eyechart.formats.row_groups import RowGroup, read_row_groups
from eyechart.formats.sources import HEAD, SourceFile

ARROW = (".arrow", ".feather", ".ipc")
BATCH = 16_000_000  # bytes of a batch in the file
WHOLE = 128_000_000  # bytes of a row group, or an Arrow file, that is read at once where pyarrow is missing
_BUFFER = 1_000_000  # bytes of a column that are read at once
_FILE_MARK = b"ARROW1"  # how the file format begins; the stream format, which Hugging Face datasets writes, does not
_FEATURES = b'{"info": {"features":'

Labels: TypeAlias = Mapping[str, list[str]]


def read_arrow(data: bytes) -> pl.DataFrame:
    """Read a whole file of the Arrow file format or stream format."""
    return (pl.read_ipc if data.startswith(_FILE_MARK) else pl.read_ipc_stream)(io.BytesIO(data))


def read_schema(source: SourceFile) -> pl.Schema:
    """Read the names and types of the columns of a file on the disk."""
    path = _path(source)
    if source.suffix == ".parquet":
        return pl.Schema(pl.read_parquet_schema(path))
    with path.open("rb") as file:
        is_file = file.read(len(_FILE_MARK)) == _FILE_MARK
    return pl.Schema(pl.read_ipc_schema(path)) if is_file else pl.read_ipc_stream(path, n_rows=0).schema


def read_batches(source: SourceFile) -> Iterator[pl.DataFrame]:
    """Yield the rows of a file on the disk, in parts that take about BATCH bytes of the file."""
    path = _path(source)
    if find_spec("pyarrow") is None:
        yield from _read_with_polars(path, source.suffix)
        return
    import pyarrow as pa

    try:
        for batch in _read_parquet(path) if source.suffix == ".parquet" else _read_ipc(path):
            yield pl.DataFrame(batch)
    except pa.ArrowException as error:
        raise OSError(str(error)) from None


def read_labels(data: Path | bytes, suffix: str) -> Labels:
    """Return the names that the numbers of a column stand for (Hugging Face's ClassLabel), by column."""
    if suffix == ".parquet":
        text = pl.read_parquet_metadata(data if isinstance(data, Path) else io.BytesIO(data)).get("huggingface", "")
    else:
        text = _find_features(data)
    try:
        return find_labels(json.loads(text)["info"]["features"])
    except (ValueError, KeyError, TypeError):
        return {}


def find_labels(features: object) -> Labels:
    """Find the names of labels in the features of a dataset, as Hugging Face describes them."""
    names = {name: _names_of(feature) for name, feature in features.items()} if isinstance(features, dict) else {}
    return {name: listed for name, listed in names.items() if listed}


def name_labels(schema: Mapping[str, Any], labels: Labels) -> list[pl.Expr]:
    """Build the columns in which numbers are replaced by the names they stand for; any other number becomes null."""
    return [
        _named(pl.col(name), schema[name], names).alias(name)
        for name, names in labels.items()
        if name in schema and _is_whole(schema[name])
    ]


def _path(source: SourceFile) -> Path:
    return source.path or Path(source.name)


def _read_with_polars(path: Path, suffix: str) -> Iterator[pl.DataFrame]:
    is_parquet = suffix == ".parquet"
    groups = read_row_groups(path) if is_parquet else [RowGroup(0, path.stat().st_size)]
    largest = max((group.size for group in groups), default=0)
    if largest > WHOLE:
        part, found = ("row groups", "one of") if is_parquet else ("an Arrow file", "one of")
        advice = "install pyarrow, which reads it in parts: pip install 'eyechart[hub]'"
        raise FileFormatError(f"{part} of at most {WHOLE:,} bytes in {path}", f"{found} {largest:,}", advice)
    if not is_parquet:
        yield read_arrow(path.read_bytes())
        return
    scan = pl.scan_parquet(path, glob=False, low_memory=True)
    for start, rows, size in _unite(groups):
        yield from scan.slice(start, rows).collect().iter_slices(_rows(size / max(rows, 1)))


def _unite(groups: Sequence[RowGroup]) -> Iterator[tuple[int, int, int]]:
    """Unite small row groups to parts that take about BATCH bytes: where each begins, its rows and its bytes."""
    start = rows = size = 0
    for group in groups:
        if rows and size + group.size > BATCH:
            yield start, rows, size
            start, rows, size = start + rows, 0, 0
        rows, size = rows + group.rows, size + group.size
    if rows:
        yield start, rows, size


def _read_parquet(path: Path) -> Iterator[Any]:
    from pyarrow import parquet

    with parquet.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER) as file:
        each = path.stat().st_size / max(file.metadata.num_rows, 1)
        yield from file.iter_batches(batch_size=_rows(each), use_threads=False)


def _read_ipc(path: Path) -> Iterator[Any]:
    import pyarrow as pa

    with pa.memory_map(str(path)) as file:
        is_file = file.read(len(_FILE_MARK)) == _FILE_MARK
        file.seek(0)
        reader = pa.ipc.open_file(file) if is_file else pa.ipc.open_stream(file)
        batches = map(reader.get_batch, range(reader.num_record_batches)) if is_file else reader
        for batch in batches:
            starts = [*range(0, batch.num_rows, _rows(batch.nbytes / max(batch.num_rows, 1))), batch.num_rows]
            yield from (batch.slice(start, stop - start) for start, stop in pairwise(starts))


def _rows(each: float) -> int:
    return int(min(max(BATCH / max(each, 1.0), 1), 100_000))


def _find_features(data: Path | bytes) -> str:
    """Find the description of the features in the schema of an Arrow file, which stands at its beginning as text."""
    if isinstance(data, Path):
        with data.open("rb") as file:
            data = file.read(HEAD)
    start = data[:HEAD].find(_FEATURES)
    if start < 0:
        return ""
    text = data[start:HEAD].decode(errors="replace")
    try:
        return text[: json.JSONDecoder().raw_decode(text)[1]]
    except ValueError:
        return ""


def _names_of(feature: object) -> list[str]:
    """Return the names of a label, or of the labels in a list."""
    if isinstance(feature, list):
        return _names_of(feature[0]) if len(feature) == 1 else []
    if not isinstance(feature, dict):
        return []
    if feature.get("_type") != "ClassLabel":
        return _names_of(feature["feature"]) if "feature" in feature else []
    names = feature.get("names")
    return [str(name) for name in names] if isinstance(names, list) else []


def _is_whole(dtype: Any) -> bool:  # noqa: ANN401 - an inner type may be a class
    return bool(dtype.is_integer() or (isinstance(dtype, pl.List) and dtype.inner.is_integer()))


def _named(column: pl.Expr, dtype: pl.DataType, names: list[str]) -> pl.Expr:
    if isinstance(dtype, pl.List):
        return column.list.eval(_named(pl.element(), pl.Int64(), names))
    numbers = list(range(len(names)))
    return column.cast(pl.Int64).replace_strict(numbers, names, default=None, return_dtype=pl.String)
