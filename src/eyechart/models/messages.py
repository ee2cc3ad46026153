"""Write and read messages of OpenAI's chat protocol: pictures as data URLs, responses, and errors with their scope."""

import base64
import io
import math
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

from eyechart.base.errors import DataError
from eyechart.data.pictures import Picture
from eyechart.models.backend import Response

_TEXT_FIELDS = {"text": "text", "output_text": "text", "refusal": "refusal"}  # type of a part -> field with its text
_THOUGHTS = ("thinking", "redacted_thinking", "reasoning")  # parts that are not yet the answer
_LONGEST_NAME = 200  # characters
_LARGEST_LOG = 0.1  # of a probability; rounding may bring one above 0
MAX_SIDE = 1536  # default longer side of a picture that is sent, in pixels


class Scope(Enum):
    """How far the cause of a failure reaches."""

    PROMPT = "prompt"  # other prompts may still be answered
    SERVICE = "service"  # others are unlikely to be answered
    CONNECTION = "connection"  # the service is not reachable
    CALLER = "caller"  # nothing will be answered: a wrong key, a wrong name


class Failure(NamedTuple):
    """Why there is no response."""

    scope: Scope
    reason: str


@lru_cache(maxsize=64)
def data_url(picture: Picture, max_side: int, max_bytes: int) -> str:
    """Scale a picture down to a longest side, and encode it as PNG if that is small enough, else as JPEG."""
    for form in ("png", "jpeg"):
        content = _encode(picture, max_side, form)
        if len(content) <= max_bytes:
            return f"data:image/{form};base64,{base64.b64encode(content).decode()}"
    found = f"{len(content):,} bytes with a side of {max_side} pixels"
    raise DataError(f"a picture of at most {max_bytes:,} bytes", found, "lower max_side, or raise max_bytes")


def _encode(picture: Picture, side: int, form: str) -> bytes:
    from PIL import Image

    image = Image.fromarray(picture.pixels)
    image.thumbnail((side, side), Image.Resampling.LANCZOS)  # leaves smaller pictures unchanged
    buffer = io.BytesIO()
    image.save(buffer, form, quality=90) if form == "jpeg" else image.save(buffer, form)
    return buffer.getvalue()


def read_response(reply: Any, choices: Sequence[str] | None) -> Response:  # noqa: ANN401 - a server may send anything
    """Extract the text, the refusal, why it ends, the model's name and the options' log-probabilities from a reply."""
    try:
        choice = reply.choices[0]
        message = choice.message
        stop = choice.finish_reason
        text, refusal = _read_content(message.content)
        refusal = getattr(message, "refusal", None) or refusal
        if not (text or refusal) and getattr(message, "tool_calls", None):
            return Response(None, failed="a reply that calls a tool instead of answering")
        if not isinstance(refusal, str | None):
            return Response(None, failed=f"a refusal of type {type(refusal).__name__!r} instead of text")
        scores = _score_options(choice.logprobs, choices) if choices else None
    except _UnreadableError as error:
        return Response(None, failed=str(error))
    except (AttributeError, IndexError, KeyError, TypeError):
        return Response(None, failed="a reply without an answer")
    refused = bool(refusal) or stop == "content_filter"
    model = getattr(reply, "model", None)
    return Response(refusal or text, scores, refused=refused, stop=_name(stop), model=_name(model))


class _UnreadableError(Exception):
    """A part of a reply of another form than the protocol has, with the reason."""


def _read_content(content: object) -> tuple[str, str]:
    """Return the text and the refusal in the content of a message: a text, nothing, or parts with their types."""
    if content is None or isinstance(content, str):
        return content or "", ""
    if not isinstance(content, list):
        raise _UnreadableError(f"content of type {type(content).__name__!r} instead of text")
    texts: dict[str, list[str]] = {"text": [], "refusal": []}
    for part in content:
        kind = part.get("type") if isinstance(part, dict) else type(part).__name__
        if kind in _THOUGHTS:
            continue
        field = _TEXT_FIELDS.get(str(kind))
        if field is None or not isinstance(part.get(field), str):
            raise _UnreadableError(f"content with a part of type {str(kind)[:40]!r} instead of text")
        texts[field].append(part[field])
    return "".join(texts["text"]), "".join(texts["refusal"])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def _name(value: object) -> str | None:
    return value[:_LONGEST_NAME] if isinstance(value, str) and value else None


def _score_options(logprobs: Any, choices: Sequence[str]) -> list[tuple[str, float]] | None:  # noqa: ANN401
    """Find the options among the likeliest first tokens; a space before an option makes no difference."""
    if logprobs is None or not logprobs.content:
        return None
    first = logprobs.content[0].top_logprobs
    likely = {choice: [one.logprob for one in first if one.token.strip() == choice] for choice in choices}
    return [(choice, _add_logs(scores)) for choice, scores in likely.items() if scores] or None


def _add_logs(logs: Sequence[float]) -> float:
    if not all(_is_number(log) and log < _LARGEST_LOG for log in logs):
        raise _UnreadableError(f"a log-probability of {logs[0]!r:.40}")
    return math.log(sum(map(math.exp, logs)))


def read_error(error: Exception) -> Failure:
    """Describe in one line why there is no response, and find how far the cause reaches."""
    import openai

    if isinstance(error, openai.APITimeoutError):
        return Failure(Scope.PROMPT, "no answer in time")
    if isinstance(error, openai.APIConnectionError):
        return Failure(Scope.CONNECTION, f"no connection ({_first_line(error.__cause__ or error)})")
    if isinstance(error, openai.APIStatusError):
        return Failure(_find_scope(error.status_code), f"status {error.status_code} ({_first_line(error)})")
    if type(error) is openai.OpenAIError:  # ours, about a reply that was not read to its end
        return Failure(Scope.PROMPT, str(error))
    return Failure(Scope.PROMPT, f"a reply that is not JSON ({_first_line(error)})")


def _find_scope(status: int) -> Scope:
    if status in {401, 403, 404} or 300 <= status < 400:  # a redirect: the address is another one
        return Scope.CALLER
    return Scope.SERVICE if status == 429 or status >= 500 else Scope.PROMPT


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
