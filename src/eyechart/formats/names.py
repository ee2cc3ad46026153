"""Match foreign names of columns and splits to ours."""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath

import polars as pl

from eyechart.base.errors import SettingError
from eyechart.base.registry import unknown_name
from eyechart.data.tables import EXAMPLES
from eyechart.formats.columns import as_key, as_text
from eyechart.formats.rows import CountedTable, noted

# Our name: its names elsewhere, in any case, with spaces, dashes or underscores between the words. Two of them in one
# table are an error, never a guess.
ALIASES: dict[str, tuple[str, ...]] = {
    "id": (
        *("question_id", "questionId", "qid", "index", "idx", "sample_id", "example_id", "instance_id", "item_id"),
        *("problem_id", "pid", "uid", "uuid", "data_id"),
    ),
    "image": ("image_id", "imageId", "img_id", "image_name", "img_name", "image_file", "img", "picture"),
    "path": ("image_path", "file_name", "filename", "img_path", "image_filename", "image_url", "img_url"),
    "question": ("prompt", "query", "q", "sent", "question_text"),
    "answer": (
        *("label", "target", "multiple_choice_answer", "ground_truth", "groundtruth", "gt_answer", "gt", "gold"),
        *("gold_answer", "gold_label", "correct_answer", "correct_option", "correct_choice", "correct_label"),
        *("right_answer", "reference", "reference_answer", "truth", "answer_key", "answer_letter", "answer_label"),
        *("correct_choice_idx", "correct_idx", "correct_index", "correct_answer_idx", "correct_answer_index"),
        *("correct_option_idx", "correct_option_index", "answer_idx", "answer_index", "label_idx"),
    ),
    "answers": ("direct_answers", "ground_truths", "gt_answers", "gold_answers", "references", "reference_answers"),
    "choices": (
        *("options", "multiple_choices", "choice", "candidates", "answer_options", "answer_choices", "mc_options"),
        *("multiple_choice_options", "choice_list", "option_list", "index2ans"),
    ),
    "question_type": ("questionType",),
    "answer_type": ("answerType",),
}
GOLD = frozenset(ALIASES["answer"]) - {"label", "target", "multiple_choice_answer"}  # a reference and nothing else
_MODELS = re.compile(
    r"(?:^|_)(?:model|preds?|predicted|predictions?|responses?|outputs?|generated|generation|completion|hypothesis|reply"
    r"|llm|vlm|gpt\w*|llava\w*|qwen\w*|gemini\w*|claude\w*)(?:_|$)"
)
_NOT_ANSWERS = re.compile(r"(?:^|_)(?:id|name|version|path|file|type|time|date|hash|key|url|config)$")
EXAMPLE_COLUMNS = (*EXAMPLES.columns, "path", "objects")
_SPLIT_PATTERNS = (
    r"_([a-z]+(?:-[a-z]+)*)20\d\d_",  # v2_mscoco_test-dev2015_questions
    r"^(.+)-(?:ques|ans)$",  # OOD-Test-QT-Ques
    r"(?<![a-z])(train|training|val|valid|validation|test|testdev|trainval|minival|nominival)(?![a-z])",
)
_SHORT_SPLITS = {"training": "train", "valid": "val", "validation": "val", "dev": "val", "iid-test": "test"}
_USUAL_SPLITS = {name: name for name in ("train", "val", "test")} | _SHORT_SPLITS


def rename(
    table: pl.DataFrame,
    ours: tuple[str, ...],
    aliases: Mapping[str, tuple[str, ...]],
    chosen: Mapping[str, str] | None = None,
) -> CountedTable:
    """Rename columns to ours: the mapped one, else the one that already has our name, else the only alias."""
    table, origins = find_origins(table, ours, aliases, chosen)
    free = [name for name in table.columns if name not in (chosen or {}).values()]
    counts = [
        noted(f"column {name!r} replaced by {origin!r}, as the map asks", table.height)
        for name, origin in origins.items()
        if name != origin and name in table.columns and name not in origins.values()
    ]
    counts += [
        noted(f"column {alias!r} left under its own name: {name!r} exists", table.height)
        for name in origins
        if origins[name] == name
        for alias in aliases.get(name, ())
        if alias in free
    ]
    others = [name for name in table.columns if name not in origins and name not in origins.values()]
    renamed = [pl.col(origin).alias(name) for name, origin in origins.items()]
    return CountedTable(table.select(*renamed, *others), counts)


def find_origins(
    table: pl.DataFrame,
    ours: tuple[str, ...],
    aliases: Mapping[str, tuple[str, ...]],
    chosen: Mapping[str, str] | None = None,
) -> tuple[pl.DataFrame, dict[str, str]]:
    """Find which column holds what; return the table with the columns that a map builds, and our name -> theirs."""
    chosen = chosen or {}
    table = _follow_map(table, ours, chosen)
    free = [name for name in table.columns if name not in chosen.values()]
    candidates = {name: chosen.get(name) or _find(name, aliases.get(name, ()), free) for name in ours}
    return table, {name: origin for name, origin in candidates.items() if origin is not None}


def _find(name: str, aliases: tuple[str, ...], columns: list[str]) -> str | None:
    if name in columns:
        return name
    matches = [alias for alias in aliases if alias in columns]
    if not matches:
        known = {plain_name(alias) for alias in (name, *aliases)}
        matches = [column for column in columns if plain_name(column) in known]
    if len(matches) > 1 and name == "answer":  # a text and its index say the same
        matches = [match for match in matches if not is_index_name(match)] or matches
    if len(matches) > 1:
        advice = f"say which with map, such as {name}={matches[0]}"
        raise SettingError(f"exactly one column for {name!r}", f"{' and '.join(matches)}", advice)
    return matches[0] if matches else None


def find_gold(table: pl.DataFrame, answer: str | None, origin: str) -> None:
    """Raise an error where `answer` stands beside a column of references with other texts: it may be a model's."""
    for name in table.columns if answer == "answer" else ():
        if plain_name(name) not in GOLD or is_index_name(name) or table[name].dtype.is_nested():
            continue
        same = table["answer"].dtype == table[name].dtype and table["answer"].eq_missing(table[name]).all()
        if not same:
            found = f"answer and {name}, which differ, and one may be a model's"
            advice = f"say which with map, such as answer={name}"
            raise SettingError(f"one column with the references in {origin}", found, advice)


def plain_name(name: str) -> str:
    """Write a column's name in lower case with underscores, however it is written: `Question ID`, `questionID`."""
    words = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name.strip())
    return re.sub(r"[\s.\-_]+", "_", words).lower()


def looks_like_models(name: str) -> bool:
    """Return whether a column's name says that it holds what a model answered."""
    plain = plain_name(name)
    return _MODELS.search(plain) is not None and _NOT_ANSWERS.search(plain) is None


def is_index_name(name: str) -> bool:
    """Return whether a column's name says that it holds an index."""
    return plain_name(name).endswith(("_idx", "_index"))


def _follow_map(table: pl.DataFrame, ours: tuple[str, ...], chosen: Mapping[str, str]) -> pl.DataFrame:
    """Add the columns of a map that are not in the table: `a,b` joins ids or lists options, `a.b` is a field."""
    for name, origin in chosen.items():
        if name not in ours:
            raise unknown_name("column of ours, in the map", name, ours)
        if origin in table.columns:
            continue
        parts = [part.strip() for part in origin.split(",")]
        if len(parts) > 1 and name not in JOINED:
            found = f"{name}={origin}"
            raise SettingError("one column, or several for id or choices, in the map", found, "name one of them")
        columns = [_column_or_field(table, part) for part in parts]
        table = table.with_columns((JOINED[name](columns) if len(parts) > 1 else columns[0]).alias(origin))
    return table


def _column_or_field(table: pl.DataFrame, name: str) -> pl.Series:
    """Return a column, or the field of an object in it that `column.field` names."""
    if name in table.columns:
        return table[name]
    outer, dot, inner = name.partition(".")
    if not dot or outer not in table.columns or not isinstance(table[outer].dtype, pl.Struct):
        raise unknown_name("column of the table, in the map", name, tuple(table.columns))
    names = table[outer].struct.fields
    if inner not in names:
        raise unknown_name(f"field of column {outer!r}, in the map", inner, tuple(names))
    return table[outer].struct.field(inner)


def join_ids(columns: Sequence[pl.Series]) -> pl.Series:
    """Join several columns to one id, `VD-chart-0-1-2`; a null in some is an empty text, in all a null."""
    texts = [as_key(column, "the map").alias(str(n)) for n, column in enumerate(columns)]
    joined = pl.DataFrame(texts).select(pl.concat_str(pl.all().fill_null(""), separator="-")).to_series()
    return joined.set(pl.DataFrame(texts).select(pl.all_horizontal(pl.all().is_null())).to_series(), None)


def _list_options(columns: Sequence[pl.Series]) -> pl.Series:
    texts = [as_text(column, "the map").alias(str(n)) for n, column in enumerate(columns)]
    return pl.DataFrame(texts).select(pl.concat_list(pl.all().str.strip_chars().replace("", None))).to_series()


JOINED: dict[str, Callable[[Sequence[pl.Series]], pl.Series]] = {"id": join_ids, "choices": _list_options}


def split_name(name: str) -> str | None:
    """Take the split from a file's name: Val-Ques.json and v2_mscoco_val2014_annotations.json are val."""
    stem = PurePosixPath(PurePosixPath(name).name.lower().removesuffix(".gz")).stem
    matches = (re.search(pattern, stem) for pattern in _SPLIT_PATTERNS)
    split = next((match[1] for match in matches if match), None)
    return None if split is None else _SHORT_SPLITS.get(split, split)


def split_of_file(name: str, own: object) -> str | None:
    """Take the split from the file's own statement (val2014 is val), else from its name."""
    if not isinstance(own, str) or not own:
        return split_name(name)
    split = re.sub(r"20\d\d$", "", own.lower())
    return _SHORT_SPLITS.get(split, split)


def name_splits(table: pl.DataFrame) -> CountedTable:
    """Rename the usual splits of a table to train, val and test; others stay as they are."""
    names = table["split"].unique().drop_nulls().sort().to_list()
    ours = {name: _USUAL_SPLITS.get(name.strip().lower(), name) for name in names}
    renamed = {name: short for name, short in ours.items() if name != short}
    counts = [
        noted(f"row of split {name!r}, which is {short!r} here", int((table["split"] == name).sum()))
        for name, short in renamed.items()
    ]
    return CountedTable(table.with_columns(pl.col("split").replace(renamed)), counts)
