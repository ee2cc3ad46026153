"""Name the images of VLMEvalKit's tables, and write pictures given as base64 text in the column `image` to files.

A cell of at most 64 characters is the index of another row, whose picture is used. A cell, or one of `image_path`, may
be a list of several. A picture is named by a hash of its text, so the name is the same whether it is written or not.
"""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import polars as pl

from eyechart.base.errors import SettingError
from eyechart.base.files import replacing
from eyechart.formats.columns import as_texts
from eyechart.formats.embedded import NAME, DamagedPictureError, decode_base64, inspect_picture
from eyechart.formats.rows import RowCount, noted

_REFERENCE = 64  # characters at most; no picture is this short
_ALPHABET = re.compile(r"[A-Za-z0-9+/_-]+={0,2}")


class _Picture(NamedTuple):
    """A picture as text, and its name."""

    name: str
    text: str

    def write(self, folder: Path) -> bool:
        """Write the picture to a file, unless it is damaged."""
        content = decode_base64(self.text)
        try:
            suffix = None if content is None else inspect_picture(content)[0]
        except DamagedPictureError:
            suffix = None
        if content is None or suffix is None:
            return False
        with replacing(folder / f"{self.name}{suffix}") as draft:
            draft.write_bytes(content)
        return True


def name_images(table: pl.DataFrame, folder: Path | None) -> tuple[pl.DataFrame, pl.DataFrame, list[RowCount]]:
    """Name the image of each row, the first if there are several (then the column `images` names them all).

    The second table lists the images with their paths. Pictures inside the file are written to the folder, if any.
    """
    nothing = pl.Series([None] * table.height, dtype=pl.List(pl.String))
    has_cells = "image" in table.columns
    inside, counts = _read_pictures(table["image"], table["id"], folder) if has_cells else (nothing, [])
    paths = _read_paths(table["image_path"]) if "image_path" in table.columns else nothing
    names = inside.zip_with(inside.is_not_null(), paths).alias("images")
    listed = pl.DataFrame({"image": names, "is_path": inside.is_null()}).explode("image", empty_as_null=False)
    images = listed.drop_nulls().select("image", path=pl.when("is_path").then("image"))
    several = names.list.len() > 1
    named = table.with_columns(names.list.first().alias("image"))
    if several.any():
        named = named.with_columns(names)
    counts.append(noted("row with several images, shown in order", int(several.sum())))
    return named, images, counts


def merge_images(images: Iterable[pl.DataFrame], rows: pl.DataFrame) -> pl.DataFrame:
    """List every image of the rows once, with a path column only if some are files."""
    names = [rows["image"].drop_nulls()]
    if "images" in rows.columns:
        names.append(rows["images"].explode().drop_nulls().alias("image"))
    known = pl.concat(images).unique("image", keep="first")
    table = pl.concat(names).unique().sort().to_frame("image")
    merged = table.join(known, on="image", how="left", validate="1:1", maintain_order="left")
    return merged.drop("path") if merged["path"].is_null().all() else merged


def _read_pictures(cells: pl.Series, keys: pl.Series, folder: Path | None) -> tuple[pl.Series, list[RowCount]]:
    """Name the pictures of each cell, null where it has none, and write them to a folder if one is given."""
    cells = _clear_blank(cells)
    refers = cells.str.len_bytes() <= _REFERENCE
    pictures_of_rows = _follow_references(cells, refers, keys)
    lost = int((refers & pictures_of_rows.is_null()).sum())
    distinct = pictures_of_rows.drop_nulls().unique(maintain_order=True).alias("cell")
    # One by one, because no expression hashes megabytes; each distinct picture only once.
    pictures = [[_read_picture(text) for text in texts] for texts in _split_lists(distinct)]
    names = [[one.name for one in several if one is not None] or None for several in pictures]
    by_cell = pl.DataFrame({"cell": distinct, "names": pl.Series(names, dtype=pl.List(pl.String))})
    listed = (
        pictures_of_rows.alias("cell")
        .to_frame()
        .join(by_cell, on="cell", how="left", validate="m:1", maintain_order="left")
    )
    sound = {one.name: one for several in pictures for one in several if one is not None}
    counts = [
        noted("image index that refers to no row with a picture", lost),
        noted("picture that is not base64, left out", sum(one is None for several in pictures for one in several)),
        *_write_files(list(sound.values()), folder),
    ]
    return listed["names"], counts


def _read_paths(cells: pl.Series) -> pl.Series:
    """Read lists of paths from cells that hold one path, or several as a list written as text."""
    return pl.Series(cells.name, [paths or None for paths in _split_lists(_clear_blank(cells))], pl.List(pl.String))


def _clear_blank(cells: pl.Series) -> pl.Series:
    return cells.set(cells.str.strip_chars().is_in(["", "nan", "NaN"]), None)


def _follow_references(cells: pl.Series, refers: pl.Series, keys: pl.Series) -> pl.Series:
    """Replace each index of another row by the cell of that row."""
    own = pl.DataFrame({"key": keys, "cell": cells}).filter(~refers).drop_nulls()
    referred = pl.DataFrame({"key": cells.str.strip_chars()}).join(
        own.unique("key", keep="first", maintain_order=True),
        on="key",
        how="left",
        validate="m:1",
        maintain_order="left",
    )["cell"]
    return referred.zip_with(refers.fill_null(value=False), cells)


def _split_lists(cells: pl.Series) -> list[list[str]]:
    """Parse lists written as text; any other text becomes a list of itself."""
    lists = as_texts(cells, "the pictures")
    pairs = zip(cells, lists, strict=True)
    return [one.to_list() if one is not None else [] if text is None else [text] for text, one in pairs]


def _read_picture(text: str) -> _Picture | None:
    """Name a picture by its text."""
    plain = "".join(re.sub(r"^data:[^,]*,", "", text).split())
    if not _ALPHABET.fullmatch(plain):
        return None
    return _Picture(hashlib.sha256(plain.encode()).hexdigest()[:NAME], plain)


def _write_files(pictures: list[_Picture], folder: Path | None) -> list[RowCount]:
    if folder is None:
        return [noted("picture inside the file, not written; see pictures", len(pictures))]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = [picture.write(folder) for picture in pictures]
    except OSError as error:
        raise SettingError(f"a folder to write pictures to at {folder}", str(error), "name another place") from None
    return [
        noted("picture written", sum(written)),
        noted("picture of unknown kind or truncated, not written", len(written) - sum(written)),
    ]
