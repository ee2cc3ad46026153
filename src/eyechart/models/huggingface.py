"""Run Hugging Face transformers models: chat models that see pictures, classic VQA models, and blind language models.

A chat model writes answers, or scores possible ones, with pictures if it takes any: a score is the log-probability of
an option's tokens after the prompt (0 at best), their sum or their mean; all options of a question are scored from the
same token on. Prompts are padded on the left, so answers start where prompts end. A classic VQA model chooses one of
the few thousand answers it was trained on.
"""

import inspect
import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from eyechart.base.errors import ModelError
from eyechart.data.pictures import Picture
from eyechart.data.protocols import WorkerKind
from eyechart.language.prompts import PromptBatch, choose_template
from eyechart.models.backend import OnResponse, Response
from eyechart.models.prompted import Prompted, open_prompted, split_spec
from eyechart.models.weights import Kind, LoadedModel, find_kind, find_revision, load_weights

if TYPE_CHECKING:
    import torch

Scores = list[tuple[str, float]]
Inputs = dict[str, Any]


class _Row(NamedTuple):
    """A text to feed, and the tokens to score: at its end if it includes them, else as the next token."""

    prompt: int
    text: str
    tails: list[list[int]]
    included: bool


@dataclass(frozen=True)
class Chat:
    """A loaded model, how it writes answers and how options are scored."""

    loaded: LoadedModel
    max_new_tokens: int
    temperature: float
    normalise: Literal["mean", "sum"]

    def render(self, batch: PromptBatch) -> list[str]:
        """Write each prompt as a conversation by the model's template; a text model without one gets it bare."""
        token = getattr(self.loaded.processor, "image_token", None)
        # A mark like <image> inside a question would be taken for one more picture.
        prompts = [
            prompt.replace(token, "").strip() if token and token in prompt else prompt for prompt in batch.prompts
        ]
        if self.loaded.processor.chat_template is None:
            if self.loaded.takes_images:
                raise ModelError("a chat template", "no template saved with the model", "save one, or ask a chat model")
            return prompts
        if not self.loaded.takes_images:
            return [self._render_conversation(prompt) for prompt in prompts]
        return [self._render_conversation(_mark(parts)) for parts in batch._replace(prompts=prompts).arrange()]

    def encode(self, texts: Sequence[str], batch: PromptBatch) -> Inputs:
        """Turn conversations and their pictures into tensors."""
        # In the order of their marks in the texts, which may name the second before the first.
        pictures = [[part.pixels for part in parts if not isinstance(part, str)] for parts in batch.arrange()]
        images = {"images": pictures} if self.loaded.takes_images and any(pictures) else {}
        inputs = self.loaded.processor(
            text=list(texts),
            **images,
            padding=True,
            return_tensors="pt",
            add_special_tokens=self._lacks_special_tokens(texts[0]),
        )
        if "token_type_ids" not in self._parameters:
            inputs.pop("token_type_ids", None)
        return {name: self._to_device(value) for name, value in inputs.items()}

    def find_too_long(self, inputs: Inputs) -> list[str | None]:
        """Return for each prompt why it does not fit the model's context with an answer; None if it does."""
        room = getattr(self.loaded.model.config.get_text_config(), "max_position_embeddings", None) or float("inf")
        tokens = inputs["attention_mask"].sum(dim=1).tolist()
        fits = [n + self.max_new_tokens <= room for n in tokens]
        words = f"{self.max_new_tokens} for the answer are more than its room of {room}"
        return [None if fit else f"{n} tokens and {words}" for n, fit in zip(tokens, fits, strict=True)]

    def write(self, inputs: Inputs, draw: int) -> list[tuple[str, str]]:
        """Write answers, each with why it ends (stop, length).

        They are greedy at temperature 0, else drawn with a seed derived from the batch and the draw.
        """
        import torch

        prompt = inputs["input_ids"]
        options: dict[str, Any] = {"max_new_tokens": self.max_new_tokens, "num_beams": 1, "do_sample": False}
        if self.temperature > 0:
            options |= {"do_sample": True, "temperature": self.temperature, "top_k": 0, "top_p": 1.0}
        seed = sha256(f"{draw} {prompt.tolist()}".encode()).digest()
        with torch.inference_mode(), torch.random.fork_rng():
            torch.manual_seed(int.from_bytes(seed[:7], "big"))
            padding = self.loaded.tokenizer.pad_token_id
            written = self.loaded.model.generate(**inputs, **options, pad_token_id=padding)
        answers = written[:, prompt.shape[1] :]
        texts = self.loaded.tokenizer.batch_decode(answers, skip_special_tokens=True)
        return [(str(text), stop) for text, stop in zip(texts, self._find_stops(answers), strict=True)]

    def _find_stops(self, answers: "torch.Tensor") -> list[str]:
        """Return for each answer whether the model ended it, or the limit of tokens did."""
        import torch

        config = self.loaded.model.generation_config.eos_token_id
        ends = answers.new_tensor([config] if isinstance(config, int) else list(config or ()))
        ended = torch.isin(answers, ends).any(dim=1).tolist()
        is_full = answers.shape[1] >= self.max_new_tokens
        return ["stop" if end or not is_full else "length" for end in ended]

    def score(self, texts: Sequence[str], batch: PromptBatch) -> list[Scores | None]:
        """Score the possible answers to each prompt; None if any answer is possible."""
        scores: list[list[float]] = [[] for _ in texts]
        rows = [
            row
            for index, choices in enumerate(batch.choices)
            if choices
            for row in self._rows(index, texts[index], choices)
        ]
        for start in range(0, len(rows), len(texts)):
            part = rows[start : start + len(texts)]
            inputs = self.encode([row.text for row in part], batch.take([row.prompt for row in part]))
            for row, values in zip(part, self._score_rows(inputs, part), strict=True):
                scores[row.prompt] += values
        pairs = zip(batch.choices, scores, strict=True)
        return [list(zip(choices, values, strict=True)) if choices else None for choices, values in pairs]

    def _rows(self, prompt: int, text: str, choices: Sequence[str]) -> Iterator[_Row]:
        """Feed the prompt once if each option is a single further token, else once per option, followed by it."""
        separated = not text or text[-1].isspace() or text.endswith(tuple(self.loaded.tokenizer.all_special_tokens))
        joint = "" if separated else " "
        bare, *joined = self._tokenize([text, *(f"{text}{joint}{choice}" for choice in choices)])
        start = min(
            _count_shared(bare, each) for each in joined
        )  # the prompt's end and an option may merge into one token
        tails = [each[start:] for each in joined]
        if start == len(bare) and all(len(tail) == 1 for tail in tails):
            yield _Row(prompt, text, tails, included=False)
        else:
            for choice, tail in zip(choices, tails, strict=True):
                yield _Row(prompt, f"{text}{joint}{choice}", [tail], included=True)

    def _score_rows(self, inputs: Inputs, rows: Sequence[_Row]) -> Iterator[list[float]]:
        import torch

        longest = max(len(tail) for row in rows for tail in row.tails)
        keep = {"logits_to_keep": longest + 1} if "logits_to_keep" in self._parameters else {}
        with torch.inference_mode():
            logits = self.loaded.model(**inputs, **keep, **self._positions(inputs)).logits
        for row, logs in zip(rows, logits.float().log_softmax(dim=-1), strict=True):
            yield [self._score(logs[:-1] if row.included else logs, tail) for tail in row.tails]

    def _score(self, logs: "torch.Tensor", tail: list[int]) -> float:
        values = logs[-len(tail) :].gather(1, logs.new_tensor(tail).long()[:, None])
        return float(values.mean() if self.normalise == "mean" else values.sum())

    def _positions(self, inputs: Inputs) -> Inputs:
        """Count positions from the first token that is not padding; models that take images do this themselves."""
        if self.loaded.takes_images or "position_ids" not in self._parameters:
            return {}
        return {"position_ids": (inputs["attention_mask"].cumsum(dim=1) - 1).clamp(min=0)}

    def _render_conversation(self, content: str | list[dict[str, str]]) -> str:
        conversation = [{"role": "user", "content": content}]
        return str(self.loaded.processor.apply_chat_template(conversation, add_generation_prompt=True, tokenize=False))

    def _lacks_special_tokens(self, text: str) -> bool:
        """Return whether the tokenizer has to add special tokens: a conversation already includes them."""
        if self.loaded.processor.chat_template is None:
            return True
        start = self.loaded.tokenizer.bos_token
        return self.loaded.takes_images and not (start and text.startswith(start))

    def _tokenize(self, texts: list[str]) -> list[list[int]]:
        return list(self.loaded.tokenizer(texts, add_special_tokens=False)["input_ids"])

    def _to_device(self, value: Any) -> Any:  # noqa: ANN401 - tensors and what else a processor makes
        import torch

        if not isinstance(value, torch.Tensor):
            return value
        return value.to(self.loaded.device, self.loaded.model.dtype if value.is_floating_point() else None)

    @cached_property
    def _parameters(self) -> set[str]:
        return set(inspect.signature(self.loaded.model.forward).parameters)


def _mark(parts: Sequence[str | Picture]) -> list[dict[str, str]]:
    return [{"type": "text", "text": part} if isinstance(part, str) else {"type": "image"} for part in parts]


def _count_shared(left: Sequence[int], right: Sequence[int]) -> int:
    """Count the tokens in the common prefix of two texts."""
    differ = (i for i, (one, other) in enumerate(zip(left, right, strict=False)) if one != other)
    return next(differ, min(len(left), len(right)))


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
        answers = chat.write(inputs, batch.draw)
        written = [Response(text, one, stop=stop) for (text, stop), one in zip(answers, scores, strict=True)]
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
