"""Find out how a CSV or TSV file is really written: what separates its columns, and what ends its lines."""

import re
from typing import NamedTuple

SEPARATORS = {".csv": ",", ".tsv": "\t"}
_FOUND = (",", ";", "\t")
_QUOTED = re.compile(rb'"[^"]*(?:"|\Z)')


class Form(NamedTuple):
    """What stands between two columns and between two lines."""

    separator: str
    line_end: str


def find_form(head: bytes, suffix: str) -> Form:
    """Tell the form by the beginning of a file: another separator only where the usual one would give one column."""
    bare = _QUOTED.sub(b"", head)  # a cell may hold any of these marks
    line_end = "\r" if b"\r" in bare and b"\n" not in bare else "\n"
    header = bare.lstrip(b"\r\n").partition(line_end.encode())[0].decode(errors="replace")
    usual = SEPARATORS[suffix]
    separator = usual if usual in header else max((usual, *_FOUND), key=header.count)
    return Form(separator, line_end)
