"""Read the samples of an evaluation in the Every Eval Ever form, `..._samples.jsonl`, which we write too.

Its answer is the last value extracted as final, else the whole response. It has no field for conditions and draws:
`metadata.condition`, `metadata.draw` and `metadata.status` hold ours, `metadata.epoch` that of other converters.
"""

from collections.abc import Sequence

from eyechart.readers.counting import Count, noted
from eyechart.readers.logs.content import Content
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
from eyechart.readers.logs.samples import Sample, read_samples
from eyechart.tables import STATUSES


def read_eee(contents: Sequence[Content], wanted: Wanted) -> Log:  # noqa: ARG001 - part of the contract
    """Read one answer a line."""
    records, counts = read_samples(contents)
    check_one_model((record.get("model_id") for record in records), contents[0].source.name)
    ours = any(member(record, "metadata", "draw") is not None for record in records)
    table = lay_out(_row(record, "draw" if ours else "epoch") for record in records)
    several = sum(len(_responses(record)) > 1 for record in records)
    notes: list[Count] = [*counts, noted("sample with several responses, the first kept as raw", several)]
    return Log(table if ours else count_draws(table), notes)


def _row(record: Sample, numbered: str) -> Row:
    status = member(record, "metadata", "status")
    responses = _responses(record)
    raw = responses[0] if responses else None
    known = isinstance(status, str) and status in STATUSES
    answer = _extracted(record)
    if answer is None and not known:
        answer = raw
    failed = record.get("error") is not None or answer is None
    return Row(
        id=write_key(record.get("sample_id")),
        answer=answer if known or not failed else None,
        raw=raw,
        status=str(status) if known else "failed" if failed else "ok",
        draw=_draw(member(record, "metadata", numbered)),
        condition=write_key(member(record, "metadata", "condition")),
    )


def _draw(value: object) -> int | None:
    return 0 if value is None else read_whole_number(value)


def _extracted(record: Sample) -> str | None:
    found = record.get("answer_attribution")
    values = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    final = [one for one in values if one.get("is_terminal") is not False] or values
    return write_answer(final[-1].get("extracted_value")) if final else None


def _responses(record: Sample) -> list[str]:
    raw = member(record, "output", "raw")
    if raw is None:  # a conversation: what the model said last
        messages = record.get("messages")
        turns = messages if isinstance(messages, list) else []
        raw = [member(turn, "content") for turn in turns if member(turn, "role") == "assistant"][-1:]
    found = raw if isinstance(raw, list) else [raw]
    return [text for text in map(write_answer, found) if text is not None]
