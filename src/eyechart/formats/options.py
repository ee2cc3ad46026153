"""Find the options of multiple choice wherever a table has them, and take off the letters in front of them.

They stand in columns (A to E, `a0` to `a4`, `option_a`, `choice_1`), in a list, in a mapping by letter, in records with
a label and a text, in a text that holds any of these, or inside the question. What cannot be read as options becomes
null, and is counted by the caller.
"""

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Sequence
from itertools import pairwise
from string import ascii_lowercase, ascii_uppercase

import orjson
import polars as pl
from polars.exceptions import PolarsError

from eyechart.base.errors import FileFormatError, SettingError
from eyechart.formats.option_lines import find_last_end
from eyechart.formats.rows import CountedTable, noted

LABELLED = "choices with their labels"  # the options as written, where labels were taken off: answers may repeat them
FROM_ONE = "labels count from 1"
SAMPLE = 200  # questions that are searched for options before all of them are
MOST = 0.8  # share of the rows with options that must have letters in front of them
_PREFIXES = r"a|option|options|opt|choice|choices|candidate|mc|"
_NUMBERED = re.compile(rf"^({_PREFIXES[:-1]})[ _-]?(\d\d?)$", re.IGNORECASE)
_LETTERED = re.compile(rf"^({_PREFIXES})[ _-]?\(?([A-Za-z])\)?$", re.IGNORECASE)
_TEXT_FIELDS = ("text", "texts", "choice", "choices", "option", "options", "value", "values", "content", "answer")
_LABEL_FIELDS = ("label", "labels", "letter", "key", "id", "option_id", "choice_id", "index")
_LABEL = r"(?s)^\s*(?:\(([A-Za-z]|\d\d?)\)|([A-Za-z])[.):]|(\d\d?)[.):](?:\s|$))\s*(.*)$"
_SCHEMES = (list(ascii_uppercase), list(ascii_lowercase), [str(n + 1) for n in range(26)], [str(n) for n in range(26)])


def find_option_columns(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the sets of columns that are options by their names: `a0, a1, ...`, `option_a, option_b, ...`."""
    families: dict[tuple[str, str], dict[int, str]] = {}
    for name in names:
        numbered, lettered = _NUMBERED.match(name), _LETTERED.match(name)
        if numbered:
            families.setdefault((numbered[1].lower(), "number"), {})[int(numbered[2])] = name
        elif lettered:
            kind = "letter" if lettered[1] else "upper" if lettered[2].isupper() else "lower"
            families.setdefault((lettered[1].lower(), kind), {})[ord(lettered[2].upper()) - ord("A")] = name
    return [run for members in families.values() if len(run := _run(members)) > 1]


def choose_option_columns(names: Sequence[str], origin: str) -> tuple[str, ...]:
    """Return the only set of columns that are options, () if there is none."""
    found = find_option_columns(names)
    if len(found) > 1:
        shown = " and ".join(f"{run[0]} to {run[-1]}" for run in found)
        advice = f"say which with map, such as choices={','.join(found[0])}"
        raise SettingError(f"one set of columns with the options in {origin}", shown, advice)
    return found[0] if found else ()


def _run(members: dict[int, str]) -> tuple[str, ...]:
    """Return the columns from 0 or 1 up to the first that is missing."""
    start = 0 if 0 in members else 1
    run: list[str] = []
    while start + len(run) in members:
        run.append(members[start + len(run)])
    return tuple(run)


def as_options(column: pl.Series, origin: str) -> pl.Series:
    """Convert a column to lists of options; a label beside an option's text is written in front of it."""
    dtype = column.dtype
    if isinstance(dtype, pl.Array):
        return as_options(column.arr.to_list(), origin)
    if dtype == pl.String:
        return pl.Series(column.name, [_parse_options(text) for text in column], pl.List(pl.String))
    if isinstance(dtype, pl.Struct) or (isinstance(dtype, pl.List) and dtype.inner.is_nested()):
        return pl.Series(column.name, [_list_options(value) for value in column.to_list()], pl.List(pl.String))
    if not isinstance(dtype, pl.List):
        return pl.Series(column.name, [None] * len(column), pl.List(pl.String))
    try:
        return column.cast(pl.List(pl.String))
    except PolarsError:
        expected = f"lists of text in column {column.name!r} of {origin}"
        raise FileFormatError(expected, str(dtype), "map another column, or leave this one out") from None


def _parse_options(text: str | None) -> list[str | None] | None:
    """Read options from a text that holds a list, a mapping, or lines with a label each."""
    bare = (text or "").strip()
    if bare[:1] in ("[", "{", "("):
        listed = _list_options(literal(bare))
        if listed is not None:
            return listed
    rest, labelled = find_listed(bare) or ("", None)
    return None if rest else labelled


def literal(text: str) -> object:
    """Evaluate JSON, a Python literal, or an array as NumPy prints it, where no comma stands between two texts."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        pass
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
        kinds = [token.type for token in tokens if token.type not in (tokenize.NL, tokenize.NEWLINE)]
        if any(pair == (tokenize.STRING, tokenize.STRING) for pair in pairwise(kinds)):
            return [ast.literal_eval(token.string) for token in tokens if token.type == tokenize.STRING]
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError, tokenize.TokenError):
        return None


def _list_options(value: object) -> list[str | None] | None:
    """List the texts of options in decoded JSON; None if these are no options."""
    if isinstance(value, dict):
        return _list_mapping({str(key): item for key, item in value.items() if item is not None})
    if not isinstance(value, list | tuple):
        return None
    if len(value) == 1 and isinstance(value[0], list):  # a list in a list
        return _list_options(value[0])
    if value and all(isinstance(item, dict) for item in value):
        return [_option_text(item) for item in value]
    return None if any(isinstance(item, dict | list) for item in value) else [_text(item) for item in value]


def _list_mapping(fields: dict[str, object]) -> list[str | None] | None:
    """List `{"A": "red", ...}` in the order of its labels, and `{"label": [...], "text": [...]}` by its lists."""
    lists = {key: item for key, item in fields.items() if isinstance(item, list)}
    texts = next((lists[name] for name in _TEXT_FIELDS if name in lists), None)
    if texts is not None:
        labels = next((lists[name] for name in _LABEL_FIELDS if name in lists), [])
        if len(labels) == len(texts):
            return [_join_label(label, text) for label, text in zip(labels, texts, strict=True)]
        return [_text(text) for text in texts]
    if not fields or any(isinstance(item, dict | list) for item in fields.values()):
        return None
    order = _LETTERED if all(map(_LETTERED.match, fields)) else re.compile(r"(\D*)(\d+)$")
    if not all(map(order.match, fields)):
        return None
    ranked = sorted(fields, key=lambda key: (len(key), key.upper()))
    return [_text(fields[key]) for key in ranked]


def _option_text(record: dict[str, object]) -> str | None:
    text = next((record[name] for name in _TEXT_FIELDS if name in record), None)
    label = next((record[name] for name in _LABEL_FIELDS if name in record), None)
    if text is None and len(record) == 1:
        ((label, text),) = record.items()
    return _join_label(label, text)


def _join_label(label: object, text: object) -> str | None:
    written = _text(text)
    is_label = re.fullmatch(r"[A-Za-z]|\d\d?", str(label)) is not None
    return written if written is None or not is_label else f"{label}. {written}"


def _text(value: object) -> str | None:
    if value is None or isinstance(value, dict | list):
        return None
    return str(value).lower() if isinstance(value, bool) else str(value)


def take_off_labels(table: pl.DataFrame, *, always: bool = False) -> CountedTable:
    """Take "A. " and the like off the options of the rows where all have them in order, if most rows do, or always.

    The options as they were written stay in a column of their own until the answers are named.
    """
    flat = (
        table.select(row=pl.int_range(pl.len()), text="choices")
        .filter(pl.col("text").list.len() > 1)
        .explode("text", empty_as_null=False, keep_nulls=False)
        .with_columns(place=pl.int_range(pl.len()).over("row"), parts=pl.col("text").str.extract_groups(_LABEL))
        .with_columns(label=pl.coalesce(pl.col("parts").struct.field(name) for name in "123"))
    )
    fits = [
        (
            pl.col("label")
            == pl.col("place").replace_strict(dict(enumerate(scheme)), default=None, return_dtype=pl.String)
        )
        .fill_null(value=False)
        .all()
        .alias(str(number))
        for number, scheme in enumerate(_SCHEMES)
    ]
    rest = pl.col("parts").struct.field("4").str.strip_chars()
    rows = flat.group_by("row", maintain_order=True).agg(*fits, bare=pl.when(rest != "").then(rest))
    counted = pl.any_horizontal(str(number) for number in range(len(_SCHEMES)))
    labelled = rows.filter(counted)
    if labelled.height < max(MOST * rows.height, 1) and not always:
        return CountedTable(table, [])
    joined = (
        table.with_columns(row=pl.int_range(pl.len()))
        .join(labelled.select("row", "bare", pl.col("2").alias(FROM_ONE)), on="row", how="left", maintain_order="left")
        .drop("row")
    )
    taken = joined.with_columns(
        pl.when(pl.col("bare").is_not_null()).then("choices").alias(LABELLED),
        choices=pl.coalesce("bare", "choices"),
    )
    note = noted("row whose options began with their letters, taken off", labelled.height)
    return CountedTable(taken.drop("bare"), [note])


_MARK = re.compile(r"(?<![^\s,;])(?:\(([A-Z])\)|([A-Z])([.):]))\s*")
_INTRODUCTION = re.compile(r"(?:^|\s)(?:answer )?(?:options|choices|candidates)\s*:\s*", re.IGNORECASE)


def find_listed(text: str) -> tuple[str, list[str | None]] | None:
    """Find options from A on, each on a line or one after the other, with their labels; None if there are not two.

    The text around them comes first.
    """
    begin = max((match.end() for match in _INTRODUCTION.finditer(text)), default=0)
    for start in dict.fromkeys((begin, 0)):
        found = [(match[1] or match[2], match[3] or "(", *match.span()) for match in _MARK.finditer(text, start)]
        in_lines = [mark for mark in found if not text[start : mark[2]].rpartition("\n")[2].strip()]
        for marks in (in_lines, found):
            series = max(map(_follow, _starts(marks)), key=len, default=[])
            if len(series) > 1:
                return _cut(text, series)
    return None


_Mark = tuple[str, str, int, int]


def _starts(marks: list[_Mark]) -> list[list[_Mark]]:
    """Return the marks from each A on, the last A first, with those written in its way alone."""
    places = [place for place, mark in enumerate(marks) if mark[0] == "A"]
    return [[one for one in marks[place:] if one[1] == marks[place][1]] for place in reversed(places)]


def _follow(marks: list[_Mark]) -> list[_Mark]:
    """Return the first mark and those that count on from it."""
    series: list[_Mark] = []
    for mark in marks:
        if len(series) < len(ascii_uppercase) and mark[0] == ascii_uppercase[len(series)]:
            series.append(mark)
    return series


def _cut(text: str, series: list[_Mark]) -> tuple[str, list[str | None]]:
    starts = [mark[2] for mark in series[1:]]
    before = [text[mark[3] : stop] for mark, stop in zip(series, starts, strict=False)]
    end = find_last_end(text, series[-1][3], before) or len(text)
    ends = [*starts, end]
    # Commas between options in one line are none of theirs, as those at the ends of lines are.
    between = "" if "\n" in text[series[0][2] : series[-1][2]] else ",;"
    texts = [text[mark[3] : stop].strip().rstrip(between).strip() for mark, stop in zip(series, ends, strict=True)]
    head = text[: series[0][2]].strip()
    ending = [match for match in _INTRODUCTION.finditer(f"{head} ") if match.end() > len(head)]
    head = head[: ending[0].start()].strip() if ending else head
    rest = "\n".join(part for part in (head, text[end:].strip()) if part)
    return rest, [f"{mark[0]}. {option}" for mark, option in zip(series, texts, strict=True)]


def lists_options(questions: pl.Series) -> bool:
    """Return whether at least half of the first questions list options."""
    sample = questions.head(SAMPLE)
    return len(sample) > 0 and 2 * sum(find_listed(text) is not None for text in sample) >= len(sample)


def take_options_out(table: pl.DataFrame) -> pl.DataFrame:
    """Move the options listed inside questions to a column `choices`."""
    found = [find_listed(text) for text in table["question"]]
    rest = [text if one is None else one[0] for one, text in zip(found, table["question"], strict=True)]
    choices = pl.Series("choices", [None if one is None else one[1] for one in found], pl.List(pl.String))
    return table.with_columns(choices, question=pl.Series(rest, dtype=pl.String))
