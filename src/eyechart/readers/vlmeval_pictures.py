"""Take the pictures out of VLMEvalKit's tables, where they lie as base64 text in the column `image`.

A cell of at most 64 characters is the index of another row, whose picture is meant. A cell, or one of `image_path`, may
be a list of several. A picture is named by a hash of its text, so the name is the same whether it is written or not.
"""

import base64
import binascii
import hashlib
import re
from pathlib import Path
from typing import NamedTuple

import polars as pl

from eyechart.errors import SettingError
from eyechart.files import replacing
from eyechart.readers.columns import as_texts
from eyechart.readers.counting import Count, noted

_REFERENCE = 64  # characters at most; no picture is so short
_HEAD = 32  # characters of base64 that hold the magic bytes of every kind
_ALPHABET = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")
_KINDS = {  # by the bytes a file begins with
    ".jpg": rb"\xff\xd8\xff",
    ".png": rb"\x89PNG\r\n\x1a\n",
    ".gif": rb"GIF8[79]a",
    ".webp": rb"RIFF.{4}WEBP",
    ".bmp": rb"BM",
}


class Pictures(NamedTuple):
    """The names of each row's pictures, null where it has none, and what to know about them."""

    names: pl.Series
    notes: list[Count]


class _Followed(NamedTuple):
    cells: pl.Series
    notes: list[Count]


class _Picture(NamedTuple):
    name: str
    text: str
    suffix: str | None


def read_pictures(cells: pl.Series, keys: pl.Series, folder: Path | None) -> Pictures:
    """Name the pictures of a column of cells, and write them into a folder where one is given."""
    followed, notes = _follow(_filled(cells), keys)
    distinct = followed.drop_nulls().unique(maintain_order=True).alias("cell")
    # One by one, because a hash of megabytes is no column's work; each picture is looked at once.
    found = [[_look(text) for text in texts] for texts in _split_lists(distinct)]
    names = [[one.name for one in pictures if one is not None] or None for pictures in found]
    by_cell = pl.DataFrame({"cell": distinct, "names": pl.Series(names, dtype=pl.List(pl.String))})
    listed = (
        followed.alias("cell").to_frame().join(by_cell, on="cell", how="left", validate="m:1", maintain_order="left")
    )
    bad = noted("picture that is no base64, left out", sum(one is None for pictures in found for one in pictures))
    sound = {one.name: one for pictures in found for one in pictures if one is not None}
    return Pictures(listed["names"], [*notes, bad, *_keep(list(sound.values()), folder)])


def read_paths(cells: pl.Series) -> pl.Series:
    """Make lists of paths out of cells that hold one, or several as a list written out."""
    return pl.Series(cells.name, [paths or None for paths in _split_lists(_filled(cells))], pl.List(pl.String))


def _filled(cells: pl.Series) -> pl.Series:
    return cells.set(cells.str.strip_chars().is_in(["", "nan", "NaN"]), None)


def _follow(cells: pl.Series, keys: pl.Series) -> _Followed:
    """Put the picture of another row in the place of that row's index."""
    refers = cells.str.len_bytes() <= _REFERENCE
    own = pl.DataFrame({"key": keys, "cell": cells}).filter(~refers).drop_nulls()
    meant = pl.DataFrame({"key": cells.str.strip_chars()}).join(
        own.unique("key", keep="first", maintain_order=True),
        on="key",
        how="left",
        validate="m:1",
        maintain_order="left",
    )["cell"]
    lost = noted("image that is the index of no row with a picture", int((refers & meant.is_null()).sum()))
    return _Followed(meant.zip_with(refers.fill_null(value=False), cells), [lost])


def _split_lists(cells: pl.Series) -> list[list[str]]:
    """Take lists written as text apart; any other text is a list of itself."""
    lists = as_texts(cells, "the pictures")
    pairs = zip(cells, lists, strict=True)
    return [one.to_list() if one is not None else [] if text is None else [text] for text, one in pairs]


def _look(text: str) -> _Picture | None:
    """Name a picture and tell its kind by its first bytes, without decoding the rest."""
    plain = "".join(re.sub(r"^data:[^,]*,", "", text).split())
    if not _ALPHABET.fullmatch(plain):
        return None
    head = _decode(plain[:_HEAD]) or b""
    suffix = next((suffix for suffix, magic in _KINDS.items() if re.match(magic, head, re.DOTALL)), None)
    return _Picture(hashlib.sha256(plain.encode()).hexdigest()[:32], plain, suffix)


def _decode(text: str) -> bytes | None:
    standard = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except binascii.Error:
        return None


def _keep(pictures: list[_Picture], folder: Path | None) -> list[Count]:
    if folder is None:
        return [noted("picture inside the file, not written; see pictures", len(pictures))]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = [_write(picture, folder) for picture in pictures]
    except OSError as error:
        raise SettingError(f"a folder to write pictures to at {folder}", str(error), "name another place") from None
    return [
        noted("picture written", sum(written)),
        noted("picture of no known kind or broken off, not written", len(written) - sum(written)),
    ]


def _write(picture: _Picture, folder: Path) -> bool:
    data = None if picture.suffix is None else _decode(picture.text)
    if data is None:
        return False
    with replacing(folder / f"{picture.name}{picture.suffix}") as draft:
        draft.write_bytes(data)
    return True
