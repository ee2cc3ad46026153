"""Write and read messages of OpenAI's chat protocol: pictures as data URLs, responses, and errors with their scope."""

import base64
import io
import math
from collections.abc import Iterable, Sequence
from enum import Enum
from functools import lru_cache
from typing import Any, NamedTuple

from eyechart.base.errors import DataError
from eyechart.data.pictures import Picture
from eyechart.models.backend import Response

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
    """Extract the text, the refusal and the log-probabilities of the options from a reply."""
    try:
        choice = reply.choices[0]
        message = choice.message
        text = message.content or ""
        refusal = getattr(message, "refusal", None)
        scores = _score_options(choice.logprobs, choices) if choices else None
    except (AttributeError, IndexError, KeyError, TypeError):
        return Response(None, failed="a reply without an answer")
    refused = bool(refusal) or choice.finish_reason == "content_filter"
    return Response(str(refusal or text), scores, refused=refused)


def _score_options(logprobs: Any, choices: Sequence[str]) -> list[tuple[str, float]] | None:  # noqa: ANN401
    """Find the options among the likeliest first tokens; a space before an option makes no difference."""
    if logprobs is None or not logprobs.content:
        return None
    first = logprobs.content[0].top_logprobs
    likely = {choice: [one.logprob for one in first if one.token.strip() == choice] for choice in choices}
    return [(choice, _add_logs(scores)) for choice, scores in likely.items() if scores] or None


def _add_logs(logs: Iterable[float]) -> float:
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
    return Failure(Scope.PROMPT, f"a reply that is not JSON ({_first_line(error)})")


def _find_scope(status: int) -> Scope:
    if status in {401, 403, 404}:
        return Scope.CALLER
    return Scope.SERVICE if status == 429 or status >= 500 else Scope.PROMPT


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
