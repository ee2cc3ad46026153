"""Read the datasets and prediction files of VLMEvalKit, and write tables for it.

A dataset is a TSV with `index`, `question`, options `A`, `B`, ..., `answer` and perhaps pictures. An answer that is the
letter of one option and the text of another means the letter. Rows of a circular test, which ask one question with its
options rotated, stay rows; their `group` is `g_index`, or the index modulo a million. Several files are one dataset
whose ids begin with the names of the files. Rows in = rows read + rows dropped.

Prediction files are workbooks, .tsv or .json, as inferred or already scored: `answer` is the reference, `prediction`
the model's response, `extracted` the answer that scoring found in it.

Tables are written so that the tool reads them as intended. It opens them with pandas: an id that looks like a
number becomes one (007 is 7), so our ids have a prefix and a column of their own, which it passes on. An empty cell,
and texts such as `None` and `NA`, become missing values: a question without a picture has an empty list of paths, and a
space is appended to such options. And it evaluates a path in square brackets as a Python expression, so such a path is
written as a list that holds it.
"""

from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from string import ascii_uppercase

import polars as pl

from eyechart.base.errors import FileFormatError
from eyechart.base.files import replacing
from eyechart.data.dataset import Dataset
from eyechart.data.store import Store
from eyechart.formats.answer_files import AnswerFile
from eyechart.formats.choices import gather_options, name_answers
from eyechart.formats.columns import as_key, as_text, as_texts, fill_majority
from eyechart.formats.description import described
from eyechart.formats.exports import Guide, PromptTable, export_prompts
from eyechart.formats.images import gather_images
from eyechart.formats.log_rows import LogOptions, require_columns
from eyechart.formats.records import read_records, stack
from eyechart.formats.rows import (
    CountedTable,
    RowCount,
    count_table,
    drop_damaged,
    drop_repeated,
    dropped,
    note_gaps,
    noted,
    read_rows,
)
from eyechart.formats.sources import SourceFile, find_sources, stem
from eyechart.formats.table import type_columns
from eyechart.formats.vlmeval_pictures import merge_images, name_images

OUR_COLUMN = "eyechart"  # in our exports: the id, which the tool's index would not keep as text
OUR_MARK = "id:"
OUR_CONDITION = "eyechart_condition"  # in our exports
ROTATION = 1_000_000  # the indices of a question and its rotations in a circular test differ by multiples of it
_NAMES = {"index": "id", "l2-category": "l2_category"}
_LIST = r"^\s*\[\s*['\"]"  # of texts; a list of numbers is an answer like any other
FAILED = "Failed to obtain answer via API."
GUESSED = "Failed to predict, thus randomly generate one."  # the judge found no answer and drew an option
UNKNOWN = "Unknown"  # neither yes nor no was found
CELL = 32_767  # most characters in a cell of a workbook
_LOG_TEXTS = {"prediction": "raw", "extracted": "extracted", "log": "log"}
_MISSING = (
    *("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA"),
    *("NULL", "NaN", "None", "n/a", "nan", "null"),
)
_GUIDE = Guide(
    "VLMEvalKit",
    lambda tables: f"LMUData=. python run.py --mode infer --model MODEL --data {' '.join(one.name for one in tables)}",
    "outputs/MODEL",
)


@described(
    needs="a TSV of VLMEvalKit, with pictures by image_path or as base64, which --set pictures=FOLDER writes there",
    sample="index\tquestion\tA\tB\tanswer\tcategory\timage\n"
    "7\tWhat colour is the bus?\tred\tblue\tA\tcolour\t/9j/4AAQSkZJRg...",
    signs=("index", "\tquestion", "\tanswer", "\tA\tB"),
)
def read_vlmeval(
    path: Path, *, pictures: Path | None = None, split: str | None = None, images: Path | None = None
) -> Dataset:
    """Read questions; `pictures` is a folder to write base64 pictures to, `images` one that already holds pictures.

    Without `pictures` an image has only a name, a hash of its content. `split` names the split of all rows.
    """
    sources = find_sources(path, {".tsv", ".csv"})
    parts = [_read_part(source, pictures, prefixed=len(sources) > 1) for source in sources]
    rows, repeats = drop_repeated(pl.concat((rows for rows, _, _ in parts), how="diagonal_relaxed"))
    if split is not None:
        rows = rows.with_columns(split=pl.lit(split))
    modalities = ("image", "question", "hint") if "hint" in rows.columns else ("image", "question")
    of_images = merge_images((images_of_part for _, images_of_part, _ in parts), rows)
    all_images, gaps = gather_images(of_images, pictures or images, None, path.parent)
    counts = [count for _, _, counts in parts for count in counts]
    table_of_counts = count_table([read_rows(rows.height), *counts, *repeats, *note_gaps(rows), *gaps])
    return Dataset(stem(path), rows, all_images, modalities, counts=table_of_counts)


def read_vlmeval_log(files: Sequence[AnswerFile], options: LogOptions) -> CountedTable:  # noqa: ARG001 - part of the contract
    """Read predictions by their unchanged index, which keeps the rotations of a circular question apart."""
    sources = [file.source for file in files]
    records = stack([file.table for file in files], sources)
    origin = sources[0].name
    require_columns(records.table, ("index", "prediction"), origin)
    table = _name_log_columns(records.table, origin)
    counts = [dropped("entry that is not a record", records.strays), *_count_oddities(table)]
    return CountedTable(_find_answers(table), counts)


def export_vlmeval(store: Store, folder: Path) -> dict[str, int]:
    """Write the questions of a run as a table for each condition, for VLMEvalKit to ask.

    `index` only counts; the id and the condition are in columns of our own, from which `read_vlmeval_log` takes them.
    """
    return export_prompts(store, folder, write_vlmeval, _GUIDE)


def write_vlmeval(prompts: PromptTable, folder: Path) -> str:
    """Write the table of a condition, and return its file's name."""
    table = prompts.table.with_row_index("index").select(
        "index",
        picture_cell(pl.col("pictures")),
        text_cell(pl.col("prompt")).alias("question"),
        our_ids(),
        pl.lit(prompts.condition).alias(OUR_CONDITION),
    )
    return write_table(table, folder / f"{prompts.name}.tsv")


def write_table(table: pl.DataFrame, file: Path) -> str:
    """Write a table, and return its file's name."""
    with replacing(file) as draft:
        table.write_csv(draft, separator="\t")
    return file.name


def our_ids() -> pl.Expr:
    """Write the ids so that they come back unchanged."""
    return (pl.lit(OUR_MARK) + pl.col("id")).alias(OUR_COLUMN)


def picture_cell(paths: pl.Expr) -> pl.Expr:
    """Write the path of a picture, or a list of several or none."""
    first = paths.list.first()
    listed = paths.map_elements(lambda each: repr(list(each)), pl.String)
    alone = (paths.list.len() == 1) & ~first.str.starts_with("[")
    return pl.when(alone).then(first).otherwise(listed).fill_null("[]").alias("image_path")


def text_cell(text: pl.Expr) -> pl.Expr:
    """Write a text so that pandas does not read it as a missing value."""
    return pl.when(text.is_in(_MISSING)).then(text + " ").otherwise(text)


def _read_part(
    source: SourceFile, pictures: Path | None, *, prefixed: bool
) -> tuple[pl.DataFrame, pl.DataFrame, list[RowCount]]:
    """Read the rows of a file and the images they name."""
    records = read_records(source)
    table, notes = _name_columns(records.table, source.name)
    named, images, more = name_images(table, pictures)
    typed, lost = type_columns(_settle_columns(named, source.name), source.name)
    sound, damaged = drop_damaged(typed)
    rows, unfit = _settle_answers(sound)
    if prefixed:
        start = pl.lit(f"{PurePosixPath(source.name.removesuffix('.gz')).stem}-")
        rows = rows.with_columns((start + pl.col(name)).alias(name) for name in ("id", "group") if name in rows.columns)
    strays = dropped("entry that is not a record", records.strays)
    return rows, images, [strays, *notes, *more, *lost, *damaged, *unfit]


def _name_columns(table: pl.DataFrame, origin: str) -> CountedTable:
    clash = "id" in table.columns and "index" in table.columns
    plain = table.drop("id") if clash else table
    renamed = plain.rename({theirs: ours for theirs, ours in _NAMES.items() if ours not in plain.columns}, strict=False)
    for name, theirs in (("id", "index"), ("question", "question")):
        if name not in renamed.columns:
            found = f"columns {', '.join(table.columns) or 'none at all'}"
            raise FileFormatError(f"a column {theirs!r} in {origin}", found, "read it with the format 'table'")
    return CountedTable(renamed, [noted("column 'id' left out: the index is the id", clash * table.height)])


def _settle_columns(table: pl.DataFrame, origin: str) -> pl.DataFrame:
    """Gather options, answers and hints, and set the group of circular rows."""
    letters = [name for name in table.columns if name in set(ascii_uppercase)]
    filled = table.with_columns(pl.when(~pl.col(letters).is_in(["nan", "NaN"])).then(pl.col(letters)).name.keep())
    full = gather_options(filled, origin)
    if "choices" in full.columns and letters:
        has_options = pl.col("choices").list.drop_nulls().list.len() > 0
        full = full.with_columns(choices=pl.when(has_options).then("choices"))
    full = _group(_list_answers(full))
    if "hint" in full.columns:
        hint = pl.col("hint").fill_null("")
        full = (
            full.with_columns(hint) if full.select((hint.str.strip_chars() != "").any()).item() else full.drop("hint")
        )
    first = ("id", "image", "question", "answer")
    return full.select(*first, pl.exclude(first))


def _list_answers(table: pl.DataFrame) -> pl.DataFrame:
    if "answer" not in table.columns:
        return table.with_columns(answer=pl.lit(None, pl.String))
    answer = table["answer"].set(table["answer"].str.strip_chars() == "", None)
    listed = answer.str.contains(_LIST) & as_texts(answer, "the answers").is_not_null()
    if "answers" in table.columns or not listed.any():
        return table.with_columns(answer)
    answers = answer.set(~listed, None).alias("answers")
    return table.with_columns(answers, answer.set(listed, None))


def _group(table: pl.DataFrame) -> pl.DataFrame:
    if "g_index" in table.columns:
        return table.with_columns(group=pl.col("g_index"))
    numbers = table["id"].str.strip_chars().cast(pl.Int64, strict=False)
    if numbers.null_count() or not (numbers >= ROTATION).any():
        return table
    return table.with_columns(group=(numbers % ROTATION).cast(pl.String))


def _settle_answers(table: pl.DataFrame) -> CountedTable:
    voted = fill_majority(table)
    if "choices" not in voted.columns:
        return CountedTable(voted, [])
    named = name_answers(voted, "letter", "text")
    lost = [count for count in named.counts if count.status == "dropped"]
    if "answers" not in voted.columns:
        return CountedTable(named.table, lost)
    both = named.table["choices"].is_not_null() & named.table["answers"].is_not_null()
    note = noted("row with options and several answers, the most frequent kept", int(both.sum()))
    return CountedTable(named.table.with_columns(answers=pl.when(~both).then("answers")), [*lost, note])


def _name_log_columns(table: pl.DataFrame, origin: str) -> pl.DataFrame:
    texts = [
        as_text(table[theirs], origin).alias(ours)
        if theirs in table.columns and table[theirs].dtype != pl.Null
        else pl.lit(None, pl.String).alias(ours)
        for theirs, ours in _LOG_TEXTS.items()
    ]
    group = as_key(table["g_index"], origin) if "g_index" in table.columns else pl.lit(None, pl.String)
    known = [as_text(table[name], origin).alias("condition") for name in (OUR_CONDITION,) if name in table.columns]
    lettered = gather_options(table.drop("choices", strict=False), origin)
    if "choices" in lettered.columns:
        known.append(lettered["choices"].list.drop_nulls().alias("options"))
    return table.select(_find_key(table, origin).alias("id"), *texts, group.alias("group"), *known)


def _find_key(table: pl.DataFrame, origin: str) -> pl.Series:
    if OUR_COLUMN in table.columns:
        return as_text(table[OUR_COLUMN], origin).str.strip_prefix(OUR_MARK)
    return as_key(table["index"], origin)


def _find_answers(table: pl.DataFrame) -> pl.DataFrame:
    raw, extracted = pl.col("raw"), pl.col("extracted")
    failed = raw.is_null() | raw.str.contains(FAILED, literal=True)
    guessed = pl.any_horizontal(pl.col("log", "extracted").str.contains(GUESSED, literal=True).fill_null(value=False))
    unparsed = guessed | (extracted == UNKNOWN).fill_null(value=False)
    status = pl.when(failed).then(pl.lit("failed")).when(unparsed).then(pl.lit("unparsed")).otherwise(pl.lit("ok"))
    answer = pl.when(~failed & ~unparsed).then(pl.coalesce(extracted, raw))
    known = [name for name in ("condition", "options") if name in table.columns]
    return table.select("id", answer.alias("answer"), "raw", status.alias("status"), *known)


def _count_oddities(table: pl.DataFrame) -> list[RowCount]:
    number = pl.col("id").cast(pl.Int64, strict=False)
    base = (number % ROTATION).cast(pl.String)
    rotated = pl.when(pl.col("group").is_null()).then((number >= ROTATION) & base.is_in(pl.col("id").implode()))
    n = table.select(
        rotated=rotated.otherwise(pl.col("group") != pl.col("id")).sum(),
        cut=(pl.col("raw").str.len_chars() == CELL).sum(),
        extracted=pl.col("extracted").is_not_null().sum(),
    ).row(0, named=True)
    return [
        noted("rotation of a circular question", n["rotated"]),
        noted(f"prediction cut off at the {CELL:,} characters of a cell", n["cut"]),
        noted("answer as the tool extracted it", n["extracted"]),
    ]
