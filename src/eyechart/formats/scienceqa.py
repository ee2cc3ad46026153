"""Read ScienceQA: problems by id, with choices, perhaps a hint (context in words) and perhaps an image.

Every problem's picture is called `image.png` in a folder `split/id`, so the problem's id is the image's name.
Entries in the files = rows read + rows dropped. Files without problems are skipped and counted.

Result files of the dataset's scripts, and of LLaVA's, are `{"acc": ..., "results": {id: index of the option, from 0, or
-1}, "outputs": {id: what the model said}}`; the answer is the letter of that option, for the problems have no others.
"""

from collections.abc import Sequence
from pathlib import Path
from string import ascii_uppercase

import polars as pl

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.formats.answer_files import AnswerFile
from eyechart.formats.choices import name_by_index, note_repeated_options
from eyechart.formats.columns import Field, tabulate_fields, with_keys
from eyechart.formats.description import described
from eyechart.formats.images import gather_images
from eyechart.formats.log_rows import (
    AnswerRow,
    LogOptions,
    member,
    read_whole_number,
    tabulate_answers,
    write_answer,
)
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

_KEPT = ("task", "grade", "subject", "topic", "category", "skill", "lecture", "solution")
_FIELDS = {
    "id": Field(("id",), "key"),
    "question": Field(("question",)),
    "answer": Field(("answer",), "key"),
    "file": Field(("image",)),
    "choices": Field(("choices",), "texts"),
    "split": Field(("split",)),
    "hint": Field(("hint",)),
    **{name: Field((name,)) for name in _KEPT},
}


@described(
    needs="problems.json, also zipped or in a folder; the pictures next to it in images/split/id/image.png",
    sample='{"1": {"question": "Which of these states is farthest north?", "choices": ["West Virginia", ...],\n'
    '  "answer": 0, "hint": "", "image": "image.png", "subject": "social science", "split": "train", ...}}',
    signs=("question", "choices", "hint", "lecture", "solution"),
)
def read_scienceqa(path: Path, *, split: str | None = None, images: Path | None = None) -> Dataset:
    """Read problems; a hint is a modality. `split` overrides their own, `images` is the folder of the splits' pictures.

    Without `images` the folder of that name next to the problems is used, if there is one.
    """
    problems, counts = _read_problems(path)
    folder = images or _find_pictures(path)
    file = pl.concat_str("split", "id", "file", separator="/", ignore_nulls=True)
    pictures = problems.drop_nulls("image").select("image", path=file).sort("image")
    all_images, gaps = gather_images(pictures if folder else pictures.drop("path"), folder, None)
    named = problems.with_columns(split=pl.lit(split)) if split else problems
    examples = drop_empty_columns(named.drop("file"), ("choices", "split", "hint", *_KEPT))
    counts = [read_rows(examples.height), *counts, *gaps, *note_gaps(examples)]
    modalities = ("image", "question", *(["hint"] if "hint" in examples.columns else []))
    return Dataset(stem(path), examples, all_images, modalities, counts=count_table(counts))


def _read_problems(path: Path) -> CountedTable:
    parts, skipped = [], 0
    for source in find_sources(path, {".json"}):
        content = decode_json(source, source.read())
        if isinstance(content, dict) and any(map(_is_problem, content.values())):
            parts.append(tabulate_fields(with_keys(content), _FIELDS))
        else:
            skipped += 1
    if not parts:
        advice = "give ScienceQA's problems.json or its folder, or read other data with the format 'table'"
        raise FileFormatError(f"problems as {{id: {{question, choices, ...}}}} in {path}", "none", advice)
    filled = pl.concat(part.table for part in parts).with_columns(_fill_blank("file", "hint", *_KEPT))
    whole, damaged = drop_damaged(filled)
    named = name_by_index(whole)
    unique, repeats = drop_repeated(named.table)
    notes = [noted("file without problems, skipped", skipped), note_repeated_options(unique)]
    image = pl.when(pl.col("file").is_not_null()).then("id").alias("image")
    counts = [*(one for part in parts for one in part.counts), *damaged, *named.counts, *repeats, *notes]
    return CountedTable(unique.select("id", image, pl.exclude("id")), counts)


def _is_problem(value: object) -> bool:
    return isinstance(value, dict) and {"question", "choices"} <= value.keys()


def _fill_blank(*names: str) -> pl.Expr:
    """Make blank text null: most problems have an empty hint rather than none."""
    return pl.when(pl.col(names).str.strip_chars() != "").then(pl.col(names)).name.keep()


def _find_pictures(path: Path) -> Path | None:
    folder = (path if path.is_dir() else path.parent) / "images"
    return folder if folder.is_dir() else None


def read_scienceqa_results(files: Sequence[AnswerFile], options: LogOptions) -> CountedTable:  # noqa: ARG001 - part of the contract
    """Read the option that was chosen for each problem; -1 says that none was found in what the model said."""
    rows: list[AnswerRow] = []
    for file in files:
        results, outputs = (_by_id(member(file.value, name)) for name in ("results", "outputs"))
        rows += [_read_choice(key, results.get(key), outputs.get(key)) for key in outputs | results]
    return CountedTable(tabulate_answers(rows), [])


def _by_id(value: object) -> dict[str, object]:
    return value if isinstance(value, dict) else {}


def _read_choice(key: str, chosen: object, said: object) -> AnswerRow:
    index = read_whole_number(chosen)
    letter = ascii_uppercase[index] if index is not None and index < len(ascii_uppercase) else None
    raw = write_answer(said)
    status = "ok" if letter is not None else "failed" if raw is None else "unparsed"
    return AnswerRow(key, letter, raw, status)
