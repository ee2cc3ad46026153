"""Find the columns of a table that name several pictures by their files: a list in one, or one each in several.

`image` becomes the first of them, and `images` names all, as where the pictures are inside the table (`embedded`).
"""

import re
from collections.abc import Iterator, Sequence

import polars as pl

from eyechart.base.errors import SettingError
from eyechart.data.several import IMAGE_LIST
from eyechart.data.web import ADDRESS
from eyechart.formats.columns import as_texts
from eyechart.formats.names import ALIASES, plain_name

_LISTS = re.compile(
    r"(?P<kind>image|img|picture|photo|pic|frame)s?(?:_(?:list|files?|file_?names?|names?|paths?|urls?|ids?))?"
)
_SERIES = re.compile(r"(image|img|picture|photo|pic|frame)s?(?:_?(?:path|file|file_?name|name|url))?_?(\d+)")
_FIELDS = ("path", "file_name", "filename", "image_path", "image", "url", "name", "id")
_FILE = rf"(?i)(?:{ADDRESS})|\.(?:jpe?g|png|webp|gif|bmp|tiff?)$"
_ENOUGH = 0.95  # share of the values that must look like files of pictures, where a column may hold other things


def name_pictures(table: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """Gather the names of the pictures that each row has in some columns."""
    lists = pl.DataFrame([_as_names(table[name]).alias(name) for name in columns]).select(
        names=pl.concat_list(pl.all())
    )
    named = pl.col("names").list.eval(pl.element().filter(pl.element().str.contains(r"\S")).str.strip_chars())
    names = lists.select(pl.when(named.list.len() > 0).then(named).alias(IMAGE_LIST)).to_series()
    return table.drop(columns).with_columns(names.list.first().alias("image"), names)


def choose_lists(table: pl.DataFrame, origin: str, chosen: Sequence[str] = ()) -> list[str]:
    """Choose the columns that name several pictures of a row, or nothing; those of a map are taken as they are."""
    if chosen:
        known = [name for name in chosen if name in table.columns]
        return known if len(known) > 1 or any(_is_list(table[name]) for name in known) else []
    named = [name for name in table.columns if _LISTS.fullmatch(plain_name(name))]
    lists = [name for name in named if _is_list(table[name])]
    alone = [name for name in table.columns if plain_name(name) in _ALONE and name not in lists]
    if not lists:
        only = [name for name in named if not alone and _names_files(table[name])]
        return list(_choose_series(table, alone)) or (only if len(only) == 1 else [])
    if IMAGE_LIST in lists:
        lists = [IMAGE_LIST]
    if "image" in alone or (alone and not _any_several(table[lists[0]])):
        return []  # a dataset in our own form, or a list that says nothing more
    if len(lists) > 1:
        advice = f"say which with map, such as image={lists[0]}"
        raise SettingError(f"one column with the pictures of a row in {origin}", " and ".join(lists), advice)
    return lists


def as_files(names: pl.Expr) -> pl.Expr:
    """Return the names that are files of pictures by their looks, null for the others."""
    return pl.when(names.str.contains(_FILE)).then(names)


def _choose_series(table: pl.DataFrame, alone: Sequence[str]) -> Iterator[str]:
    """Choose numbered columns of files by number; a plain `image` is the first of those that begin with 2."""
    matches = [(name, match) for name in table.columns if (match := _SERIES.fullmatch(plain_name(name)))]
    numbered = sorted((int(match[2]), name) for name, match in matches if match[1] == matches[0][1][1])
    files = [name for _, name in numbered if _names_files(table[name])]
    if not alone:
        yield from files
    elif files and numbered[0][0] > 1 and len(alone) == 1 and _names_files(table[alone[0]]):
        yield from (alone[0], *files)


def _is_list(column: pl.Series) -> bool:
    """Return whether a column holds lists of names, as lists, as the text of lists, or in records."""
    dtype = column.dtype
    if dtype == pl.String:
        known = column.drop_nulls()
        is_text = len(known) > 0 and bool(known.str.contains(r"^\s*\[.*\]\s*$").all())
        return is_text and _may_name(column.name, as_texts(known, column.name))
    inner = dtype.inner if isinstance(dtype, pl.List) else dtype
    if isinstance(inner, pl.Struct):
        return _field(inner) is not None
    if not isinstance(dtype, pl.List):
        return False
    is_whole = isinstance(inner, pl.DataType) and inner.is_integer()
    return (is_whole and column.name in _OF_IDS) or (inner == pl.String and _may_name(column.name, column))


def _may_name(column: str, lists: pl.Series) -> bool:
    """Return whether texts may name pictures: anything may in a column of images, elsewhere only files may."""
    names = lists.explode(empty_as_null=False, keep_nulls=False).drop_nulls()
    match = _LISTS.fullmatch(plain_name(column))
    return len(names) > 0 and ((match is not None and match["kind"] in {"image", "img"}) or _are_files(names))


def _any_several(column: pl.Series) -> bool:
    return bool((_as_names(column).list.len() > 1).any())


def _names_files(column: pl.Series) -> bool:
    known = column.drop_nulls() if column.dtype == pl.String else pl.Series(dtype=pl.String)
    return _are_files(known.filter(known != ""))


def _are_files(names: pl.Series) -> bool:
    return len(names) > 0 and int(names.str.contains(_FILE).sum()) >= _ENOUGH * len(names)


def _as_names(column: pl.Series) -> pl.Series:
    dtype = column.dtype
    if isinstance(dtype, pl.List) and isinstance(dtype.inner, pl.Struct):
        field = _field(dtype.inner) or dtype.inner.fields[0].name
        return column.list.eval(pl.element().struct.field(field).cast(pl.String))
    if isinstance(dtype, pl.List) or _is_list(column):
        return as_texts(column, column.name)
    if isinstance(dtype, pl.Struct):
        column = column.struct.field(_field(dtype) or "").alias(column.name)
    alone = pl.when(pl.col(column.name).is_not_null()).then(pl.concat_list(pl.col(column.name).cast(pl.String)))
    return column.to_frame().select(alone.fill_null([])).to_series()


def _field(record: pl.Struct) -> str | None:
    """Return the field of a record that names a picture."""
    names = [field.name for field in record.fields]
    return next((name for name in _FIELDS if name in names), None)


_ALONE = {plain_name(name) for name in ("image", *ALIASES["image"], *ALIASES["path"])}
_OF_IDS = {IMAGE_LIST, "image_ids", "image_id"}
