"""Read A-OKVQA: lists of questions with four choices, ten direct answers and rationales; the images are COCO's.

The reference is the text of the right choice; where a file names none, the majority of the direct answers. The test
split has neither. Entries in the files = rows read + rows dropped. Files without questions are skipped and counted.
"""

from pathlib import Path

import polars as pl

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.formats.choices import drop_stray_choices, name_by_index, note_repeated_options
from eyechart.formats.columns import Field, fill_majority, tabulate_fields
from eyechart.formats.description import described
from eyechart.formats.images import gather_images
from eyechart.formats.names import split_name
from eyechart.formats.rows import (
    CountedTable,
    count_table,
    drop_damaged,
    drop_empty_columns,
    drop_repeated,
    note_gaps,
    noted,
    read_rows,
)
from eyechart.formats.sources import decode_json, find_sources, stem

_FIELDS = {
    "id": Field(("question_id",), "key"),
    "image": Field(("image_id",), "key"),
    "question": Field(("question",)),
    "answer": Field(("correct_choice_idx",), "key"),
    "answers": Field(("direct_answers",), "texts"),
    "choices": Field(("choices",), "texts"),
    "split": Field(("split",)),
    "difficult_direct_answer": Field(("difficult_direct_answer",), "flag"),
    "rationales": Field(("rationales",), "texts"),
}
_OPTIONAL = tuple(_FIELDS)[4:]


@described(
    needs="the lists of questions as JSON, also zipped or in a folder with several splits",
    sample='[{"question_id": "22jbM6gDxdaMaunuzgrsBB", "image_id": 461751, "choices": ["toothpick", "food", ...],\n'
    '  "correct_choice_idx": 3, "direct_answers": ["cigarette", ...], "question": "What is in ...?", "split": "val"}]',
    signs=("question_id", "choices", "difficult_direct_answer", "rationales"),
)
def read_aokvqa(
    path: Path, *, split: str | None = None, detections: Path | None = None, images: Path | None = None
) -> Dataset:
    """Read questions with their choices; `split` overrides the split of the records and of the files' names.

    `detections` is a file of the objects in each image, `images` a folder of picture files.
    """
    examples, counts = _read_questions(path, split)
    names = examples.select(pl.col("image").drop_nulls().unique().sort())
    all_images, gaps = gather_images(names, images, detections)
    return Dataset(stem(path), examples, all_images, counts=count_table([read_rows(examples.height), *counts, *gaps]))


def _read_questions(path: Path, split: str | None) -> CountedTable:
    tables, counts, skipped = [], [], 0
    for source in find_sources(path, {".json"}):
        content = decode_json(source, source.read())
        if isinstance(content, list) and any(map(_is_question, content)):
            table, more = tabulate_fields(content, _FIELDS)
            own = pl.col("split").fill_null(pl.lit(split_name(source.name), pl.String))
            tables.append(table.with_columns(pl.lit(split).alias("split") if split else own))
            counts += more
        else:
            skipped += 1
    if not tables:
        advice = "give the file, folder or archive of A-OKVQA's questions, or read other data with the format 'table'"
        raise FileFormatError(f"a list of questions with question_id and choices in {path}", "none", advice)
    examples, more = _settle(pl.concat(tables))
    return CountedTable(examples, [*counts, noted("file without questions, skipped", skipped), *more])


def _is_question(value: object) -> bool:
    return isinstance(value, dict) and {"question_id", "question", "choices"} <= value.keys()


def _settle(table: pl.DataFrame) -> CountedTable:
    whole, damaged = drop_damaged(table.with_columns(pl.col("answers", "rationales").list.drop_nulls()))
    named = name_by_index(whole)
    useful = drop_stray_choices(fill_majority(named.table))
    unique, repeats = drop_repeated(useful.table)
    notes = [note_repeated_options(unique), *note_gaps(unique)]
    return CountedTable(
        drop_empty_columns(unique, _OPTIONAL), [*damaged, *named.counts, *useful.counts, *repeats, *notes]
    )
