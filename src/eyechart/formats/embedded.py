"""Take pictures out of tables that hold them, as `{bytes, path}`, as bytes, as base64 text, or as lists of these.

Each picture is written once, under a hash of its content, to the folder of the dataset; the table keeps the name of the
first one in `image`, and those of all of them in `images` where a row may have several. `{bytes: null, path: ...}`
refers to a file. Rows with a damaged picture are marked with the reason, to be dropped when they have their ids.
"""

import base64
import binascii
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from io import BytesIO
from os.path import normpath
from pathlib import Path
from typing import NamedTuple

import polars as pl

from eyechart.base.errors import SettingError
from eyechart.base.fetching import BYTES
from eyechart.base.files import TemporaryFolder, replacing
from eyechart.data.images import Images
from eyechart.data.picture_files import KINDS, PIXELS, ends_well, is_inside, read_traits, resolve
from eyechart.data.several import IMAGE_LIST
from eyechart.data.web import is_address
from eyechart.formats.rows import CountedTable, RowCount, drop_rows, noted

DAMAGE = "damage of a picture"  # the column that marks rows
NAME = 32  # characters of a hash that name a picture
_SERIES = re.compile(r"(image|img|picture|photo|pic|figure|frame)s?(?:[_ -]?(\d+))?", re.IGNORECASE)
_LISTS = ("images", "imgs", "pictures", "photos", "image_list")
_DATA_ADDRESS = re.compile(r"data:[^,]*,")
_INLINE = r"^\s*(?:data:image/|/9j/|iVBORw0KGgo|R0lGOD|UklGR|Qk[0-9A-Za-z])"  # data: or base64 of the first bytes
_SHORTEST = 64  # characters of a picture as text
_MAGIC = re.compile(rb"\xff\xd8\xff|\x89PNG\r\n|GIF8|RIFF....WEBP|BM|II\*\x00|MM\x00\*|P[1-6]\s", re.DOTALL)
_SUFFIXES = {"JPEG": ".jpg", "MPO": ".jpg", "TIFF": ".tif"}  # of others it is the kind itself


class DamagedPictureError(Exception):
    """Raised for a picture that cannot be shown; the message completes "row with a picture that is"."""


class PictureFile(NamedTuple):
    """A picture that was written to a file; a missing one has no path."""

    image: str
    path: str | None
    width: int | None = None
    height: int | None = None


class EmbeddedPictures:
    """Write the pictures of tables to a folder, and count what becomes of them.

    Without a folder they go to a temporary one. `near` are the folders in which files that cells refer to may lie, and
    `linked` further ones that links there may lead to; `columns` are those to look at, where they are known.
    """

    def __init__(
        self, folder: Path | None, near: Sequence[Path], columns: Sequence[str] = (), linked: Sequence[Path] = ()
    ) -> None:
        self._folder = folder
        self._near = near
        self._linked = linked
        self._elsewhere = 0  # files behind links that lead to other folders
        self._columns = columns
        self._owner: TemporaryFolder | None = None
        self._files: dict[str, PictureFile] = {}
        self._left_out: Counter[str] = Counter()
        self._replaced: Counter[str] = Counter()
        self.taken: set[str] = set()  # the columns that pictures were taken from
        self.have_several = False  # whether any row has more than one

    def take(self, table: pl.DataFrame) -> pl.DataFrame:
        """Replace the columns of pictures by names; a table without such columns, or that was here, stays as it is."""
        if DAMAGE in table.columns:
            return table
        chosen, others = self._choose(table)
        table = table.drop(others)
        if not chosen:
            return table
        self.taken.update(chosen)
        rows = zip(*(table[name].to_list() for name in chosen), strict=True)
        names, damage = zip(*map(self._keep_row, rows), strict=True) if table.height else ((), ())
        lists = pl.Series(IMAGE_LIST, [listed or None for listed in names], pl.List(pl.String))
        new = [lists.list.first().alias("image"), pl.Series(DAMAGE, damage, pl.String)]
        if len(chosen) > 1 or isinstance(table.schema[chosen[0]], pl.List | pl.Array):
            new.append(lists)
            self.have_several = self.have_several or bool((lists.list.len() > 1).any())
        rest = table.drop(chosen)
        self._replaced.update({column.name: table.height for column in new if column.name in rest.columns})
        return rest.with_columns(new)

    def images(self, found: Images) -> Images:
        """Add the pictures and their files to the images of a dataset."""
        if not self.taken:
            return found
        files = pl.DataFrame(list(self._files.values()), schema=_FILES, orient="row")
        others = found.table.drop("path", strict=False)
        joined = files.join(others, on="image", how="full", coalesce=True, validate="1:1").sort("image")
        return Images(joined, self._folder, found.features, owner=self._owner)

    def counts(self) -> list[RowCount]:
        """Count the pictures, and what was left out."""
        written = sum(file.path is not None for file in self._files.values())
        missing = sum(file.path is None for file in self._files.values())
        return [
            noted("picture inside the file, written to a file of its own", written),
            noted("picture file that the table refers to, but that is missing", missing),
            noted("picture file that is a link to another folder, left out", self._elsewhere),
            *(noted(f"column {name!r} holds other pictures: left out", n) for name, n in self._left_out.items()),
            *(noted(f"column {name!r} replaced by the pictures", n) for name, n in self._replaced.items()),
        ]

    def _choose(self, table: pl.DataFrame) -> tuple[list[str], list[str]]:
        """Return the columns to look at, in order, and the others that hold pictures."""
        named = [name for name in table.columns if self._holds_pictures(table[name])]
        holding = [name for name in named if table.schema[name] != pl.Null]
        chosen = [name for name in self._columns if name in holding] if self._columns else _choose_by_name(holding)
        if len(holding) > 1 and not chosen and not self._columns:
            advice = f"say which with map, such as image={holding[0]}"
            raise SettingError("one column of pictures", " and ".join(holding), advice)
        chosen = chosen or ([] if self._columns else holding)
        self._left_out.update({name: table.height for name in holding if name not in chosen})
        return chosen, [
            name for name in named if name not in chosen and (chosen or name in holding or name in self.taken)
        ]

    def _holds_pictures(self, column: pl.Series) -> bool:
        """Return whether a column holds pictures: by its type and values, or because other parts of the file did."""
        known = column.name in self.taken or column.name in self._columns
        named = known or _SERIES.fullmatch(column.name) is not None or column.name.lower() in _LISTS
        if column.dtype == pl.Null:
            return named
        if may_hold_pictures(column.dtype):
            return named or _first_is_picture(column)
        return named and (column.name in self.taken or _holds_text(column))

    def _keep_row(self, cells: Sequence[object]) -> tuple[list[str], str | None]:
        """Return the names of the pictures of a row, or what is wrong with the first damaged one."""
        try:
            return [name for cell in cells for name in self._keep_cell(cell)], None
        except DamagedPictureError as error:
            return [], f"row with a picture that is {error}"

    def _keep_cell(self, cell: object) -> Iterator[str]:
        if isinstance(cell, list):
            for one in cell:
                yield from self._keep_cell(one)
            return
        content, path = (cell.get("bytes"), cell.get("path")) if isinstance(cell, dict) else (cell, None)
        if isinstance(content, str) and content is cell and not _is_inline(content):
            content, path = None, content
        if content:
            yield self._write(content if isinstance(content, bytes) else decode_base64(str(content)))
        elif isinstance(path, str) and path.strip():
            yield self._refer(path.strip())

    def _write(self, content: bytes | None) -> str:
        """Write a picture unless it is known, and return its name."""
        if content is None:
            raise DamagedPictureError("not base64")
        name = sha256(content).hexdigest()[:NAME]
        if name in self._files:
            return name
        suffix, width, height = inspect_picture(content)
        if self._folder is None:
            self._owner = TemporaryFolder()
            self._folder = self._owner.folder
        with replacing(self._folder / f"{name}{suffix}") as draft:
            draft.write_bytes(content)
        self._files[name] = PictureFile(name, f"{name}{suffix}", width, height)
        return name

    def _refer(self, path: str) -> str:
        """Copy the picture in a file, and return its name; that of a missing file is its path."""
        if is_address(path):
            self._files[path] = PictureFile(path, path)
            return path
        for folder in self._near:
            file = Path(normpath(folder / path))
            if not file.is_relative_to(normpath(folder)) or not file.is_file() or file.stat().st_size > BYTES:
                continue
            target = resolve(file)
            if target is not None and is_inside(target, (folder, *self._linked)):
                return self._write(file.read_bytes())
            self._elsewhere += 1
        self._files.setdefault(path, PictureFile(path, None))
        return path


_FILES = {"image": pl.String, "path": pl.String, "width": pl.Int64, "height": pl.Int64}


def drop_damaged_pictures(table: pl.DataFrame) -> CountedTable:
    """Drop the rows that were marked as having a damaged picture, by reason."""
    if DAMAGE not in table.columns:
        return CountedTable(table, [])
    reasons = table[DAMAGE].drop_nulls().unique().sort()
    if reasons.is_empty():
        return CountedTable(table.drop(DAMAGE), [])
    kept, counts = drop_rows(table, {reason: pl.col(DAMAGE) == reason for reason in reasons})
    return CountedTable(kept.drop(DAMAGE), counts)


def inspect_picture(content: bytes) -> tuple[str, int | None, int | None]:
    """Return the suffix, width and height of a picture, which are None of one that its EXIF orientation turns.

    Raises an error that says what is wrong with a damaged one.
    """
    if len(content) > BYTES:
        raise DamagedPictureError(f"larger than {BYTES:,} bytes")
    if _MAGIC.match(content) is None:
        raise DamagedPictureError("of no known kind")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as a warning of very many pixels: our own limit is lower
        try:
            return _inspect(content)
        except DamagedPictureError:
            raise
        except Exception:  # noqa: BLE001 - a damaged picture makes Pillow raise nearly anything
            raise DamagedPictureError("damaged") from None


def decode_base64(text: str) -> bytes | None:
    """Decode base64 text, standard or safe for addresses, perhaps with line breaks or as a `data:` address."""
    plain = "".join(_DATA_ADDRESS.sub("", text, count=1).split()).rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None


def _inspect(content: bytes) -> tuple[str, int | None, int | None]:
    from PIL import Image

    with Image.open(BytesIO(content), formats=KINDS) as picture:
        if picture.width * picture.height > PIXELS:
            raise DamagedPictureError(f"larger than {PIXELS:,} pixels")
        kind = str(picture.format)
        traits = read_traits(picture, lambda: content)
        if not ends_well(kind, content):
            picture.load()  # takes as long as showing it, so only where the end looks wrong
        # The size of a turned picture would be taken for that on which boxes were drawn, which nobody stated.
        size = traits.stored if traits.orientation == 1 else (None, None)
        return _SUFFIXES.get(kind, f".{kind.lower()}"), *size


def _is_inline(text: str) -> bool:
    return len(text) > _SHORTEST and (re.match(_INLINE, text) is not None or "." not in text[:_SHORTEST])


def may_hold_pictures(dtype: pl.DataType) -> bool:
    """Return whether pictures may be in columns of a type, text aside."""
    if isinstance(dtype, pl.List | pl.Array):
        return may_hold_pictures(dtype.inner)  # type: ignore[arg-type]  # an inner type that is a class is none of these
    if isinstance(dtype, pl.Struct):
        return "bytes" in {field.name for field in dtype.fields}
    return dtype == pl.Binary


def _holds_text(column: pl.Series) -> bool:
    if isinstance(column.dtype, pl.List):
        column = column.explode(empty_as_null=True)
    return column.dtype == pl.String and bool(
        (column.str.contains(_INLINE) & (column.str.len_bytes() > _SHORTEST)).any()
    )


def _first_is_picture(column: pl.Series) -> bool:
    """Return whether the first value is a picture: files of sound look the same but for their content."""
    while isinstance(column.dtype, pl.List | pl.Array):
        column = column.explode(empty_as_null=True)
    content = column.struct.field("bytes") if isinstance(column.dtype, pl.Struct) else column
    first = content.drop_nulls().head(1).to_list()
    if not first or isinstance(first[0], str):
        return bool(first) and _is_inline(first[0])
    return _MAGIC.match(first[0]) is not None


def _choose_by_name(names: Sequence[str]) -> list[str]:
    """Choose `image`, else numbered columns by number, else a list of pictures."""
    plain = [name for name in names if name.lower() == "image"]
    matches = [(name, match) for name in names if (match := _SERIES.fullmatch(name))]
    numbered = [(int(match[2]), name) for name, match in matches if match[2] and match[1] == matches[0][1][1]]
    lists = [name for name in names if name.lower() in _LISTS or _SERIES.fullmatch(name)]
    return plain[:1] or [name for _, name in sorted(numbered)] or lists[:1]
