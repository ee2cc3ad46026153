"""Read a model's answers from a file, whichever tool wrote it.

The file is recognised by its content as the log of a tool in `LOG_FORMATS`, else it is read as a table. Rows in = rows
read + rows dropped; the ids of a dataset without an answer are for the caller to count.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import polars as pl

from eyechart.base.errors import SettingError
from eyechart.base.registry import Registry
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.formats.answer_files import ANSWER_SUFFIXES, AnswerFile, find_aggregate, recognise, refuse_dataset_folder
from eyechart.formats.answers import LogOptions
from eyechart.formats.rows import CountedTable, RowCount, count_table, drop_rows, noted, read_rows
from eyechart.formats.sources import find_sources

LogReader: TypeAlias = Callable[[Sequence[AnswerFile], LogOptions], CountedTable]

LOG_FORMATS: Registry[LogReader] = Registry(
    "log format",
    {
        "table": "eyechart.formats.answer_table:read_answer_table",
        "inspect": "eyechart.formats.inspect_ai:read_inspect_log",
        "eee": "eyechart.formats.eee:read_eee_log",
        "lmms-eval": "eyechart.formats.lmms_eval:read_lmms_eval_log",
        "lm-eval": "eyechart.formats.lm_eval:read_lm_eval_log",
        "vlmeval": "eyechart.formats.vlmeval:read_vlmeval_log",
        "llava": "eyechart.formats.llava:read_llava_log",
    },
)


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

    `map` names the file's column for ours, in a table; `format` names the log format instead of recognising it;
    `scorer` chooses whose answers count where several scorers or filters extracted one; `unfinished` also reads the
    log of a run that was not completed.
    """
    refuse_dataset_folder(path)
    files = [AnswerFile(source) for source in find_sources(path, ANSWER_SUFFIXES)]
    options = LogOptions(map or None, scorer, unfinished)
    usable, skipped = _skip_aggregates(files) if format == "auto" else (files, [])
    logs = [LOG_FORMATS.get(name)(part, options) for name, part in _group(usable, format, options).items()]
    answers = _fill_in(_concatenate([log.table for log in logs]))
    counts = [*skipped, *(count for log in logs for count in log.counts)]
    whole, damaged = drop_rows(answers, _faults(answers))
    unique, repeats = _keep_first(whole)
    unanswered = noted("id with no answer", unique["answer"].null_count())
    return PredictionFile(unique, count_table([read_rows(unique.height), *damaged, *repeats, unanswered, *counts]))


def _group(files: Sequence[AnswerFile], name: str, options: LogOptions) -> dict[str, list[AnswerFile]]:
    """Group the files by format; with a map all are tables."""
    if options.map is not None and name not in ("auto", "table"):
        raise SettingError("a map only for a table", f"one for the log format {name!r}", "leave the map out")
    if name == "auto" and options.map is not None:
        name = "table"
    groups: dict[str, list[AnswerFile]] = {}
    for file in files:
        groups.setdefault(recognise(file) if name == "auto" else name, []).append(file)
    return groups


def _skip_aggregates(files: list[AnswerFile]) -> tuple[list[AnswerFile], list[RowCount]]:
    """Leave out the aggregates that tools write next to their samples; raise an error if there is nothing else."""
    checked = [(file, find_aggregate(file)) for file in files]
    usable = [file for file, error in checked if error is None]
    errors = [error for _, error in checked if error is not None]
    if errors and not usable:
        raise errors[0]
    return usable, [noted("file of aggregates next to the answers, skipped", len(errors))]


def _concatenate(tables: list[pl.DataFrame]) -> pl.DataFrame:
    if any("draw" in table.columns for table in tables):
        tables = [table if "draw" in table.columns else table.with_columns(draw=pl.lit(0)) for table in tables]
    return pl.concat(tables, how="diagonal_relaxed")


def _fill_in(answers: pl.DataFrame) -> pl.DataFrame:
    """Fill in missing conditions and statuses."""
    usual = pl.when(pl.col("answer").is_null()).then(pl.lit("failed")).otherwise(pl.lit("ok"))
    defaults = {"condition": pl.lit(PLAIN_CONDITION), "status": usual}
    return answers.with_columns(pl.col(name).fill_null(defaults[name]) for name in defaults if name in answers.columns)


def _faults(answers: pl.DataFrame) -> dict[str, pl.Expr]:
    faults = {"answer without an id": pl.col("id").is_null()}
    if "draw" in answers.columns:
        faults["answer whose draw is not a whole number"] = pl.col("draw").is_null()
    return faults


def _keep_first(table: pl.DataFrame) -> CountedTable:
    """Keep the first answer to each id under each condition in each draw, and count which others agree with it."""
    key = [name for name in ("id", "condition", "draw") if name in table.columns]
    repeats = ~pl.struct(key).is_first_distinct()
    same = pl.col("answer").eq_missing(pl.col("answer").first().over(key))
    return drop_rows(
        table, {"id answered before, same answer": repeats & same, "id answered before, other answer": repeats}
    )
