"""Read the logs of inspect_ai: `.eval` archives, packed either way, samples whole or in chunks, and `.json` logs.

The answer of a sample is what its scorer extracted, else the text that the model completed. Epochs become draws. How a
sample was scored is not read: eyechart scores answers itself.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from eyechart.errors import FileFormatError
from eyechart.readers.counting import Count, dropped, noted
from eyechart.readers.logs.content import Content, decode_loosely
from eyechart.readers.logs.draws import count_draws
from eyechart.readers.logs.log import (
    Log,
    Row,
    Wanted,
    check_one_model,
    lay_out,
    member,
    read_whole_number,
    write_answer,
    write_key,
)
from eyechart.readers.logs.packed import Packed
from eyechart.registry import unknown_name

OUR_FIELD = "eyechart"  # where the metadata of our own exports carry the condition
_MEMBER = re.compile(r"samples/.+_epoch_\d+(\.json|/sample\.json)", re.DOTALL)


class Sample(NamedTuple):
    """What is needed of a sample; the rest, which can be large, is let go at once."""

    id: str | None
    epoch: int
    completion: str | None
    extracted: dict[str, str | None]  # by each scorer
    failed: bool
    refused: bool
    condition: str | None


class Header(NamedTuple):
    """What a log says of itself."""

    status: str
    model: object


def read_inspect(contents: Sequence[Content], wanted: Wanted) -> Log:
    """Read the samples of finished logs, and where asked for those of others."""
    samples: list[Sample] = []
    strays, models = 0, []
    for content in contents:
        header, entries = _open_archive(content) if content.source.suffix == ".eval" else _open_json(content)
        _check_finished(header, content, wanted)
        models.append(header.model)
        for entry in entries:
            if isinstance(entry, dict):
                samples.append(_reduce(entry))
            else:
                strays += 1
    check_one_model(models, contents[0].source.name)
    scorer, notes = _choose_scorer(samples, wanted.scorer)
    table = count_draws(lay_out(_answer(sample, scorer) for sample in samples))
    return Log(table, [dropped("entry that is no record", strays), *notes])


class Opened(NamedTuple):
    """A log: its header and its samples, decoded one by one."""

    header: Header
    samples: Iterable[object]


def _open_archive(content: Content) -> Opened:
    archive = Packed(content.source.name, content.data)
    names = archive.names()
    head = decode_loosely(content.source, archive.read("header.json")) if "header.json" in names else {}
    members = [name for name in names if _MEMBER.fullmatch(name)]
    if not members and not any(name in names for name in ("header.json", "_journal/start.json")):
        found = "an archive without a header and samples"
        raise FileFormatError(f"a log of inspect_ai in {content.source.name}", found, "name an .eval file")
    return Opened(_read_header(head), _decode(archive, members, content))


def _decode(archive: Packed, members: list[str], content: Content) -> Iterator[object]:
    for name in members:
        place = content.source._replace(name=f"{content.source.name}/{name}")
        yield decode_loosely(place, archive.read(name))


def _open_json(content: Content) -> Opened:
    samples = member(content.value, "samples")
    if not isinstance(samples, list):
        advice = "run it anew with its samples logged"
        raise FileFormatError(f"samples in the log {content.source.name}", "a log without any", advice)
    return Opened(_read_header(content.value), samples)


def _read_header(head: object) -> Header:
    return Header(str(member(head, "status") or "started"), member(head, "eval", "model"))


def _check_finished(header: Header, content: Content, wanted: Wanted) -> None:
    if header.status != "success" and not wanted.unfinished:
        advice = "complete it with `inspect eval-retry`, or take the samples it has with unfinished=yes"
        raise FileFormatError(f"a finished run in {content.source.name}", f"status {header.status!r}", advice)


def _reduce(sample: dict[str, object]) -> Sample:
    scores = sample.get("scores")
    if not isinstance(scores, dict):
        scores = {"score": sample["score"]} if isinstance(sample.get("score"), dict) else {}  # in the first versions
    return Sample(
        id=write_key(sample.get("id")),
        epoch=read_whole_number(sample.get("epoch")) or 1,
        completion=_completion(sample.get("output")),
        extracted={str(name): write_answer(member(score, "answer")) for name, score in scores.items()},
        failed=sample.get("error") is not None,
        refused=_stop_reason(sample.get("output")) == "content_filter",
        condition=write_key(member(sample, "metadata", OUR_FIELD)),
    )


def _completion(output: object) -> str | None:
    text = member(output, "completion")
    if isinstance(text, str):
        return text
    content = member(_first_choice(output), "message", "content")
    if isinstance(content, list):  # of parts, of which only some are text
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "\n".join(text for text in parts if isinstance(text, str))
    return content if isinstance(content, str) else None


def _stop_reason(output: object) -> object:
    return member(output, "stop_reason") or member(_first_choice(output), "stop_reason")


def _first_choice(output: object) -> object:
    choices = member(output, "choices")
    return choices[0] if isinstance(choices, list) and choices else None


class Chosen(NamedTuple):
    """The scorer whose answers count, and what to know about it."""

    scorer: str | None
    notes: list[Count]


def _choose_scorer(samples: list[Sample], wanted: str | None) -> Chosen:
    names = tuple(dict.fromkeys(name for sample in samples for name in sample.extracted))
    if wanted is not None and wanted not in names:
        raise unknown_name("scorer of this log", wanted, names)
    scorer = wanted or next(iter(names), None)
    silent = sum(sample.extracted.get(str(scorer)) is None and sample.completion is not None for sample in samples)
    notes = [noted("answer is all that the model said: no scorer extracted one", silent)]
    if wanted is None and len(names) > 1:
        notes.append(noted(f"answer by scorer {scorer!r}, the first of {', '.join(names)}", len(samples)))
    return Chosen(scorer, notes)


def _answer(sample: Sample, scorer: str | None) -> Row:
    extracted = sample.extracted.get(str(scorer))
    answer = sample.completion if extracted is None else extracted
    if sample.failed or (answer is None and not sample.refused):
        return Row(sample.id, None, sample.completion, "failed", sample.epoch, sample.condition)
    status = "refused" if sample.refused else "ok"
    return Row(sample.id, answer, sample.completion, status, sample.epoch, sample.condition)
