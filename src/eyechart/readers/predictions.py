"""Read a model's answers from a file, whoever wrote it.

The file is known by its content: the log of a tool (see `logs`), or else a table. Rows in = rows read + rows dropped;
which ids a dataset misses is for the caller to say.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import polars as pl

from eyechart.errors import SettingError
from eyechart.probes import OWN
from eyechart.readers.counting import Count, Sifted, count_table, noted, read_rows, sift
from eyechart.readers.logs import LOG_FORMATS
from eyechart.readers.logs.content import ANSWER_SUFFIXES, Content
from eyechart.readers.logs.log import Wanted
from eyechart.readers.logs.mistakes import find_aggregate, refuse_dataset_folder
from eyechart.readers.logs.recognising import recognise
from eyechart.readers.source import find_sources


class PredictionFile(NamedTuple):
    """Answers by id (and condition and draw, where the file has them), and what became of every row."""

    answers: pl.DataFrame
    counts: pl.DataFrame


def read_predictions(
    path: Path,
    map: dict[str, str] | None = None,  # noqa: A002 - as in read_table
    *,
    format: str = "auto",  # noqa: A002 - the word people look for
    scorer: str | None = None,
    unfinished: bool = False,
) -> PredictionFile:
    """Read the answers in a file, folder or archive.

    `map` says which column of a table is ours; `format` names the log format where it is not to be found out; `scorer`
    chooses whose answers count where several scorers or filters extracted one; `unfinished` takes what a run that was
    not completed has logged.
    """
    refuse_dataset_folder(path)
    contents = [Content(source) for source in find_sources(path, ANSWER_SUFFIXES)]
    wanted = Wanted(map or None, scorer, unfinished)
    sound, notes = _pass_over_aggregates(contents) if format == "auto" else (contents, [])
    logs = [LOG_FORMATS.get(name)(part, wanted) for name, part in _sort(sound, format, wanted).items()]
    answers = _complete(_merge([log.answers for log in logs]))
    counts = [*notes, *(count for log in logs for count in log.counts)]
    whole, lost = sift(answers, _faults(answers))
    once, again = _keep_first(whole)
    silent = noted("id with no answer", once["answer"].null_count())
    return PredictionFile(once, count_table([read_rows(once.height), *lost, *again, silent, *counts]))


def _sort(contents: Sequence[Content], name: str, wanted: Wanted) -> dict[str, list[Content]]:
    """Put the files of each format together; a map tells of a table."""
    if wanted.map is not None and name not in ("auto", "table"):
        raise SettingError("a map for a table alone", f"one for the log format {name!r}", "leave the map out")
    if name == "auto" and wanted.map is not None:
        name = "table"
    parts: dict[str, list[Content]] = {}
    for content in contents:
        parts.setdefault(recognise(content) if name == "auto" else name, []).append(content)
    return parts


class Sound(NamedTuple):
    """The files that may hold answers, and a note of those that do not."""

    contents: list[Content]
    notes: list[Count]


def _pass_over_aggregates(contents: list[Content]) -> Sound:
    """Leave out the aggregates that tools put beside their samples; alone, they are an error."""
    found = [(content, find_aggregate(content)) for content in contents]
    sound = [content for content, error in found if error is None]
    errors = [error for _, error in found if error is not None]
    if errors and not sound:
        raise errors[0]
    return Sound(sound, [noted("file of aggregates beside the answers, passed over", len(errors))])


def _merge(tables: list[pl.DataFrame]) -> pl.DataFrame:
    if any("draw" in table.columns for table in tables):
        tables = [table if "draw" in table.columns else table.with_columns(draw=pl.lit(0)) for table in tables]
    return pl.concat(tables, how="diagonal_relaxed")


def _complete(answers: pl.DataFrame) -> pl.DataFrame:
    """Fill the conditions and statuses that some rows do not say."""
    usual = pl.when(pl.col("answer").is_null()).then(pl.lit("failed")).otherwise(pl.lit("ok"))
    defaults = {"condition": pl.lit(OWN), "status": usual}
    return answers.with_columns(pl.col(name).fill_null(defaults[name]) for name in defaults if name in answers.columns)


def _faults(answers: pl.DataFrame) -> dict[str, pl.Expr]:
    faults = {"answer without an id": pl.col("id").is_null()}
    if "draw" in answers.columns:
        faults["answer whose draw is no whole number"] = pl.col("draw").is_null()
    return faults


def _keep_first(table: pl.DataFrame) -> Sifted:
    """Keep the first answer to each id under each condition in each draw, and say whether the others agree with it."""
    key = [name for name in ("id", "condition", "draw") if name in table.columns]
    again = ~pl.struct(key).is_first_distinct()
    same = pl.col("answer").eq_missing(pl.col("answer").first().over(key))
    return sift(table, {"id answered before, same answer": again & same, "id answered before, other answer": again})
