"""Read COCO-QA: four text files whose lines belong together, in a folder, an archive, or one folder for each split.

The id of a question is the number of its line from 0, after the name of the folder where that names a split (`train-0`)
or there are several folders. Lines of questions.txt = rows read + rows dropped.
"""

from pathlib import Path, PurePosixPath

import polars as pl

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
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
    read_rows,
)
from eyechart.formats.sources import SourceFile, find_sources, stem

_FILES = {"question": "questions.txt", "answer": "answers.txt", "image": "img_ids.txt", "question_type": "types.txt"}
_TYPES = {"0": "object", "1": "number", "2": "color", "3": "location"}


@described(
    needs="a folder with questions.txt, answers.txt, img_ids.txt and types.txt, or folders train and test of them",
    sample="what is the color of the bus\nhow many elephants walk through the grass",
)
def read_cocoqa(
    path: Path, *, split: str | None = None, detections: Path | None = None, images: Path | None = None
) -> Dataset:
    """Read the lines of four files as one table; `split` overrides the splits in folder names.

    `detections` is a file of the objects in each image, `images` a folder of picture files.
    """
    folders = _find_folders(path)
    tables = []
    for folder, files in folders.items():
        own = split_name(folder.name)
        label = f"{folder.name}-" if own or len(folders) > 1 else ""
        lines = _read_lines(folder, files)
        number = pl.int_range(pl.len()).cast(pl.String)
        tables.append(lines.with_columns(id=pl.lit(label) + number, split=pl.lit(split or own, pl.String)))
    examples, counts = _settle(pl.concat(tables))
    names = examples.select(pl.col("image").drop_nulls().unique().sort())
    all_images, gaps = gather_images(names, images, detections)
    counts = [read_rows(examples.height), *counts, *note_gaps(examples), *gaps]
    return Dataset(stem(path), examples, all_images, counts=count_table(counts))


def _find_folders(path: Path) -> dict[PurePosixPath, dict[str, SourceFile]]:
    """List the folders that hold questions.txt, each with its files by name."""
    folders: dict[PurePosixPath, dict[str, SourceFile]] = {}
    for source in find_sources(path, {".txt"}):
        file = PurePosixPath(Path(source.name).absolute().as_posix())
        folders.setdefault(file.parent, {})[file.name.removesuffix(".gz")] = source
    with_questions = {folder: files for folder, files in folders.items() if _FILES["question"] in files}
    if not with_questions:
        advice = "give the folder of COCO-QA, not one of its files"
        raise FileFormatError(f"a file {_FILES['question']} in {path}", "none", advice)
    return with_questions


def _read_lines(folder: PurePosixPath, files: dict[str, SourceFile]) -> pl.DataFrame:
    missing = [name for name in _FILES.values() if name not in files]
    if missing:
        found = f"no {' and no '.join(missing)}"
        raise FileFormatError(f"{', '.join(_FILES.values())} in {folder}", found, "add the missing files")
    columns = {name: _split_lines(files[file]) for name, file in _FILES.items()}
    n_questions = len(columns["question"])
    for name, lines in columns.items():
        if len(lines) != n_questions:
            expected = f"as many lines in {_FILES[name]} as in {_FILES['question']} of {folder}"
            found = f"{len(lines)} and {n_questions}"
            raise FileFormatError(
                expected, found, "create or download them again: line N of each file belongs to the same question"
            )
    return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))


def _split_lines(source: SourceFile) -> list[str]:
    try:
        text = source.read().decode()
    except UnicodeDecodeError as error:
        raise FileFormatError(
            f"text in {source.name}", f"bytes that are not UTF-8 ({error})", "save it as UTF-8"
        ) from None
    # Not splitlines: it would also split at rare separators that may occur inside a line.
    lines = text.removesuffix("\n").split("\n") if text else []
    return [line.strip() for line in lines]


def _settle(table: pl.DataFrame) -> CountedTable:
    optional = ("answer", "image", "question_type")
    filled = table.with_columns(pl.when(pl.col(optional) != "").then(pl.col(optional)).name.keep())
    typed = filled.with_columns(pl.col("question_type").replace(_TYPES))
    whole, damaged = drop_damaged(typed.select("id", "image", "question", "answer", "question_type", "split"))
    unique, repeats = drop_repeated(whole)
    return CountedTable(drop_empty_columns(unique, ["split"]), [*damaged, *repeats])
