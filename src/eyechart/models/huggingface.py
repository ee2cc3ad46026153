"""Run Hugging Face transformers models: chat models that see pictures, classic VQA models, and blind language models.

A classic VQA model chooses one of the few thousand answers it was trained on.
"""

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Literal

from eyechart.base.errors import ModelError
from eyechart.data.protocols import WorkerKind
from eyechart.language.prompts import PromptBatch, choose_template
from eyechart.models.backend import OnResponse, Response
from eyechart.models.chat import Chat, Scores
from eyechart.models.prompted import Prompted, open_prompted, split_spec
from eyechart.models.weights import Kind, LoadedModel, find_kind, find_revision, load_weights

_LOG = logging.getLogger(__name__)
_NOT_IN_IDENTITY = ("model", "revision", "kind", "device", "batch")  # stated elsewhere, or without effect on answers
_TOP = 5  # best answers whose scores a classic model keeps if there are no options


@dataclass(frozen=True)
class HuggingFace:
    """Ask a model in this process; load its weights at the first prompt."""

    model: str  # a folder, or a name on the hub
    revision: str | None = None
    kind: Literal["auto", "chat", "vqa", "text"] = "auto"
    device: str = "auto"
    dtype: str = "auto"  # as the weights were saved
    batch: int = 8
    max_new_tokens: int = 32
    temperature: float = 0.0  # 0: greedy
    scores: bool = False  # also return log-probabilities of the options
    normalise: Literal["mean", "sum"] = "mean"  # over the tokens of an option
    decide: Literal["text", "scores"] = "text"  # scores: the likeliest option is the answer, and no text is generated

    @property
    def place(self) -> WorkerKind:
        """Return the kind of process: one with a GPU, unless the device is the CPU."""
        return "slot" if self.device == "cpu" else "gpu"

    @property
    def identity(self) -> str:
        """Return everything besides the prompts that determines a response; the revision is that of the weights."""
        name = Path(self.model).name if Path(self.model).is_dir() else self.model
        settings = {name: value for name, value in asdict(self).items() if name not in _NOT_IN_IDENTITY}
        origin = {"kind": "hf", "model": name, "revision": find_revision(self.model, self.revision)}
        return json.dumps(origin | {"as": self._find_kind()} | settings)

    def respond(self, batch: PromptBatch) -> list[Response]:
        """Respond to each prompt, in order."""
        responses: dict[int, Response] = {}
        self.respond_each(batch, responses.__setitem__)
        return [responses[row] for row in range(len(batch.prompts))]

    def respond_each(self, batch: PromptBatch, on_response: OnResponse) -> None:
        """Respond part by part, and pass on the responses as they come."""
        kind = self._find_kind()
        loaded = load_weights(self.model, self.revision, kind, self.device, self.dtype)
        for rows in _split_batch(batch, self.batch):
            part = batch.take(rows)
            responses = _classify(loaded, part, self.decide) if kind == "vqa" else self._chat(loaded, part)
            for row, response in zip(rows, responses, strict=True):
                on_response(row, response)

    def _find_kind(self) -> Kind:
        return find_kind(self.model, self.revision) if self.kind == "auto" else self.kind

    def _chat(self, loaded: LoadedModel, batch: PromptBatch) -> list[Response]:
        chat = Chat(loaded, self.max_new_tokens, self.temperature, self.normalise)
        texts = chat.render(batch)
        inputs = chat.encode(texts, batch)
        too_long = chat.find_too_long(inputs)
        if any(too_long):
            fitting = [row for row, reason in enumerate(too_long) if reason is None]
            responses = iter(self._chat(loaded, batch.take(fitting)) if fitting else ())
            return [Response(None, failed=reason) if reason else next(responses) for reason in too_long]
        scores = chat.score(texts, batch) if self.scores or self.decide == "scores" else [None] * len(texts)
        if self.decide == "scores" and all(scores):
            return [_choose_likeliest(one or []) for one in scores]
        written = [Response(text, one) for text, one in zip(chat.write(inputs, batch.draw), scores, strict=True)]
        return [_choose_likeliest(one.scores) if one.scores and self.decide == "scores" else one for one in written]


def _choose_likeliest(scores: Scores) -> Response:
    return Response(max(scores, key=itemgetter(1))[0], scores)


def _split_batch(batch: PromptBatch, size: int) -> Iterator[list[int]]:
    """Group prompts by similar length, those with pictures separately from those without."""
    pictures = batch.all_pictures()
    order = sorted(range(len(batch.prompts)), key=lambda row: len(batch.prompts[row]))
    for rows in ([row for row in order if not pictures[row]], [row for row in order if pictures[row]]):
        yield from (rows[start : start + size] for start in range(0, len(rows), size))


def open_huggingface(spec: str) -> Prompted:
    """Ask a model of transformers: `hf:FOLDER`, `hf:org/name,revision=main,dtype=float32,prompt=short`."""
    what, given = split_spec(spec)
    model = open_prompted("hf", spec, HuggingFace)
    kind = given.get("kind", "auto")
    kind = find_kind(what, given.get("revision")) if kind == "auto" else kind
    template = choose_template("bare") if kind == "vqa" and "prompt" not in given else model.template
    if kind == "text":
        _LOG.warning("%s is a text model and is shown no pictures", model.name)
    return replace(model, template=template, blind=kind == "text")


def _classify(loaded: LoadedModel, batch: PromptBatch, decide: str) -> list[Response]:
    """Choose the likeliest of all known answers or, with `decide="scores"`, of those among the options.

    Scores are log-probabilities over all known answers: of the options that are known, else of the best few.
    """
    if loaded.model.can_generate():
        found = type(loaded.model).__name__
        raise ModelError("a classic model that chooses among known answers", found, "ask a chat model instead")
    reasons = _find_unfit(loaded, batch)
    rows = [row for row, reason in enumerate(reasons) if reason is None]
    scores = dict(zip(rows, _score_answers(loaded, batch.take(rows)), strict=True)) if rows else {}
    return [
        Response(None, failed=reason) if reason else _choose_answer(scores[row], batch.choices[row], decide)
        for row, reason in enumerate(reasons)
    ]


def _find_unfit(loaded: LoadedModel, batch: PromptBatch) -> list[str | None]:
    """Return for each prompt why this model cannot answer it; None if it can."""
    room = loaded.model.config.max_position_embeddings
    tokens = [len(each) for each in loaded.tokenizer(batch.prompts)["input_ids"]]
    reasons: list[str | None] = []
    for pictures, n in zip(batch.all_pictures(), tokens, strict=True):
        too_long = f"{n} tokens, but the model takes at most {room}" if n > room else None
        reasons.append(too_long if len(pictures) == 1 else f"{len(pictures)} pictures, but the model takes one")
    return reasons


def _score_answers(loaded: LoadedModel, batch: PromptBatch) -> list[Scores]:
    """List all answers that the model knows with their log-probabilities, the best first."""
    import torch

    images = [each.pixels for each in batch.pictures if each is not None]
    inputs = loaded.processor(images=images, text=batch.prompts, padding=True, return_tensors="pt").to(loaded.device)
    inputs["pixel_values"] = inputs["pixel_values"].to(loaded.model.dtype)
    with torch.inference_mode():
        logits = loaded.model(**inputs).logits
    values, codes = logits.float().log_softmax(dim=-1).sort(dim=-1, descending=True, stable=True)
    names = loaded.model.config.id2label
    rows = zip(codes.tolist(), values.tolist(), strict=True)
    return [[(str(names[code]), value) for code, value in zip(*row, strict=True)] for row in rows]


def _choose_answer(scores: Scores, choices: Sequence[str] | None, decide: str) -> Response:
    known = [pair for pair in scores if pair[0] in choices] if choices else []
    best = known[0] if known and decide == "scores" else scores[0]
    return Response(best[0], known or (None if choices else scores[:_TOP]))
