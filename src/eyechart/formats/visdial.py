"""Read VisDial v1.0 (and v0.9): dialogs about images, one row for each round.

A row's id is `<image_id>-<round>`, rounds counted from 1. The column `history` holds a line "Q: ... A: ..." for each
earlier round of the dialog and is empty in the first. Rounds without candidates or answer, as in test sets, are kept.
Rounds in the files = rounds read + rounds dropped; a dialog without rounds is noted.
"""

from pathlib import Path
from typing import TypeAlias

import polars as pl
from polars.exceptions import PanicException, PolarsError

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.formats.choices import drop_stray_choices
from eyechart.formats.columns import Field, tabulate_fields
from eyechart.formats.description import described
from eyechart.formats.images import gather_images
from eyechart.formats.names import split_of_file
from eyechart.formats.records import read_entries
from eyechart.formats.rows import (
    CountedTable,
    blank,
    clear_blank_answers,
    count_table,
    drop_empty_columns,
    drop_rows,
    noted,
    read_rows,
)
from eyechart.formats.sources import SourceFile, decode_json, find_sources, stem

_Schema: TypeAlias = dict[str, pl.DataType | type[pl.DataType]]

_MODALITIES = ("image", "question", "caption", "history")
_COLUMNS = ("id", "image", "question", "answer", "caption", "history")
_OPTIONAL = ("choices", "relevance", "split")
_DENSE = {
    "image": Field(("image_id",), "key"),
    "round": Field(("round_id",), "key"),
    "relevance": Field(("relevance",), "texts"),
    "gt_relevance": Field(("gt_relevance",), "texts"),
}
_ROUND: _Schema = {
    "question": pl.Int64,
    "answer": pl.Int64,
    "answer_options": pl.List(pl.Int64),
    "gt_index": pl.Int64,
}
_DIALOG: _Schema = {"image_id": pl.String, "caption": pl.String, "dialog": pl.List(pl.Struct(_ROUND))}
_DATA: _Schema = {
    "questions": pl.List(pl.String),
    "answers": pl.List(pl.String),
    "dialogs": pl.List(pl.Struct(_DIALOG)),
}
_FILE: _Schema = {"split": pl.String, "data": pl.Struct(_DATA)}
_MOST = 2**31  # no list of texts is longer than this


@described(
    needs="JSON with data.questions, data.answers and data.dialogs; --set dense=FILE names a file of dense annotations",
    sample='{"version": "1.0", "split": "val2018", "data": {"questions": ["is it sunny"], "answers": ["yes", "no"],\n'
    '"dialogs": [{"image_id": 42, "caption": "a dog", "dialog": [{"question": 0, "answer": 1, "gt_index": 7, ...',
    signs=('"dialogs"', '"questions"', '"answers"', '"split"'),
)
def read_visdial(
    path: Path,
    *,
    dense: Path | None = None,
    split: str | None = None,
    detections: Path | None = None,
    images: Path | None = None,
) -> Dataset:
    """Read dialogs; `dense` is a file of dense annotations, which give each candidate in a round a `relevance`.

    `split` overrides the files' own; `detections` is a file of objects, `images` a folder of picture files.
    """
    sources = find_sources(path, {".json"})
    parts = [part for part in map(_read_rounds, sources) if part is not None]
    if not parts:
        advice = "give visdial_1.0_*.json, and dense annotations in the setting dense"
        raise FileFormatError(f"data.questions, data.answers and data.dialogs in {path}", "none of them", advice)
    sound, damaged = _keep_sound(pl.concat(rounds for rounds, _ in parts), split)
    settled, notes = _settle_answers(sound)
    with_relevance, unmatched = _add_relevance(settled, dense)
    rows = drop_empty_columns(with_relevance.select(*_COLUMNS, *_OPTIONAL), _OPTIONAL)
    all_images, gaps = gather_images(rows.select(pl.col("image").unique().sort()), images, detections)
    notes += [
        noted("file without dialogs, skipped (dense annotations: see dense)", len(sources) - len(parts)),
        noted("dialog without rounds", sum(n_empty for _, n_empty in parts)),
        noted("round without an answer", rows["answer"].null_count()),
    ]
    counts = count_table([read_rows(rows.height), *damaged, *notes, *unmatched, *gaps])
    return Dataset(stem(path), rows, all_images, _MODALITIES, counts=counts)


def _keep_sound(rounds: pl.DataFrame, split: str | None) -> CountedTable:
    reasons = {
        "round that is not a record": ~pl.col("whole"),
        "round without an image": pl.col("image").is_null(),
        "round without a question": blank("question"),
    }
    sound, damaged = drop_rows(rounds.with_columns(id=pl.format("{}-{}", "image", "round")), reasons)
    unique, repeats = drop_rows(sound, {"round with an id seen before": ~pl.col("id").is_first_distinct()})
    named = unique if split is None else unique.with_columns(split=pl.lit(split))
    return CountedTable(named, [*damaged, *repeats])


def _settle_answers(rounds: pl.DataFrame) -> CountedTable:
    """Leave out lists of candidates with unreadable ones; take the answer from the list if only its index is given."""
    readable = (pl.col("choices").list.len() > 0) & ~pl.col("choices").list.contains(None)
    lost = noted("candidates that cannot all be read, left out", int(rounds.select((~readable).sum()).item()))
    with_choices = rounds.with_columns(choices=pl.when(readable).then("choices"))
    index = pl.when(pl.col("right") >= 0).then("right")
    indexed = with_choices.select(pl.col("choices").list.get(index, null_on_oob=True)).to_series()
    other = noted("round whose gt_index is of another answer", int((indexed != with_choices["answer"]).sum()))
    answered = with_choices.with_columns(answer=pl.coalesce("answer", indexed))
    kept, stray = drop_stray_choices(clear_blank_answers(answered))
    return CountedTable(kept, [lost, other, *stray])


def _add_relevance(rounds: pl.DataFrame, dense: Path | None) -> CountedTable:
    """Join dense annotations to their rounds; note those that match no round or do not fit it."""
    if dense is None:
        return CountedTable(rounds.with_columns(relevance=pl.lit(None, pl.List(pl.Float64))), [])
    entries = [entry for source in find_sources(dense, {".json"}) for entry in read_entries(source)]
    table, counts = tabulate_fields(entries, _DENSE)
    marks = table.select(
        id=pl.format("{}-{}", "image", "round"),
        relevance=pl.coalesce("relevance", "gt_relevance").cast(pl.List(pl.Float64), strict=False),
    ).drop_nulls("id")
    first = marks.unique("id", keep="first", maintain_order=True)
    joined = rounds.join(first, on="id", how="left", validate="1:1", maintain_order="left")
    sizes = pl.col("relevance").list.len() == pl.col("choices").list.len()
    fits = sizes & pl.col("relevance").list.eval(pl.element().is_finite().fill_null(value=False)).list.all()
    fitted = joined.with_columns(relevance=pl.when(fits).then("relevance"))
    used = int(fitted["relevance"].is_not_null().sum())
    notes = [noted(f"dense annotation: {count.reason}", count.n) for count in counts]
    return CountedTable(
        fitted, [*notes, noted("dense annotation that matches no round with as many candidates", table.height - used)]
    )


def _read_rounds(source: SourceFile) -> tuple[pl.DataFrame, int] | None:
    """Read the rounds of a file, and count its dialogs without any; return None for a file of another form."""
    data = source.read()
    try:
        file = pl.read_json(data, schema=_FILE)
    except (PolarsError, PanicException):
        file = pl.DataFrame([_clean(decode_json(source, data))], schema=_FILE)
    lists = file["data"].struct.unnest()
    if lists.height != 1 or lists["dialogs"].null_count():
        return None
    questions, answers, entries = (lists[name].explode(empty_as_null=False, keep_nulls=False) for name in _DATA)
    dialogs = entries.struct.unnest().with_row_index("number")
    rounds = dialogs.explode("dialog", empty_as_null=False, keep_nulls=False)
    empty = dialogs.height - rounds["number"].n_unique()
    split = pl.lit(split_of_file(source.name, file["split"][0]), pl.String)
    with_texts = _replace_numbers(rounds, questions, answers).with_columns(split=split)
    return _add_history(with_texts).drop("number"), empty


def _replace_numbers(rounds: pl.DataFrame, questions: pl.Series, answers: pl.Series) -> pl.DataFrame:
    """Replace numbers by the texts they refer to; a number without a text becomes null."""
    field = pl.col("dialog").struct.field
    return rounds.select(
        "number",
        "caption",
        whole=pl.col("dialog").is_not_null(),
        image="image_id",
        round=pl.int_range(pl.len()).over("number") + 1,
        question=_text_at(field("question"), questions),
        answer=_text_at(field("answer"), answers),
        choices=field("answer_options").list.eval(_text_at(pl.element(), answers)),
        right=field("gt_index"),
    )


def _text_at(index: pl.Expr, texts: pl.Series) -> pl.Expr:
    if texts.is_empty():
        return pl.when(index.is_null()).then(pl.lit(None, pl.String))
    # In lists this needs far less memory than `gather`.
    return index.replace_strict(pl.int_range(len(texts), eager=True), texts, default=None, return_dtype=pl.String)


def _add_history(rounds: pl.DataFrame) -> pl.DataFrame:
    """Add the questions and answers of the earlier rounds to each round."""
    has_text = pl.any_horizontal(pl.col("question", "answer").is_not_null())
    question, answer = pl.lit("Q: ") + pl.col("question"), pl.lit("A: ") + pl.col("answer")
    line = pl.when(has_text).then(pl.concat_str(question, answer, separator=" ", ignore_nulls=True))
    lines = line.over("number", mapping_strategy="join")
    earlier = lines.list.head(pl.col("round") - 1).list.drop_nulls()
    return rounds.with_columns(history=earlier.list.join("\n"))


def _clean(content: object) -> dict[str, object]:
    """Keep the well-formed values in a decoded file, so that a bad one does not stop the others."""
    file = _record(content)
    data = _record(file.get("data"))
    dialogs = data.get("dialogs")
    return {
        "split": _text(file.get("split")),
        "data": {
            "questions": _texts(data.get("questions")),
            "answers": _texts(data.get("answers")),
            "dialogs": [_dialog(one) for one in dialogs] if isinstance(dialogs, list) else None,
        },
    }


def _record(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _dialog(value: object) -> dict[str, object] | None:
    if not isinstance(value, dict):
        return None
    rounds = value.get("dialog")
    return {
        "image_id": _text(value.get("image_id")),
        "caption": _text(value.get("caption")),
        "dialog": [_round(one) for one in rounds] if isinstance(rounds, list) else None,
    }


def _round(value: object) -> dict[str, object] | None:
    if not isinstance(value, dict):
        return None
    options = value.get("answer_options")
    return {
        "question": _index(value.get("question")),
        "answer": _index(value.get("answer")),
        "answer_options": [_index(one) for one in options] if isinstance(options, list) else None,
        "gt_index": _index(value.get("gt_index")),
    }


def _texts(value: object) -> list[str | None]:
    return [_text(one) for one in value] if isinstance(value, list) else []


def _text(value: object) -> str | None:
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def _index(value: object) -> int | None:
    return value if type(value) is int and 0 <= value < _MOST else None
