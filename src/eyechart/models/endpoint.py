"""Ask models behind any endpoint that speaks OpenAI's chat protocol: vLLM, SGLang, llama.cpp, Ollama, hosted ones.

The key comes from the environment and is only ever put into requests: it is redacted in every failure message.
Retries, their backoff and `Retry-After` (of up to two minutes) are those of the official client.
"""

import asyncio
import json
import logging
import os
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from eyechart.base.errors import DataError, MissingExtraError, ModelError, SettingError
from eyechart.data.pictures import Picture
from eyechart.data.protocols import WorkerKind
from eyechart.language.prompts import PromptBatch
from eyechart.models.backend import OnResponse, Response
from eyechart.models.bounded_client import open_client
from eyechart.models.messages import MAX_SIDE, Failure, Scope, data_url, read_error, read_response
from eyechart.models.prompted import Prompted, open_prompted

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_NO_KEY = "none"  # sent to local servers, which require a key and ignore it
_TOP_LOGPROBS = 20  # first tokens whose log-probability is requested
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Endpoint:
    """Ask a model over the network, several prompts at a time."""

    model: str
    base_url: str | None = None
    key: str = "OPENAI_API_KEY"  # the environment variable with the key
    temperature: float = 0.0
    max_new_tokens: int = 32
    scores: bool = False  # ask for log-probabilities of the options
    concurrency: int = 8
    per_minute: float | None = None  # requests, at most
    timeout: float = 120.0  # seconds to wait for the next part of a reply
    deadline: float = 600.0  # seconds for a whole reply, with all its attempts
    max_response: int = 16_000_000  # of a reply, decompressed
    retries: int = 5
    max_side: int = MAX_SIDE
    max_bytes: int = 8_000_000
    limit_name: str = "max_tokens"  # newer hosted models want `max_completion_tokens`

    def __post_init__(self) -> None:
        url = urlsplit(self.base_url or "")
        if url.username or url.password or url.query:
            found = f"a URL for {url.hostname} with a user name, password or query"
            raise SettingError("a plain base_url", found, f"put the key into the environment variable {self.key}")

    @property
    def identity(self) -> str:
        """Return everything besides the prompts that determines a response."""
        names = ("model", "base_url", "temperature", "max_new_tokens", "scores", "max_side", "max_bytes")
        return json.dumps({"kind": "openai"} | {name: getattr(self, name) for name in names})

    @property
    def place(self) -> WorkerKind:
        """Return this process, so that `concurrency` and `per_minute` hold for all calls together."""
        return "here"

    def respond(self, batch: PromptBatch) -> list[Response]:
        """Respond to each prompt, in order."""
        responses: dict[int, Response] = {}
        self.respond_each(batch, responses.__setitem__)
        return [responses[row] for row in range(len(batch.prompts))]

    def respond_each(self, batch: PromptBatch, on_response: OnResponse) -> None:
        """Respond to all prompts, and pass on each response as it arrives."""
        _run(self._ask_all(batch, on_response))

    async def _ask_all(self, batch: PromptBatch, on_response: OnResponse) -> None:
        slots, pace, failures = asyncio.Semaphore(self.concurrency), RateLimit(self.per_minute), FailureCount(self)
        async with self._connect() as client:

            async def ask(row: int, prompt: PromptBatch) -> None:
                async with slots:
                    await pace.wait()
                    response = await self._ask(client, prompt, failures)
                on_response(row, response)

            await asyncio.gather(*(ask(row, batch.take([row])) for row in range(len(batch.prompts))))
        failures.warn()

    async def _ask(self, client: "AsyncOpenAI", prompt: PromptBatch, failures: "FailureCount") -> Response:
        import openai

        try:
            request = await asyncio.to_thread(self._build_request, prompt)
            async with asyncio.timeout(self.deadline):
                response = read_response(await client.chat.completions.create(**request), prompt.choices[0])
        except DataError as error:
            return failures.add(Failure(Scope.PROMPT, str(error)))
        except TimeoutError:
            return failures.add(Failure(Scope.PROMPT, f"no whole reply after {self.deadline:g} s"))
        except (openai.OpenAIError, ValueError, RecursionError) as error:
            return failures.add(read_error(error))
        if response.failed:
            return failures.add(Failure(Scope.PROMPT, response.failed))
        return failures.reset(response)

    def _build_request(self, batch: PromptBatch) -> dict[str, Any]:
        (prompt,), (parts,), (choices,) = batch.prompts, batch.arrange(), batch.choices
        content = [self._message_part(part) for part in parts] if any(batch.all_pictures()) else prompt
        options: dict[str, Any] = {"temperature": self.temperature, self.limit_name: self.max_new_tokens}
        if self.temperature > 0:
            options["seed"] = batch.draw
        if self.scores and choices:
            options |= {"logprobs": True, "top_logprobs": _TOP_LOGPROBS}
        return {"model": self.model, "messages": [{"role": "user", "content": content}], **options}

    def _message_part(self, part: str | Picture) -> dict[str, Any]:
        if isinstance(part, str):
            return {"type": "text", "text": part}
        return {"type": "image_url", "image_url": {"url": data_url(part, self.max_side, self.max_bytes)}}

    def _connect(self) -> "AsyncOpenAI":
        try:
            from openai import AsyncOpenAI
        except ImportError:
            advice = "pip install 'eyechart[api]'"
            raise MissingExtraError("the package openai, to ask an endpoint", "none", advice) from None
        key = os.environ.get(self.key) or (_NO_KEY if self.base_url else None)
        if key is None:
            advice = "set it, or give the address of your own endpoint with --base-url"
            raise ModelError(f"a key in the environment variable {self.key}", "none", advice)
        client = open_client(self.max_response, self.timeout)
        return AsyncOpenAI(
            api_key=key, base_url=self.base_url, timeout=self.timeout, max_retries=self.retries, http_client=client
        )


@dataclass
class FailureCount:
    """Count failures, and stop when there is no point in going on: stopping loses nothing."""

    endpoint: Endpoint
    reached: bool = False  # whether the service has ever responded
    in_a_row: int = 0  # consecutive failures of the service
    reasons: list[str] = field(default_factory=list)

    def reset(self, response: Response) -> Response:
        """Record a response, with the key redacted: a server may repeat it even there."""
        self.reached, self.in_a_row = True, 0
        return response.edit_texts(self._redact)

    def add(self, failure: Failure) -> Response:
        """Record a failure, or raise it if it affects more than one prompt."""
        reason = self._redact(failure.reason)
        of_service = failure.scope in {Scope.SERVICE, Scope.CONNECTION}
        self.in_a_row = self.in_a_row + 1 if of_service else 0
        enough = self.in_a_row >= max(16, 2 * self.endpoint.concurrency)
        if failure.scope is Scope.CALLER or enough or (failure.scope is Scope.CONNECTION and not self.reached):
            address = self.endpoint.base_url or "the default address"
            advice = "check --base-url, the model's name and the key, then run the same command again to resume"
            # Drop the cause, which may repeat the key.
            raise ModelError(f"answers of {self.endpoint.model} at {address}", reason, advice) from None
        self.reached = self.reached or failure.scope is Scope.PROMPT
        self.reasons.append(reason)
        return Response(None, failed=reason)

    def warn(self) -> None:
        """Log how many prompts failed, and why the first one did."""
        if self.reasons:
            _LOG.warning("%d prompts failed, the first: %s", len(self.reasons), self.reasons[0])

    def _redact(self, text: str) -> str:
        key = os.environ.get(self.endpoint.key)
        return text.replace(key, "***") if key else text


class RateLimit:
    """Limit the number of requests started per minute."""

    def __init__(self, per_minute: float | None) -> None:
        self._gap = 60 / per_minute if per_minute else 0.0
        self._next = 0.0

    async def wait(self) -> None:
        """Wait until the next request may start."""
        now = asyncio.get_running_loop().time()
        self._next = max(self._next, now) + self._gap
        await asyncio.sleep(self._next - self._gap - now)


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end, even if this thread already runs the loop of a notebook."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    with ThreadPoolExecutor(1) as other:
        other.submit(asyncio.run, work).result()


def open_endpoint(spec: str) -> Prompted:
    """Ask an endpoint that speaks OpenAI's protocol: `openai:model,base_url=http://127.0.0.1:8000/v1`."""
    return open_prompted("openai", spec, Endpoint)
