"""Define what answers prompts: a backend takes a batch of prompts and returns a response to each."""

from collections.abc import Callable
from typing import NamedTuple, Protocol, Self, runtime_checkable

from eyechart.data.protocols import WorkerKind
from eyechart.language.prompts import PromptBatch


class Response(NamedTuple):
    """The response to one prompt: the raw text, or the reason why there is none."""

    raw: str | None
    scores: list[tuple[str, float]] | None = None  # possible answers with their log-probabilities
    failed: str | None = None
    refused: bool = False  # set by the backend itself, whatever the text
    stop: str | None = None  # why the text ends, in the words of the service
    model: str | None = None  # the model's own name, as the service gives it

    def edit_texts(self, edit: Callable[[str], str]) -> Self:
        """Edit all texts that came from outside."""
        raw, failed, stop, model = (
            None if text is None else edit(text) for text in (self.raw, self.failed, self.stop, self.model)
        )
        return self._replace(raw=raw, failed=failed, stop=stop, model=model)


OnResponse = Callable[[int, Response], None]  # called with the row of the prompt and its response


class Backend(Protocol):
    """Respond to prompts; open weights or connections at the first batch."""

    @property
    def identity(self) -> str:
        """Return as JSON everything besides the prompts that determines a response: kind, model, revision, decoding."""
        ...

    def respond(self, batch: PromptBatch) -> list[Response]:
        """Respond to each prompt, in order."""
        ...


@runtime_checkable
class StreamingBackend(Protocol):
    """A backend whose responses arrive one by one, in any order."""

    def respond_each(self, batch: PromptBatch, on_response: OnResponse) -> None:
        """Respond to each prompt, and pass each response on as soon as it arrives."""
        ...


def worker_kind(backend: Backend) -> WorkerKind:
    """Return the kind of process a backend runs in: any, unless it names one."""
    kind: WorkerKind = getattr(backend, "place", "slot")
    return kind
