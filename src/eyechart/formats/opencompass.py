"""Read the predictions of OpenCompass, `predictions/<model>/<dataset>.json`: `{"0": {"origin_prompt", "prediction"}}`.

The id is the row's number in its dataset. A dataset that was cut into parts, `<dataset>_0.json` and so on, is one
again: the numbers of a part go on where those of the part before end. The options are read from the prompt.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path, PurePosixPath

from eyechart.data.dataset import Dataset
from eyechart.formats.answer_files import AnswerFile
from eyechart.formats.description import described
from eyechart.formats.log_questions import LoggedQuestion, find_logs, make_dataset
from eyechart.formats.log_rows import (
    AnswerRow,
    LogOptions,
    Sample,
    member,
    read_options,
    read_text,
    read_whole_number,
    tabulate_answers,
    tell_apart,
    write_answer,
)
from eyechart.formats.rows import CountedTable, dropped, noted

_PART = re.compile(r"(.+)_(\d+)")


def read_opencompass_log(files: Sequence[AnswerFile], options: LogOptions) -> CountedTable:  # noqa: ARG001 - part of the contract
    """Read the prediction for each row of a dataset."""
    rows: list[AnswerRow] = []
    names: list[str] = []
    strays = rounds = 0
    for name, number, sample in _number_rows(files):
        if not isinstance(sample, dict):
            strays += 1
        elif isinstance(sample.get("prediction"), list) and isinstance(sample.get("gold"), list):
            rounds += 1
        else:
            answers = list(_read_answers(sample, number))
            rows += answers
            names += [name] * len(answers)
    ids, told = tell_apart([row.id for row in rows], names)
    table = tabulate_answers(row._replace(id=key) for row, key in zip(rows, ids, strict=True))
    counts = [
        dropped("entry that is not a record", strays),
        dropped("conversation of several rounds", rounds),
        noted("id is the row's number in its dataset", table.height),
    ]
    return CountedTable(table, [*counts, *told])


def _number_rows(files: Sequence[AnswerFile]) -> Iterator[tuple[str, str | None, object]]:
    """Yield the entries of each dataset, with its name and their number in it."""
    for name, parts in groupby(sorted(files, key=_part), key=lambda file: _part(file)[0]):
        start = 0
        for file in parts:
            entries = _entries(file)
            for key, sample in entries:
                number = read_whole_number(key)
                yield name, None if number is None else str(start + number), sample
            start += len(entries)


def _part(file: AnswerFile) -> tuple[str, int]:
    """Return the dataset that a file holds a part of, and the number of the part."""
    path = PurePosixPath(file.source.name)
    found = _PART.fullmatch(path.stem)
    return (f"{path.parent}/{found[1]}", int(found[2])) if found else (f"{path.parent}/{path.stem}", -1)


def _entries(file: AnswerFile) -> list[tuple[object, object]]:
    whole = file.value
    if isinstance(whole, dict):
        return list(whole.items())
    lines = whole if isinstance(whole, list) else []
    return [(one.get("idx") if isinstance(one, dict) else None, one) for one in lines]


def _read_answers(sample: Sample, key: str | None) -> Iterator[AnswerRow]:
    said = sample.get("prediction")
    options = read_options(_read_prompt(sample.get("origin_prompt")))
    for draw, value in enumerate(said if isinstance(said, list) and said else [said]):
        text = write_answer(value)
        yield AnswerRow(key, text, text, "failed" if text is None else "ok", draw, options=options)


def _read_prompt(prompt: object) -> str | None:
    """Join the texts that the user said; a prompt for a base model is one text."""
    if not isinstance(prompt, list):
        return read_text(prompt)
    turns = [one for one in prompt if isinstance(one, dict) and one.get("role") != "BOT"]
    return "\n".join(text for text in (read_text(one.get("prompt")) for one in turns) if text)


@described(
    needs="the predictions of OpenCompass, of a version that writes the references beside them",
    sample='{"0": {"origin_prompt": [{"role": "HUMAN", "prompt": "Which bus?\\nA. red\\nB. blue"}],\n'
    '  "prediction": "A", "gold": "A"}, ...}',
    signs=("origin_prompt", "prediction", "gold"),
)
def read_opencompass(path: Path, *, split: str | None = None) -> Dataset:
    """Read the prompts and references; there are no pictures in these logs."""
    samples = list(_number_rows(find_logs(path, "opencompass")))
    ids, notes = tell_apart([key for _, key, _ in samples], [name for name, _, _ in samples])
    questions = [_read_question(sample, key) for (_, _, sample), key in zip(samples, ids, strict=True)]
    return make_dataset(path, questions, notes, split=split)


def _read_question(sample: object, key: str | None) -> LoggedQuestion:
    prompt = _read_prompt(member(sample, "origin_prompt"))
    gold = member(sample, "gold")
    listed = [write_answer(one) for one in (gold if isinstance(gold, list) else [gold])]
    return LoggedQuestion(key, prompt, read_options(prompt), [text for text in listed if text])
