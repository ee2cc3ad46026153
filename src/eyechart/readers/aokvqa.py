"""Read A-OKVQA: lists of questions with four choices, ten direct answers and rationales; the images are COCO's.

The reference is the right choice's text; where a file names none, the majority of the direct answers. The test split
has neither. Entries in the files = rows read + rows dropped. Files that hold no questions are passed over and counted.
"""

from pathlib import Path

import polars as pl

from eyechart.dataset import Dataset
from eyechart.errors import FileFormatError
from eyechart.readers.choices import name_by_index, note_repeated_options, set_aside_choices
from eyechart.readers.columns import fill_majority
from eyechart.readers.counting import Sifted, count_table, noted, read_rows
from eyechart.readers.description import described
from eyechart.readers.fields import Field, lay_out
from eyechart.readers.pictures import gather_images
from eyechart.readers.rows import drop_damaged, drop_repeated, drop_silent, note_gaps
from eyechart.readers.source import decode_json, find_sources, stem
from eyechart.readers.split_names import split_name

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
    """Read questions with their choices; `split` overrides what the records, else the files' names, say.

    `detections` is a file of the objects in each image, `images` a folder of picture files.
    """
    asked = _read_questions(path, split)
    names = asked.table.select(pl.col("image").drop_nulls().unique().sort())
    illustrated = gather_images(names, images, detections)
    counts = [read_rows(asked.table.height), *asked.counts, *illustrated.notes]
    return Dataset(stem(path), asked.table, illustrated.images, counts=count_table(counts))


def _read_questions(path: Path, split: str | None) -> Sifted:
    tables, counts, passed_over = [], [], 0
    for source in find_sources(path, {".json"}):
        content = decode_json(source, source.read())
        if isinstance(content, list) and any(map(_is_question, content)):
            part = lay_out(content, _FIELDS)
            named = pl.col("split").fill_null(pl.lit(split_name(source.name), pl.String))
            tables.append(part.table.with_columns(pl.lit(split).alias("split") if split else named))
            counts += part.counts
        else:
            passed_over += 1
    if not tables:
        advice = "name the file, folder or archive of A-OKVQA's questions, or read other data with the format 'table'"
        raise FileFormatError(f"a list of questions with question_id and choices in {path}", "none", advice)
    examples, fates = _settle(pl.concat(tables))
    return Sifted(examples, [*counts, noted("file without questions, passed over", passed_over), *fates])


def _is_question(value: object) -> bool:
    return isinstance(value, dict) and {"question_id", "question", "choices"} <= value.keys()


def _settle(table: pl.DataFrame) -> Sifted:
    whole, damaged = drop_damaged(table.with_columns(pl.col("answers", "rationales").list.drop_nulls()))
    named = name_by_index(whole)
    useful = set_aside_choices(fill_majority(named.table))
    once, again = drop_repeated(useful.table)
    notes = [note_repeated_options(once), *note_gaps(once)]
    return Sifted(drop_silent(once, _OPTIONAL), [*damaged, *named.counts, *useful.counts, *again, *notes])
