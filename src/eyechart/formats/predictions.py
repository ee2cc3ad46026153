"""Read a model's answers from a file, whichever tool wrote it.

The file is recognised by its content as the log of a tool in `LOG_FORMATS`, else it is read as a table: the official
VQA results `[{"question_id": 1, "answer": "yes"}]`, GQA's `[{"questionId": ..., "prediction": ...}]`, `{id: answer}`,
`{id: [tokens]}`, or any other whose columns have our names, their usual aliases or the names in a map. Rows in = rows
read + rows dropped; the ids of a dataset without an answer are for the caller to count.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import polars as pl

from eyechart.base.errors import FileFormatError, SettingError, and_more
from eyechart.base.registry import Registry
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.formats.answer_columns import type_answers
from eyechart.formats.answer_files import (
    ANSWER_NAMES,
    ANSWER_SUFFIXES,
    AnswerFile,
    dataset_error,
    find_aggregate,
    is_dataset,
    recognise,
    refuse_dataset_folder,
)
from eyechart.formats.choices import find_options
from eyechart.formats.log_folders import keep_newest
from eyechart.formats.log_rows import LogOptions, count_draws, keep_or_count_draws, write_answer
from eyechart.formats.names import ALIASES as DATA_ALIASES
from eyechart.formats.names import find_origins, looks_like_models, plain_name, rename
from eyechart.formats.records import Records, stack
from eyechart.formats.rows import (
    CountedTable,
    RowCount,
    count_table,
    drop_rows,
    dropped,
    find_unique_id,
    noted,
    read_rows,
)
from eyechart.formats.sources import SourceFile, find_sources

COLUMNS = ("id", "answer", "condition", "ranking", "scores", "draw", "raw", "status", "score_kind", "attention")
ALIASES: dict[str, tuple[str, ...]] = {
    "id": DATA_ALIASES["id"],
    "answer": (
        *("prediction", "pred", "text", "response", "output", "model_output", "model_answer", "model_response"),
        *("model_prediction", "generated_text", "generated_answer", "generation", "completion", "predicted_answer"),
        *("pred_answer", "llm_answer", "reply", "hypothesis"),
    ),
    "draw": ("epoch", "annotator"),
}
WITH_OTHER_FILES = {"evalscope", "helm", "lighteval", "opencompass"}


def read_answer_table(files: Sequence[AnswerFile], options: LogOptions) -> CountedTable:
    """Read answers as text: numbers as digits, lists of tokens joined by spaces."""
    sources = [file.source for file in files]
    tables = [_read_rows(file) for file in files]
    _refuse_others(tables, sources, options.map or {})
    records = stack(tables, sources)
    origin = f"{sources[0].name}{and_more(len(sources) - 1)}"
    chosen = _find_only_model(records.table, options.map or {})
    _check_columns(records.table, chosen, origin)
    renamed, counts = rename(records.table, COLUMNS, ALIASES, chosen)
    _require_columns(renamed, records.table, origin)
    table, more = type_answers(renamed, origin)
    if "draw" in table.columns:
        given = "draw" in chosen or "draw" in records.table.columns
        table = keep_or_count_draws(table) if given else count_draws(table)
    return CountedTable(table, [dropped("entry that is not a record", records.strays), *counts, *more])


def _refuse_others(tables: Sequence[Records], sources: Sequence[SourceFile], chosen: dict[str, str]) -> None:
    """Raise an error where some files have a column of answers and others do not: these are files of other things."""
    known = {plain_name(name) for name in (chosen.get("answer", "answer").split(".")[0], *ALIASES["answer"])}
    lacking = [
        source.name
        for part, source in zip(tables, sources, strict=True)
        if not any(plain_name(name) in known or _may_be_models(part.table[name]) for name in part.table.columns)
    ]
    if 0 < len(lacking) < len(tables):
        found = f"none in {lacking[0]}{and_more(len(lacking) - 1)}"
        advice = "give the files with the model's answers alone"
        raise FileFormatError(f"a column of answers in each of the {len(tables)} files", found, advice)


def _read_rows(file: AnswerFile) -> Records:
    answers = _answers_by_id(file)
    if not answers:
        return file.table
    columns = {"id": list(answers), "answer": [write_answer(value) for value in answers.values()]}
    return Records(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)))


def _answers_by_id(file: AnswerFile) -> dict[str, object]:
    """Return the content of `{id: answer}`; nothing of another file."""
    whole = file.value if file.is_json and not file.is_lines else None
    return whole if isinstance(whole, dict) and all(map(_is_answer, whole.values())) else {}


def _is_answer(value: object) -> bool:
    return not isinstance(value, dict) and not (isinstance(value, list) and any(isinstance(one, dict) for one in value))


def _find_only_model(table: pl.DataFrame, chosen: dict[str, str]) -> dict[str, str]:
    """Choose the only column whose name says that a model answered, where no other could hold the answers."""
    known = {"answer", *ALIASES["answer"]}
    if "answer" in chosen or known & {plain_name(name) for name in table.columns}:
        return chosen
    found = [name for name in table.columns if _may_be_models(table[name])]
    return {**chosen, "answer": found[0]} if len(found) == 1 else chosen


def _may_be_models(column: pl.Series) -> bool:
    return column.dtype == pl.String and column.name not in COLUMNS and looks_like_models(column.name)


def _asks(texts: pl.Series) -> bool:
    """Return whether most texts are questions."""
    return texts.dtype == pl.String and 2 * int(texts.str.contains(r"\?\s*$").sum()) > len(texts)


def _check_columns(table: pl.DataFrame, chosen: dict[str, str], origin: str) -> None:
    """Raise an error where the reference could be mistaken for the model's answer."""
    if "answer" in chosen:
        return
    names = frozenset(table.columns)
    if is_dataset(names):
        raise dataset_error(origin)
    others = [
        name for name in table.columns if name != "text" and (name in ALIASES["answer"] or _may_be_models(table[name]))
    ]
    if "answer" not in names and not others and "text" in names and _asks(table["text"]):
        raise dataset_error(origin)
    if "answer" in names and others:
        found = f"answer and {' and '.join(others)}, of which one may be the reference"
        raise SettingError(
            f"one column with the model's answers in {origin}", found, f"say which with map, such as answer={others[0]}"
        )


def _require_columns(table: pl.DataFrame, before: pl.DataFrame, origin: str) -> None:
    for name in ("id", "answer"):
        if name not in table.columns:
            found = f"columns {', '.join(before.columns) or 'none at all'}"
            advice = f"say which it is with map, as in predictions:FILE,{name}=theirs"
            raise SettingError(f"a column {name!r} in {origin}", found, advice)


LogReader: TypeAlias = Callable[[Sequence[AnswerFile], LogOptions], CountedTable]

LOG_FORMATS: Registry[LogReader] = Registry(
    "log format",
    {
        "table": "eyechart.formats.predictions:read_answer_table",
        "inspect": "eyechart.formats.inspect_ai:read_inspect_log",
        "eee": "eyechart.formats.eee:read_eee_log",
        "lmms-eval": "eyechart.formats.lmms_eval:read_lmms_eval_log",
        "lm-eval": "eyechart.formats.lm_eval:read_lm_eval_log",
        "vlmeval": "eyechart.formats.vlmeval:read_vlmeval_log",
        "llava": "eyechart.formats.llava:read_llava_log",
        "evalscope": "eyechart.formats.evalscope:read_evalscope_log",
        "helm": "eyechart.formats.helm:read_helm_log",
        "lighteval": "eyechart.formats.lighteval:read_lighteval_log",
        "opencompass": "eyechart.formats.opencompass:read_opencompass_log",
        "scienceqa": "eyechart.formats.scienceqa:read_scienceqa_results",
        "chat": "eyechart.formats.chat:read_chat_log",
    },
)


class PredictionFile(NamedTuple):
    """Answers by id (and condition and draw, where the file has them), and what became of every row."""

    answers: pl.DataFrame
    counts: pl.DataFrame
    layout: Mapping[str, str] = {}  # where they were read from: the formats of logs, or our column -> theirs


def read_predictions(
    path: str | Path,
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
    path = Path(path)
    refuse_dataset_folder(path)
    files = [AnswerFile(source) for source in find_sources(path, ANSWER_SUFFIXES)]
    options = LogOptions(map or None, scorer, unfinished)
    usable, skipped = _skip_aggregates(files) if format == "auto" else (files, [])
    groups, others = _leave_others(_group(usable, format, options))
    groups, older = keep_newest(groups)
    logs = [LOG_FORMATS.get(name)(part, options) for name, part in groups.items()]
    answers, named = _name_options(_fill_in(_concatenate([log.table for log in logs])))
    counts = [*skipped, *others, *older, *named, *(count for log in logs for count in log.counts)]
    whole, damaged = drop_rows(answers, _faults(answers))
    unique, repeats = _keep_first(whole)
    unanswered = noted("id with no answer", unique["answer"].null_count())
    table_of_counts = count_table([read_rows(unique.height), *damaged, *repeats, unanswered, *counts])
    if [*groups] != ["table"]:
        return PredictionFile(unique, table_of_counts, {"format": " and ".join(groups)})
    layout = _find_columns(groups["table"][0], options)
    if len(groups["table"]) == 1 and any(count.n for count in repeats) and "id" in layout:
        layout["unique id"] = ",".join(find_unique_id(_read_rows(groups["table"][0]).table, layout["id"]))
    return PredictionFile(unique, table_of_counts, layout)


def _find_columns(file: AnswerFile, options: LogOptions) -> dict[str, str]:
    """Return which columns of a table hold the answers: our name -> theirs."""
    table = _read_rows(file).table
    return find_origins(table, COLUMNS, ALIASES, _find_only_model(table, options.map or {}))[1]


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


def _leave_others(groups: dict[str, list[AnswerFile]]) -> tuple[dict[str, list[AnswerFile]], list[RowCount]]:
    """Leave out the files beside the logs of a tool that are no logs of it and hold no answers.

    Some tools write files of other things into the folder of a run, of which one can look like `{id: answer}`.
    """
    tables = groups.get("table", [])
    if len(groups) < 2:
        return groups, []
    others = [] if groups.keys() & WITH_OTHER_FILES else tables
    kept = [file for file in others if file.names & ANSWER_NAMES or _answers_by_id(file)]
    used = {name: kept if name == "table" else files for name, files in groups.items()}
    left = {name: files for name, files in used.items() if files}
    return left, [noted("file beside the logs, skipped", len(tables) - len(kept))]


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


def _name_options(answers: pl.DataFrame) -> CountedTable:
    """Replace letters by the options that the log lists for them: the data may list them in another order."""
    if "options" not in answers.columns:
        return CountedTable(answers, [])
    found = find_options(answers.select("answer", choices="options"))
    changed = int((found != answers["answer"]).sum())
    note = noted("letter replaced by the option that the log lists for it", changed)
    return CountedTable(answers.with_columns(answer=pl.coalesce(found, "answer")), [note])


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
