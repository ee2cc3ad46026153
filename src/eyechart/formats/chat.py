"""Read lists of chat messages: OpenAI's `messages`, ShareGPT's `conversations`, and the output of OpenAI's batches.

An answer is what the assistant says after the user, and its id that of the conversation; in a conversation of several
rounds the id has the round's number behind it, from 0. Conversations without an id are numbered.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from eyechart.formats.answer_files import AnswerFile
from eyechart.formats.lm_eval import DOC_KEYS, find_key
from eyechart.formats.log_rows import (
    AnswerRow,
    LogOptions,
    member,
    read_options,
    read_text,
    tabulate_answers,
)
from eyechart.formats.rows import CountedTable, RowCount, dropped, noted

_KEYS = ("custom_id", *DOC_KEYS)
_USERS, _MODELS = ("user", "human"), ("assistant", "gpt", "bing", "chatgpt", "bard", "model")


class Round(NamedTuple):
    """What was asked, what the model said, and the status of that."""

    asked: str
    said: str | None
    status: str


def read_chat_log(files: Sequence[AnswerFile], options: LogOptions) -> CountedTable:  # noqa: ARG001 - part of the contract
    """Read the answer of each round."""
    entries = [entry for file in files for entry in file.records]
    talks = [(entry, rounds) for entry in entries if (rounds := read_rounds(entry))]
    ids, numbered = _find_ids([entry for entry, _ in talks])
    counts = [dropped("entry without a question", len(entries) - len(talks)), numbered]
    rows = [
        AnswerRow(own, one.said, one.said, one.status, options=read_options(one.asked))
        for (_, rounds), key in zip(talks, ids, strict=True)
        for own, one in _name_rounds(rounds, key)
    ]
    several = sum(len(rounds) > 1 for _, rounds in talks)
    counts.append(noted("conversation of several rounds: the number of the round stands behind its id", several))
    return CountedTable(tabulate_answers(rows), counts)


def read_rounds(entry: object) -> list[Round]:
    """List the rounds of a conversation: what is said before the model answers is one question."""
    if isinstance(entry, dict) and "custom_id" in entry:
        return [_read_reply(entry)]
    turns = entry if isinstance(entry, list) else member(entry, "messages") or member(entry, "conversations")
    rounds: list[Round] = []
    for turn in turns if isinstance(turns, list) else ():
        speaker = member(turn, "role") or member(turn, "from")
        text = read_text(member(turn, "content") or member(turn, "value"))
        if speaker in _USERS and rounds and rounds[-1].status == "failed":
            rounds[-1] = Round(f"{rounds[-1].asked}\n{text or ''}", None, "failed")
        elif speaker in _USERS:
            rounds.append(Round(text or "", None, "failed"))
        elif speaker in _MODELS and rounds and text is not None:
            rounds[-1] = Round(rounds[-1].asked, text, "ok")
    return rounds


def _read_reply(entry: dict[str, object]) -> Round:
    """Read a line of a batch's output, which does not repeat what was asked."""
    choices = member(entry, "response", "body", "choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    refusal = member(choice, "message", "refusal")
    if isinstance(refusal, str) or member(choice, "finish_reason") == "content_filter":
        return Round("", refusal if isinstance(refusal, str) else None, "refused")
    text = read_text(member(choice, "message", "content"))
    return Round("", text, "failed" if text is None else "ok")


def _find_ids(entries: list[object]) -> tuple[list[str | None], RowCount]:
    ids = [find_key([entry], _KEYS) for entry in entries]
    bare = all(key is None for key in ids)
    numbered = noted("id is the number of the conversation", len(ids) if bare else 0)
    return [str(number) for number in range(len(ids))] if bare else ids, numbered


def _name_rounds(rounds: list[Round], key: str | None) -> Iterator[tuple[str | None, Round]]:
    for number, one in enumerate(rounds):
        yield key if key is None or len(rounds) == 1 else f"{key}-{number}", one
