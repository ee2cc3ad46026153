"""Add to the questions of a table what a second file says of them, by id: often their references."""

from pathlib import Path

import polars as pl

from eyechart.base.errors import SettingError
from eyechart.formats.columns import as_key
from eyechart.formats.names import ALIASES, find_origins
from eyechart.formats.records import TABLE_FORMATS, read_records, stack
from eyechart.formats.rows import CountedTable, noted
from eyechart.formats.sources import find_sources

_KEY = "id of an annotation"


def read_annotations(path: Path) -> pl.DataFrame:
    """Read a table with an id, which each row has for itself; of repeated ones the first counts."""
    sources = find_sources(path, TABLE_FORMATS)
    table = stack([read_records(source) for source in sources], sources).table
    origin = _find_id(table, {}, str(path))
    keys = as_key(table[origin], str(path)).alias(_KEY)
    return table.drop(origin).with_columns(keys).unique(_KEY, keep="first", maintain_order=True)


def annotate(table: pl.DataFrame, annotations: pl.DataFrame, chosen: dict[str, str], origin: str) -> CountedTable:
    """Add the columns that a table lacks; what it has stays."""
    name = _find_id(table, chosen, origin)
    keyed = find_origins(table, ("id",), ALIASES, chosen)[0]
    added = annotations.drop(column for column in table.columns if column in annotations.columns)
    keys = table.with_columns(as_key(keyed[name], origin).alias(_KEY))
    joined = keys.join(added, on=_KEY, how="left", validate="m:1", maintain_order="left")
    lacking = keys.join(added, on=_KEY, how="anti").height
    return CountedTable(joined.drop(_KEY), [noted("row without an annotation", lacking)])


def _find_id(table: pl.DataFrame, chosen: dict[str, str], origin: str) -> str:
    found = find_origins(table, ("id",), ALIASES, chosen)[1].get("id")
    if found is None:
        columns = f"columns {', '.join(table.columns) or 'none at all'}"
        raise SettingError(f"a column of ids in {origin}, to join annotations by", columns, "call it id")
    return found
