"""Run chat models: let a language model write answers, or score possible ones, with pictures if it takes any.

A score is the log-probability of an option's tokens after the prompt (0 at best), their sum or their mean; all options
of a question are scored from the same token on. Prompts are padded on the left, so answers start where prompts end.
"""

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from eyechart.base.errors import ModelError
from eyechart.language.prompts import PromptBatch
from eyechart.models.weights import LoadedModel

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
        return [
            self._render_conversation(prompt, len(pictures))
            for prompt, pictures in zip(prompts, batch.all_pictures(), strict=True)
        ]

    def encode(self, texts: Sequence[str], batch: PromptBatch) -> Inputs:
        """Turn conversations and their pictures into tensors."""
        pictures = [[one.pixels for one in each] for each in batch.all_pictures()]
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

    def write(self, inputs: Inputs, draw: int) -> list[str]:
        """Write answers: greedily at temperature 0, else with a seed derived from the batch and the draw."""
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
        texts = self.loaded.tokenizer.batch_decode(written[:, prompt.shape[1] :], skip_special_tokens=True)
        return [str(text) for text in texts]

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

    def _render_conversation(self, prompt: str, pictures: int) -> str:
        parts = [{"type": "image"}] * pictures + [{"type": "text", "text": prompt}]
        content = parts if self.loaded.takes_images else prompt
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


def _count_shared(left: Sequence[int], right: Sequence[int]) -> int:
    """Count the tokens in the common prefix of two texts."""
    differ = (i for i, (one, other) in enumerate(zip(left, right, strict=False)) if one != other)
    return next(differ, min(len(left), len(right)))
