"""Guess the format of a file by the words near its beginning, to help somebody who named the wrong one."""

from collections.abc import Mapping
from pathlib import Path

from eyechart.errors import EyechartError
from eyechart.readers.description import Description
from eyechart.readers.source import find_sources

READABLE = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt")
HEAD = 65_536  # bytes of a file that are looked at
FILES = 4  # of a folder or archive
ENOUGH = 0.75  # of the signs of a format must be there


def guess_format(path: Path, formats: Mapping[str, Description]) -> str | None:
    """Name the format most of whose signs occur in a file, if any has enough of them."""
    try:
        heads = b"\n".join(source.read()[:HEAD] for source in find_sources(path, READABLE)[:FILES])
    except EyechartError:  # the reader that was asked for says better what is wrong
        return None
    text = heads.decode(errors="replace")
    shares = {name: _share(text, format_.signs) for name, format_ in formats.items() if format_.signs}
    best = max(shares, key=lambda name: (shares[name], len(formats[name].signs)), default=None)
    return best if best is not None and shares[best] >= ENOUGH else None


def _share(text: str, signs: tuple[str, ...]) -> float:
    return sum(sign in text for sign in signs) / len(signs)
