"""A file inside the page: a link that saves a table without a server."""

import base64
import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any


def as_csv(records: Sequence[Mapping[str, Any]]) -> str:
    """Link to records as CSV at full precision; a column that says nothing is left away."""
    told = [name for name in (records[0] if records else ()) if any(record[name] is not None for record in records)]
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(told)
    writer.writerows([_cell(record[name]) for name in told] for record in records)
    return f"data:text/csv;charset=utf-8;base64,{base64.b64encode(file.getvalue().encode()).decode('ascii')}"


def _cell(value: object) -> object:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list | dict) else value
