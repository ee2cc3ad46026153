"""Models behind any endpoint that speaks OpenAI's chat protocol: vLLM, SGLang, llama.cpp, Ollama, hosted ones.

The key comes from the environment and goes nowhere but into the request: what is said about failures has it struck out.
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

from eyechart.errors import DataError, MissingExtraError, ModelError, SettingError
from eyechart.models.cached import Heard
from eyechart.models.prompted import Prompted
from eyechart.models.replies import Blame, Trouble, read_error, read_reply
from eyechart.models.sending import SIDE, Bounds, data_url
from eyechart.models.shown import Said, Shown
from eyechart.models.specs import open_prompted
from eyechart.protocols import Where

if TYPE_CHECKING:
    from openai import AsyncOpenAI

_NO_KEY = "none"  # what local servers are told, which want some key and look at none
_LIKELY = 20  # first tokens whose log-probability may be asked for
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Endpoint:
    """Ask a model over the network, several prompts at a time."""

    model: str
    base_url: str | None = None
    key: str = "OPENAI_API_KEY"  # the environment variable that holds it
    temperature: float = 0.0
    max_new_tokens: int = 32
    scores: bool = False  # ask for log-probabilities of the options
    concurrency: int = 8
    per_minute: float | None = None  # requests, at most
    timeout: float = 120.0  # seconds for one attempt
    retries: int = 5
    max_side: int = SIDE
    max_bytes: int = 8_000_000
    limit_name: str = "max_tokens"  # newer hosted models want `max_completion_tokens`

    def __post_init__(self) -> None:
        told = urlsplit(self.base_url or "")
        if told.username or told.password or told.query:
            found = f"one for {told.hostname} that carries more than an address"
            raise SettingError("a plain base_url", found, f"put the key into the environment variable {self.key}")

    @property
    def identity(self) -> str:
        """Write everything that decides an answer beside what is shown."""
        names = ("model", "base_url", "temperature", "max_new_tokens", "scores", "max_side", "max_bytes")
        return json.dumps({"kind": "openai"} | {name: getattr(self, name) for name in names})

    @property
    def place(self) -> Where:
        """Ask from this process, so that `concurrency` and `per_minute` hold for all calls together."""
        return "here"

    def answer_shown(self, shown: Shown) -> list[Said]:
        """Answer each prompt, in order."""
        said: dict[int, Said] = {}
        self.answer_each(shown, said.__setitem__)
        return [said[at] for at in range(len(shown.prompts))]

    def answer_each(self, shown: Shown, heard: Heard) -> None:
        """Answer all prompts and hand each answer over when it comes."""
        _run(self._answer_all(shown, heard))

    async def _answer_all(self, shown: Shown, heard: Heard) -> None:
        door, pace, luck = asyncio.Semaphore(self.concurrency), Pace(self.per_minute), Luck(self)
        async with self._connect() as client:

            async def answer(at: int, one: Shown) -> None:
                async with door:
                    await pace.wait()
                    said = await self._answer(client, one, luck)
                heard(at, said)

            await asyncio.gather(*(answer(at, shown.take([at])) for at in range(len(shown.prompts))))
        luck.tell()

    async def _answer(self, client: "AsyncOpenAI", one: Shown, luck: "Luck") -> Said:
        import openai

        try:
            request = await asyncio.to_thread(self._write, one)
            said = read_reply(await client.chat.completions.create(**request), one.choices[0])
        except DataError as error:
            return luck.meet(Trouble(Blame.PROMPT, str(error)))
        except (openai.OpenAIError, ValueError) as error:
            return luck.meet(read_error(error))
        return luck.meet(Trouble(Blame.PROMPT, said.failed)) if said.failed else luck.good(said)

    def _write(self, one: Shown) -> dict[str, Any]:
        (prompt,), (pictures,), (choices,) = one.prompts, one.all_pictures(), one.choices
        bounds = Bounds(self.max_side, self.max_bytes)
        images = [{"type": "image_url", "image_url": {"url": data_url(each, bounds)}} for each in pictures]
        content = [*images, {"type": "text", "text": prompt}] if images else prompt
        wanted: dict[str, Any] = {"temperature": self.temperature, self.limit_name: self.max_new_tokens}
        if self.temperature > 0:
            wanted["seed"] = one.draw
        if self.scores and choices:
            wanted |= {"logprobs": True, "top_logprobs": _LIKELY}
        return {"model": self.model, "messages": [{"role": "user", "content": content}], **wanted}

    def _connect(self) -> "AsyncOpenAI":
        try:
            from openai import AsyncOpenAI
        except ImportError:
            advice = "pip install 'eyechart[api]'"
            raise MissingExtraError("the package openai to ask an endpoint", "none", advice) from None
        key = os.environ.get(self.key) or (_NO_KEY if self.base_url else None)
        if key is None:
            advice = "set it, or name an endpoint of your own with --base-url"
            raise ModelError(f"a key in the environment variable {self.key}", "none", advice)
        return AsyncOpenAI(api_key=key, base_url=self.base_url, timeout=self.timeout, max_retries=self.retries)


@dataclass
class Luck:
    """Keep count of what fails, and give up where going on is pointless: nothing is lost by stopping."""

    endpoint: Endpoint
    heard: bool = False
    strikes: int = 0  # failures of the service in a row
    failures: list[str] = field(default_factory=list)

    def good(self, said: Said) -> Said:
        """Note an answer; a server may repeat the key even there."""
        self.heard, self.strikes = True, 0
        return said._replace(raw=self._strike_out(said.raw or ""))

    def meet(self, trouble: Trouble) -> Said:
        """Note a failure, or raise it where it concerns more than one prompt."""
        reason = self._strike_out(trouble.reason)
        at_fault = trouble.blame in {Blame.SERVICE, Blame.NOBODY}
        self.strikes = self.strikes + 1 if at_fault else 0
        enough = self.strikes >= max(16, 2 * self.endpoint.concurrency)
        if trouble.blame is Blame.CALLER or enough or (trouble.blame is Blame.NOBODY and not self.heard):
            place = self.endpoint.base_url or "the default address"
            advice = "check --base-url, the model's name and the key, then run the same command again to go on"
            # Without its cause, which may repeat the key.
            raise ModelError(f"answers of {self.endpoint.model} at {place}", reason, advice) from None
        self.heard = self.heard or trouble.blame is Blame.PROMPT
        self.failures.append(reason)
        return Said(None, failed=reason)

    def tell(self) -> None:
        """Say how many prompts failed, and why the first did."""
        if self.failures:
            _LOG.warning("%d prompts failed, the first: %s", len(self.failures), self.failures[0])

    def _strike_out(self, text: str) -> str:
        key = os.environ.get(self.endpoint.key)
        return text.replace(key, "***") if key else text


class Pace:
    """Let requests start no faster than so many a minute."""

    def __init__(self, per_minute: float | None) -> None:
        self._gap = 60 / per_minute if per_minute else 0.0
        self._next = 0.0

    async def wait(self) -> None:
        """Wait for the next turn."""
        now = asyncio.get_running_loop().time()
        self._next = max(self._next, now) + self._gap
        await asyncio.sleep(self._next - self._gap - now)


def _run(work: Coroutine[Any, Any, None]) -> None:
    """Run to the end, also where a notebook has a loop of its own running in this thread."""
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
