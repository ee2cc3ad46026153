"""Read the details of lighteval, `details_<task>_<date>.parquet`: what it asked, what the model said, and its metrics.

Several responses to a question are draws. Where a task has the likelihoods of options, the likeliest is the answer;
continuations that are only letters stand for the options in the query. The id is one in the `specific` of the doc,
else the number of the row in the split.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from eyechart.data.dataset import Dataset
from eyechart.formats.answer_files import AnswerFile
from eyechart.formats.description import described
from eyechart.formats.lm_eval import DOC_KEYS, choose_likeliest, find_key
from eyechart.formats.log_questions import LoggedQuestion, find_logs, make_dataset
from eyechart.formats.log_rows import (
    AnswerRow,
    LogOptions,
    Sample,
    member,
    read_options,
    settle_ids,
    tabulate_answers,
    write_key,
)
from eyechart.formats.rows import CountedTable, RowCount, dropped


def read_lighteval_log(files: Sequence[AnswerFile], options: LogOptions) -> CountedTable:  # noqa: ARG001 - part of the contract
    """Read the responses to each doc."""
    samples = _read_samples(files)
    counts = [dropped("entry that is not a record", sum(file.table.strays for file in files))]
    ids, notes = _find_ids(samples)
    rows = [row for (_, sample), key in zip(samples, ids, strict=True) for row in _read_rows(sample, key)]
    return CountedTable(tabulate_answers(rows), [*counts, *notes])


def _read_samples(files: Sequence[AnswerFile]) -> list[tuple[str, Sample]]:
    """List the details, each with the name of its task."""
    return [(_task(file), sample) for file in files for sample in file.table.table.iter_rows(named=True)]


def _find_ids(samples: list[tuple[str, Sample]]) -> tuple[list[str | None], list[RowCount]]:
    named = [find_key([member(sample, "doc", "specific")], DOC_KEYS) for _, sample in samples]
    numbers = [write_key(member(sample, "doc", "id")) for _, sample in samples]
    return settle_ids(named, numbers, [task for task, _ in samples])


def _task(file: AnswerFile) -> str:
    """Return the name of a file without the date: details_quiz|0."""
    return PurePosixPath(file.source.name).stem.rpartition("_")[0]


def _read_rows(sample: Sample, key: str | None) -> Iterator[AnswerRow]:
    options = read_options(member(sample, "doc", "query"))
    said = _texts(member(sample, "model_response", "text"))
    final = _texts(member(sample, "model_response", "text_post_processed"))
    logprobs = member(sample, "model_response", "logprobs")
    choices = _texts(member(sample, "doc", "choices"))
    if not said and isinstance(logprobs, list) and logprobs:
        yield choose_likeliest(key, logprobs, [text.strip() for text in choices], options)
    elif not said:
        yield AnswerRow(key, None, None, "failed")
    for draw, raw in enumerate(said):
        answer = final[draw] if len(final) == len(said) else raw
        yield AnswerRow(key, answer, raw, "ok", draw, options=options)


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


@described(
    needs="the Parquet files of lighteval's details, which it writes if told to save them",
    sample='{"doc": {"query": "Which bus?", "choices": [" red", " blue"], "gold_index": 0, "id": "7", ...},\n'
    '  "metric": {...}, "model_response": {...}}',
)
def read_lighteval(path: Path, *, split: str | None = None) -> Dataset:
    """Read the docs: the query, the choices where several are, and the golds. Pictures are not among them."""
    samples = _read_samples(find_logs(path, "lighteval"))
    ids, notes = _find_ids(samples)
    questions = (_read_question(member(sample, "doc"), key) for (_, sample), key in zip(samples, ids, strict=True))
    return make_dataset(path, questions, notes, split=split)


def _read_question(doc: object, key: str | None) -> LoggedQuestion:
    query = member(doc, "query")
    choices = [text.strip() for text in _texts(member(doc, "choices"))]
    index = member(doc, "gold_index")
    wanted = [index] if isinstance(index, int) else index if isinstance(index, list) else []
    golds = [choices[one] for one in wanted if isinstance(one, int) and 0 <= one < len(choices)]
    options = read_options(query) or (choices if len(set(choices)) > len(set(golds)) else None)
    return LoggedQuestion(key, query if isinstance(query, str) else None, options, golds)
