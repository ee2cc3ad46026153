"""Read the logs of HELM and VHELM: `scenario_state.json` of a run, else its `display_predictions.json`.

A question with options is asked with letters that `output_mapping` explains, so the answer is an option's text. The id
is that of the instance, which counts within the scenario unless the scenario names it. Trials with other examples in
the prompt, and further completions, are draws. Perturbed copies of a question are other questions and are dropped.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path, PurePosixPath
from string import ascii_uppercase

from eyechart.base.errors import FileFormatError
from eyechart.data.dataset import Dataset
from eyechart.formats.answer_files import AnswerFile
from eyechart.formats.description import described
from eyechart.formats.log_questions import LoggedQuestion, find_logs, make_dataset
from eyechart.formats.log_rows import (
    AnswerRow,
    LogOptions,
    Sample,
    check_one_model,
    count_draws,
    list_pictures,
    member,
    read_text,
    read_whole_number,
    tabulate_answers,
    tell_apart,
    write_answer,
    write_key,
)
from eyechart.formats.rows import CountedTable, dropped

STATE = "request_states"
DRAWS = 1_000  # more than the completions of any request


def read_helm_log(files: Sequence[AnswerFile], options: LogOptions) -> CountedTable:  # noqa: ARG001 - part of the contract
    """Read the completion of each instance, and the option that its letter stands for."""
    entries = list(_read_entries(files))
    samples = [(part, entry) for part, entry in entries if isinstance(entry, dict)]
    plain = [(part, sample) for part, sample in samples if _perturbation(sample) is None]
    if any(sample.get("reference_index") is not None for _, sample in plain):
        found = "a request for each option, of which the likeliest counts (multiple_choice_separate)"
        advice = "run it again with the method multiple_choice_joint"
        raise FileFormatError(f"one answer to each question in {files[0].source.name}", found, advice)
    check_one_model((member(sample, "request", "model") for _, sample in plain), files[0].source.name)
    ids = [write_key(member(sample, "instance", "id") or sample.get("instance_id")) for _, sample in plain]
    told, notes = tell_apart(ids, [part for part, _ in plain])
    rows = [row for (_, sample), key in zip(plain, told, strict=True) for row in _read_rows(sample, key)]
    counts = [
        dropped("entry that is not a record", len(entries) - len(samples)),
        dropped("perturbed copy of a question", len(samples) - len(plain)),
    ]
    return CountedTable(count_draws(tabulate_answers(rows)), [*counts, *notes])


def _read_entries(files: Sequence[AnswerFile]) -> Iterator[tuple[str, object]]:
    """Yield the requests of each run, with the name of its folder, from the one file that tells most."""
    for folder, run in groupby(sorted(files, key=_folder), key=_folder):
        best = min(run, key=lambda file: STATE not in file.names)
        requests = member(best.value, STATE) if STATE in best.names else best.records
        yield from ((PurePosixPath(folder).name, one) for one in (requests if isinstance(requests, list) else ()))


def _folder(file: AnswerFile) -> str:
    return str(PurePosixPath(file.source.name).parent)


def _perturbation(sample: Sample) -> object:
    return member(sample, "instance", "perturbation") or sample.get("perturbation")


def _read_rows(sample: Sample, key: str | None) -> Iterator[AnswerRow]:
    """Make a row for each completion; a draw is known by its trial, then by its place."""
    options = _list_options(sample.get("output_mapping"))
    trial = (read_whole_number(sample.get("train_trial_index")) or 0) * DRAWS
    for place, (said, stop) in enumerate(_completions(sample)):
        status = "refused" if stop == "content_filter" else "failed" if said is None else "ok"
        mapped = sample.get("mapped_output")
        answer = mapped if isinstance(mapped, str) else said
        yield AnswerRow(key, answer if status != "failed" else None, said, status, trial + place, options=options)


def _completions(sample: Sample) -> list[tuple[str | None, object]]:
    """List what the model said, and why it stopped; a request that failed has one completion without a text."""
    if "predicted_text" in sample:
        return [(write_answer(sample["predicted_text"]), None)]
    result = sample.get("result")
    completions = member(result, "completions")
    if member(result, "success") is not True or not isinstance(completions, list) or not completions:
        return [(None, None)]
    return [(write_answer(member(one, "text")), member(one, "finish_reason", "reason")) for one in completions]


def _list_options(mapping: object) -> list[str] | None:
    """List the options by their letters, A to the last."""
    if not isinstance(mapping, dict) or not mapping:
        return None
    listed = [mapping.get(letter) for letter in ascii_uppercase[: len(mapping)]]
    return [text for text in listed if isinstance(text, str)] if all(isinstance(text, str) for text in listed) else None


@described(
    needs="the folder of a run of HELM, with its scenario_state.json",
    sample='{"adapter_spec": {...}, "request_states": [{"instance": {"input": {"text": "Which bus?"},\n'
    '  "references": [{"output": {"text": "red"}, "tags": ["correct"]}, ...], "split": "test", "id": "id7"}, ...}]}',
    signs=("adapter_spec", "request_states", "instance", "references"),
)
def read_helm(path: Path, *, split: str | None = None) -> Dataset:
    """Read the instances; several references of which some are right are options. Pictures stay where they are."""
    files = [file for file in find_logs(path, "helm") if STATE in file.names]
    entries = [(part, one) for part, one in _read_entries(files) if isinstance(one, dict)]
    plain = [(part, one) for part, one in entries if _perturbation(one) is None]
    ids = [write_key(member(one, "instance", "id")) for _, one in plain]
    told, notes = tell_apart(ids, [part for part, _ in plain])
    questions = (_read_question(member(one, "instance"), key) for (_, one), key in zip(plain, told, strict=True))
    lost = dropped("perturbed copy of a question", len(entries) - len(plain))
    return make_dataset(path, questions, [lost, *notes], split=split)


def _read_question(instance: object, key: str | None) -> LoggedQuestion:
    references = member(instance, "references")
    pairs = [
        (write_answer(member(one, "output", "text")), "correct" in str(member(one, "tags")))
        for one in (references if isinstance(references, list) else ())
    ]
    known = [(text, right) for text, right in pairs if text is not None]
    right = [text for text, is_right in known if is_right]
    options = [text for text, _ in known] if len(right) < len(known) else None
    media = member(instance, "input", "multimedia_content", "media_objects")
    texts = [member(instance, "input", "text"), read_text(media)]
    prompt = "\n".join(text for text in texts if isinstance(text, str) and text)
    own = write_key(member(instance, "split"))
    return LoggedQuestion(key, prompt, options, right, list_pictures(media), own)
