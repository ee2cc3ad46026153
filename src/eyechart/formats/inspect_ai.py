"""Read the logs of inspect_ai, and write the questions of a run as its samples and tasks.

A log is an `.eval` archive, compressed either way, with samples whole or in chunks, or a `.json` file. The answer of a
sample is what its scorer extracted, else the text that the model completed. Epochs become draws. How a sample was
scored is not read: eyechart scores answers itself.
"""

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from eyechart.base.errors import FileFormatError
from eyechart.base.files import replacing
from eyechart.base.registry import unknown_name
from eyechart.data.dataset import Dataset
from eyechart.data.store import Store
from eyechart.formats.answer_files import AnswerFile, decode_loosely
from eyechart.formats.description import described
from eyechart.formats.exports import Guide, PromptTable, export_prompts
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
    read_text,
    read_whole_number,
    tabulate_answers,
    write_answer,
    write_key,
)
from eyechart.formats.rows import CountedTable, RowCount, dropped, noted
from eyechart.formats.sources import ZipBytes
from eyechart.language.prompts import place_pictures

OUR_FIELD = "eyechart"  # the condition, in the metadata of our own exports
TASKS = "tasks.py"
ATTACHMENT = "attachment://"  # before the hash under which a log keeps a long text, such as a picture
_MEMBER = re.compile(r"samples/.+_epoch_\d+(\.json|/sample\.json)", re.DOTALL)
_GUIDE = Guide(
    "Inspect", lambda _: "inspect eval tasks.py --model MODEL --log-dir logs      # or tasks.py@ask_NAME", "logs"
)
_HEAD = '''\
"""The questions of a run of eyechart, a task for each condition; Inspect asks, eyechart judges."""

from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.solver import generate

HERE = Path(__file__).parent
'''
_TASK = '''

@task
def {name}():
    """Ask under the condition {condition}."""
    return Task(dataset=json_dataset(str(HERE / "{name}.jsonl")), solver=generate())
'''

_Extracted: TypeAlias = dict[str, str | None]  # an answer by each scorer


def read_inspect_log(files: Sequence[AnswerFile], options: LogOptions) -> CountedTable:
    """Read the samples of finished logs, and of unfinished ones if the options say so."""
    rows: list[AnswerRow] = []
    extracted: list[_Extracted] = []
    strays, models = 0, []
    for file in files:
        header, samples = _open(file)
        status = str(member(header, "status") or "started")
        if status != "success" and not options.unfinished:
            advice = "complete it with `inspect eval-retry`, or take the samples it has with unfinished=yes"
            raise FileFormatError(f"a finished run in {file.source.name}", f"status {status!r}", advice)
        models.append(member(header, "eval", "model"))
        for sample in samples:
            if isinstance(sample, dict):
                rows.append(_read_row(sample))  # frees the rest of the sample, which can be large
                extracted.append(_read_extracted(sample))
            else:
                strays += 1
    check_one_model(models, files[0].source.name)
    scorer, counts = _choose_scorer(rows, extracted, options.scorer)
    answers = (_put_answer(row, by_scorer.get(str(scorer))) for row, by_scorer in zip(rows, extracted, strict=True))
    return CountedTable(
        count_draws(tabulate_answers(answers)), [dropped("entry that is not a record", strays), *counts]
    )


def export_inspect(store: Store, folder: Path) -> dict[str, int]:
    """Write the questions of a run as samples and a task for each condition, for Inspect to ask."""
    tasks = [_HEAD]

    def write(prompts: PromptTable, folder: Path) -> str:
        tasks.append(_TASK.format(name=f"ask_{prompts.name}", condition=json.dumps(prompts.condition)))
        return write_inspect(prompts, folder)

    written = export_prompts(store, folder, write, _GUIDE)
    with replacing(folder / TASKS) as draft:
        draft.write_text("".join(tasks), encoding="utf-8")
    return written | {TASKS: len(tasks) - 1}


def write_inspect(prompts: PromptTable, folder: Path) -> str:
    """Write the samples of a condition, and return their file's name."""
    name = f"ask_{prompts.name}.jsonl"
    metadata = {"metadata": {OUR_FIELD: prompts.condition}}
    with replacing(folder / name) as draft:
        samples = (_make_sample(row) | metadata for row in prompts.table.iter_rows(named=True))
        lines = (json.dumps(sample, ensure_ascii=False) for sample in samples)
        draft.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return name


def _open(file: AnswerFile) -> tuple[object, Iterable[object]]:
    return _open_archive(file) if file.source.suffix == ".eval" else _open_json(file)


def _open_archive(file: AnswerFile) -> tuple[object, Iterable[object]]:
    """Return the header of an archive, and its samples, decoded one by one."""
    archive = ZipBytes(file.source.name, file.data)
    names = archive.names()
    header = decode_loosely(file.source, archive.read("header.json")) if "header.json" in names else {}
    members = [name for name in names if _MEMBER.fullmatch(name)]
    if not members and not any(name in names for name in ("header.json", "_journal/start.json")):
        found = "an archive without a header and samples"
        raise FileFormatError(f"a log of inspect_ai in {file.source.name}", found, "give an .eval file")
    samples = (
        decode_loosely(file.source._replace(name=f"{file.source.name}/{name}"), archive.read(name)) for name in members
    )
    return header, samples


def _open_json(file: AnswerFile) -> tuple[object, Iterable[object]]:
    """Return a whole JSON log as its header, and its samples."""
    samples = member(file.value, "samples")
    if not isinstance(samples, list):
        advice = "run it again with samples logged"
        raise FileFormatError(f"samples in the log {file.source.name}", "a log without samples", advice)
    return file.value, samples


def _read_row(sample: Sample) -> AnswerRow:
    """Read a sample with the model's whole completion as its answer."""
    output = sample.get("output")
    completion = _completion(output)
    failed = sample.get("error") is not None
    refused = _stop_reason(output) == "content_filter"
    return AnswerRow(
        id=write_key(sample.get("id")),
        answer=completion,
        raw=completion,
        status="failed" if failed else "refused" if refused else "ok",
        draw=read_whole_number(sample.get("epoch")) or 1,
        condition=write_key(member(sample, "metadata", OUR_FIELD)),
        options=_options(sample),
    )


def _options(sample: Sample) -> list[str] | None:
    """List the options in the order of their letters, as the sample has them or else its last message."""
    choices = sample.get("choices")
    if isinstance(choices, list) and choices and all(isinstance(one, str) for one in choices):
        return choices
    asked = sample.get("input")
    last = member(asked[-1], "content") if isinstance(asked, list) and asked else asked
    return read_options(read_text(last))


def _read_extracted(sample: Sample) -> _Extracted:
    """Read the answer that each scorer extracted."""
    scores = sample.get("scores")
    if not isinstance(scores, dict):
        scores = {"score": sample["score"]} if isinstance(sample.get("score"), dict) else {}  # in early versions
    return {str(name): write_answer(member(score, "answer")) for name, score in scores.items()}


def _completion(output: object) -> str | None:
    text = member(output, "completion")
    if isinstance(text, str):
        return text
    return read_text(member(_first_choice(output), "message", "content"))


def _stop_reason(output: object) -> object:
    return member(output, "stop_reason") or member(_first_choice(output), "stop_reason")


def _first_choice(output: object) -> object:
    choices = member(output, "choices")
    return choices[0] if isinstance(choices, list) and choices else None


def _choose_scorer(
    rows: list[AnswerRow], extracted: list[_Extracted], chosen: str | None
) -> tuple[str | None, list[RowCount]]:
    names = tuple(dict.fromkeys(name for by_scorer in extracted for name in by_scorer))
    if chosen is not None and chosen not in names:
        raise unknown_name("scorer of this log", chosen, names)
    scorer = chosen or next(iter(names), None)
    pairs = zip(rows, extracted, strict=True)
    bare = sum(by_scorer.get(str(scorer)) is None and row.raw is not None for row, by_scorer in pairs)
    counts = [noted("answer is the whole completion: no scorer extracted one", bare)]
    if chosen is None and len(names) > 1:
        counts.append(noted(f"answer by scorer {scorer!r}, the first of {', '.join(names)}", len(rows)))
    return scorer, counts


def _put_answer(row: AnswerRow, extracted: str | None) -> AnswerRow:
    """Replace the completion by the extracted answer, if there is one."""
    answer = row.answer if extracted is None else extracted
    if row.status == "failed" or (answer is None and row.status != "refused"):
        return row._replace(answer=None, status="failed")
    return row._replace(answer=answer)


def message_parts(prompt: str, paths: Sequence[str]) -> list[dict[str, str]]:
    """Write the texts and pictures of a prompt in order: pictures stand where it names them, else in front."""
    parts = place_pictures(prompt, len(paths))
    return [
        {"type": "image", "image": paths[part]} if isinstance(part, int) else {"type": "text", "text": part}
        for part in parts
    ]


def _make_sample(row: dict[str, Any]) -> dict[str, Any]:
    content = message_parts(row["prompt"], row["pictures"])
    return {"id": row["id"], "input": [{"role": "user", "content": content}], "target": ""}


@described(
    needs="logs of inspect_ai, .eval or .json",
    sample='{"version": 2, "status": "success", "eval": {...}, "samples": [{"id": "7", "epoch": 1,\n'
    '  "input": "Which bus?", "choices": ["red", "blue"], "target": "A", ...}]}',
    signs=('"samples"', '"eval"', '"status"', '"epoch"'),
)
def read_inspect(path: Path, *, pictures: Path | None = None, split: str | None = None) -> Dataset:
    """Read the samples: input, choices and target; `pictures` is a folder to write the pictures in them to."""
    entries = [one for file in find_logs(path, "inspect") for one in _open(file)[1]]
    samples = [one for one in entries if isinstance(one, dict)]
    strays = dropped("entry that is not a record", len(entries) - len(samples))
    return make_dataset(path, map(_read_question, samples), [strays], pictures=pictures, split=split)


def _read_question(sample: Sample) -> LoggedQuestion:
    asked = sample.get("input")
    content = member(asked[-1], "content") if isinstance(asked, list) and asked else asked
    target = sample.get("target")
    references = [write_answer(one) for one in (target if isinstance(target, list) else [target])]
    attached = sample.get("attachments")
    texts = attached if isinstance(attached, dict) else {}
    seen = [str(texts.get(one.removeprefix(ATTACHMENT), one)) for one in list_pictures(content)]
    known = [text for text in references if text]
    return LoggedQuestion(write_key(sample.get("id")), read_text(content), _options(sample), known, seen)
