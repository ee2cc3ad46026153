"""What an endpoint sends back, read as what was said; and what went wrong, with whose fault it is."""

import math
from collections.abc import Iterable, Sequence
from enum import Enum
from typing import Any, NamedTuple

from eyechart.models.shown import Said


class Blame(Enum):
    """Whose fault a failure is."""

    PROMPT = "prompt"  # others may still be answered
    SERVICE = "service"  # others will hardly be answered either
    NOBODY = "nobody"  # there is no one to answer
    CALLER = "caller"  # nothing will be answered: a wrong key, a wrong name


class Trouble(NamedTuple):
    """Why there is no answer."""

    blame: Blame
    reason: str


def read_reply(reply: Any, choices: Sequence[str] | None) -> Said:  # noqa: ANN401 - a server may send anything
    """Take the text, the refusal and the log-probabilities of the options out of a reply."""
    try:
        choice = reply.choices[0]
        message = choice.message
        text = message.content or ""
        refusal = getattr(message, "refusal", None)
        scores = _score_options(choice.logprobs, choices) if choices else None
    except (AttributeError, IndexError, KeyError, TypeError):
        return Said(None, failed="a reply without an answer")
    refused = bool(refusal) or choice.finish_reason == "content_filter"
    return Said(str(refusal or text), scores, refused=refused)


def _score_options(logprobs: Any, choices: Sequence[str]) -> list[tuple[str, float]] | None:  # noqa: ANN401
    """Find the options among the likeliest first tokens; with and without a space before it is the same option."""
    if logprobs is None or not logprobs.content:
        return None
    first = logprobs.content[0].top_logprobs
    found = {choice: [one.logprob for one in first if one.token.strip() == choice] for choice in choices}
    return [(choice, _add(scores)) for choice, scores in found.items() if scores] or None


def _add(logs: Iterable[float]) -> float:
    return math.log(sum(map(math.exp, logs)))


def read_error(error: Exception) -> Trouble:
    """Say in one line why there is no answer, and whose fault it is."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return Trouble(Blame.PROMPT, "no answer in time")
    if isinstance(error, openai.APIConnectionError):
        return Trouble(Blame.NOBODY, f"no connection ({_first_line(error.__cause__ or error)})")
    if isinstance(error, openai.APIStatusError):
        return Trouble(_blame(error.status_code), f"status {error.status_code} ({_first_line(error)})")
    return Trouble(Blame.PROMPT, f"a reply that is no JSON ({_first_line(error)})")


def _blame(status: int) -> Blame:
    if status in {401, 403, 404}:
        return Blame.CALLER
    return Blame.SERVICE if status == 429 or status >= 500 else Blame.PROMPT


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
