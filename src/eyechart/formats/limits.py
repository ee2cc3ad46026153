"""Limits of what is read: the length of a record, the depth of JSON, and the size that an archive unpacks to."""

import re
from collections.abc import Iterable, Iterator

import numpy as np

from eyechart.base.errors import FileFormatError

LONGEST = 64_000_000  # bytes of a record
PART = 16_000_000  # bytes in which records are looked for
MOST_TIMES = 200  # the size that a large file may unpack to, in times its own
LARGE = 256_000_000  # bytes, from which on that is asked
DEEPEST = 100  # values inside values of JSON
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}\n"))
_STEPS = np.zeros(256, np.int8)
_STEPS[list(b"[{")], _STEPS[list(b"]}")] = 1, -1
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
_QUOTE, _NEWLINES = 0x22, (0x0A, 0x0D)


def require_moderate(name: str, packed: int, unpacked: int) -> None:
    """Raise an error for a file that unpacks to so much that it must have been made to fill the memory."""
    if unpacked > LARGE and unpacked > MOST_TIMES * packed:
        found = f"{unpacked:,} bytes or more out of {packed:,}"
        raise FileFormatError(f"{name} to unpack to a moderate size", found, "unpack it first if you trust it")


def require_short(name: str, length: int) -> None:
    """Raise an error for a record that is too long to be one: a broken end of line can make one of a whole file."""
    if length > LONGEST:
        found = f"one of more than {LONGEST // 1_000_000} MB"
        raise FileFormatError(
            f"records of moderate size in {name}", found, "check the ends of its lines, and its quotes"
        )


def require_short_lines(name: str, data: bytes) -> None:
    """Raise an error for content with a line that is too long."""
    start = 0
    while len(data) - start > LONGEST:  # a line end in each stretch of this length
        end = data.rfind(b"\n", start, start + LONGEST + 1)
        require_short(name, LONGEST + 1 if end < 0 else 0)
        start = end + 1


def require_short_rows(name: str, parts: Iterable[bytes]) -> None:
    """Raise an error for CSV or TSV with a row that is too long; ends of lines inside quotes do not end rows."""
    length, quoted = 0, False
    for part in parts:
        first, last = _find_ends(part, quoted=quoted)
        require_short(name, length + (len(part) if first is None else first))
        length = length + len(part) if last is None else len(part) - last
        quoted ^= part.count(b'"') % 2 == 1
    require_short(name, length)


def in_parts(data: bytes) -> Iterator[bytes]:
    """Split content into parts."""
    return (data[start : start + PART] for start in range(0, len(data), PART))


def _find_ends(part: bytes, *, quoted: bool) -> tuple[int | None, int | None]:
    """Return where the first and the last row end; None if none does."""
    if b'"' not in part:
        ends = [] if quoted else [find(mark) for mark in (b"\n", b"\r") for find in (part.find, part.rfind)]
        found = [end for end in ends if end >= 0]
        return (min(found), max(found)) if found else (None, None)
    content = np.frombuffer(part, np.uint8)
    outside = (np.cumsum(content == _QUOTE) + quoted) % 2 == 0
    places = np.flatnonzero(outside & np.isin(content, _NEWLINES))
    return (int(places[0]), int(places[-1])) if len(places) else (None, None)


def require_shallow(name: str, data: bytes, *, lines: bool = False) -> None:
    """Raise an error for JSON that is nested so deeply that no table has room for it.

    Some libraries take minutes for it, or end the process. `lines` says that each line is a value of its own.
    """
    if len(data) <= 2 * DEEPEST or _measure_depth(data, lines=lines) <= DEEPEST:
        return
    if _measure_depth(_TEXT.sub(b"", data), lines=lines) > DEEPEST:  # brackets inside texts are no nesting
        found = "values nested more deeply"
        raise FileFormatError(f"JSON nested at most {DEEPEST} deep in {name}", found, "flatten it, or leave it out")


def _measure_depth(data: bytes, *, lines: bool) -> int:
    """Return the depth of nesting, with each bracket taken for one."""
    marks = np.frombuffer(data.translate(None, _NO_BRACKETS), np.uint8)
    depth = np.cumsum(_STEPS[marks], dtype=np.int32)
    if lines:
        begins = np.maximum.accumulate(np.where(marks == _NEWLINES[0], np.arange(len(marks)), -1))
        depth = depth - np.where(begins >= 0, depth[begins], 0)
    return int(depth.max(initial=0))
