"""Read the logs of EvalScope: the lines of `reviews` and, for questions that were not reviewed, of `predictions`.

The answer is what the benchmark extracted, as a rule the letter of an option; the options are read from the prompt,
which is what the model was shown: with `shuffle_choices` they stand in another order than in the data. Repeats are
draws. A sample has the id that its metadata hold, else the number of its row in the subset.
"""

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.formats.answer_files import AnswerFile
from eyechart.formats.description import described
from eyechart.formats.lm_eval import DOC_KEYS, find_key
from eyechart.formats.log_questions import LoggedQuestion, find_logs, make_dataset
from eyechart.formats.log_rows import (
    AnswerRow,
    LogOptions,
    Sample,
    check_one_model,
    count_draws,
    list_pictures,
    member,
    read_options,
    read_samples,
    read_text,
    read_whole_number,
    settle_ids,
    tabulate_answers,
    write_answer,
    write_key,
)
from eyechart.formats.rows import CountedTable, RowCount, noted

_METADATA = (("sample_score", "sample_metadata"), ("metadata",))


class LoggedLine(NamedTuple):
    """A line of a log, and the name of its file: benchmark and subset."""

    sample: Sample
    part: str

    @property
    def reviewed(self) -> bool:
        """Return whether this is a review, which holds the answer that was extracted."""
        return "sample_score" in self.sample

    @property
    def place(self) -> tuple[str, str | None]:
        """Return what a prediction and its review share."""
        return self.part, write_key(self.sample.get("index"))


def read_evalscope_log(files: Sequence[AnswerFile], options: LogOptions) -> CountedTable:  # noqa: ARG001 - part of the contract
    """Read the answer of each sample, and number its repeats."""
    lines, counts = read_lines(files)
    check_one_model((_find_model(line.sample) for line in lines), files[0].source.name)
    ids, notes = find_ids(lines)
    table = tabulate_answers(_read_row(line.sample, key) for line, key in zip(lines, ids, strict=True))
    return CountedTable(count_draws(table), [*counts, *notes])


def read_lines(files: Sequence[AnswerFile]) -> tuple[list[LoggedLine], list[RowCount]]:
    """Read the lines of all files, without the predictions that the reviews repeat."""
    lines: list[LoggedLine] = []
    counts: list[RowCount] = []
    for file in files:
        samples, strays = read_samples([file])
        part = PurePosixPath(file.source.name.removesuffix(".gz")).stem
        lines += [LoggedLine(sample, part) for sample in samples]
        counts += strays
    reviews = {line.place for line in lines if line.reviewed}
    kept = [line for line in lines if line.reviewed or line.place[1] is None or line.place not in reviews]
    return kept, [*counts, noted("prediction whose review is read", len(lines) - len(kept))]


def find_ids(lines: Sequence[LoggedLine]) -> tuple[list[str | None], list[RowCount]]:
    """Return the ids in the metadata, or the numbers of the rows where no sample of a subset has one."""
    named = [find_key([member(line.sample, *path) for path in _METADATA], DOC_KEYS) for line in lines]
    _check_repeats([line for line, key in zip(lines, named, strict=True) if key is None])
    return settle_ids(named, [_row_number(line.sample) for line in lines], [line.part for line in lines])


def _check_repeats(lines: Sequence[LoggedLine]) -> None:
    """Refuse predictions of repeats that were not reviewed: their index counts repeats, not questions."""
    asked = [(line.part, str(_asked(line.sample))) for line in lines if not line.reviewed and _asked(line.sample)]
    if len(set(asked)) < len(asked):
        found = "predictions that repeat questions, and no reviews that number them"
        raise FileFormatError(f"an id for each question in {asked[0][0]}.jsonl", found, "give the folder of the run")


def _row_number(sample: Sample) -> str | None:
    score = sample.get("sample_score")
    numbers = (member(score, "group_id"), member(score, "sample_id"), sample.get("index"))
    return next((key for key in map(write_key, numbers) if key is not None), None)


def _read_row(sample: Sample, key: str | None) -> AnswerRow:
    score = member(sample, "sample_score", "score")
    choice = _first(member(sample, "model_output", "choices"))
    refused = member(choice, "stop_reason") == "content_filter"
    logged = (member(choice, "message", "content"), member(score, "prediction"), _last_said(sample))
    said = [text for text in map(read_text, logged) if text is not None]
    raw = next(filter(None, said), said[0] if said else None)
    extracted = write_answer(member(score, "extracted_prediction")) if score is not None else raw
    failed = raw is None or (member(sample, "model_output", "error") is not None and not refused)
    unparsed = not failed and not refused and not extracted and bool(raw)
    return AnswerRow(
        id=key,
        answer=None if failed or unparsed else extracted or raw,
        raw=raw,
        status="failed" if failed else "refused" if refused else "unparsed" if unparsed else "ok",
        draw=read_whole_number(sample.get("index")) or 0,
        options=read_options(_prompt(sample)),
    )


def _prompt(sample: Sample) -> str:
    return "\n".join(text for text in map(read_text, _asked(sample)) if text)


def _asked(sample: Sample) -> list[object]:
    """List the contents of the user's messages."""
    messages = sample.get("messages")
    turns = messages if isinstance(messages, list) else []
    return [member(turn, "content") for turn in turns if member(turn, "role") == "user"]


def _last_said(sample: Sample) -> object:
    """Return the content of the last message, if it is the model's."""
    messages = sample.get("messages")
    last = messages[-1] if isinstance(messages, list) and messages else None
    return member(last, "content") if member(last, "role") == "assistant" else None


def _find_model(sample: Sample) -> object:
    messages = sample.get("messages")
    turns = messages if isinstance(messages, list) else []
    said = [member(turn, "model") for turn in turns if member(turn, "role") == "assistant"]
    return sample.get("model") or next((name for name in said if isinstance(name, str) and name), None)


def _first(values: object) -> object:
    return values[0] if isinstance(values, list) and values else None


@described(
    needs="the folder of a run of EvalScope, or files of its reviews",
    sample='{"index": 0, "target": ["A"], "messages": [{"role": "user", "content": "Which bus?\\nA) red\\nB) blue"},\n'
    '  ...], "sample_score": {"score": {...}, "group_id": 0}}',
    signs=("sample_score", "extracted_prediction", "main_score_name", "group_id"),
)
def read_evalscope(path: Path, *, pictures: Path | None = None, split: str | None = None) -> Dataset:
    """Read the questions and targets of the reviews; `pictures` is a folder to write the pictures in them to."""
    lines, counts = read_lines(find_logs(path, "evalscope"))
    reviews = [line for line in lines if line.reviewed]
    ids, notes = find_ids(reviews)
    questions = (_read_question(line.sample, key) for line, key in zip(reviews, ids, strict=True))
    return make_dataset(path, questions, [*counts, *notes], pictures=pictures, split=split)


def _read_question(sample: Sample, key: str | None) -> LoggedQuestion:
    prompt = _prompt(sample)
    target = sample.get("target")
    listed = [write_answer(one) for one in (target if isinstance(target, list) else [target])]
    seen = [picture for content in _asked(sample) for picture in list_pictures(content)]
    texts = re.split(r"\n\s*\n", prompt)
    plain = "\n\n".join(text for text in texts if "[LETTER]" not in text)  # the tool's own instruction
    return LoggedQuestion(key, plain, read_options(prompt), [text for text in listed if text], seen)
