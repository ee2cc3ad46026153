"""Let a language model write answers, or score what it may say, with pictures where it has eyes.

A score is the log-probability of an option's tokens after the prompt (0 at best), their sum or their mean; all options
of a question are scored from the same token on. Prompts are padded on the left, so answers begin where prompts end.
"""

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from eyechart.errors import ModelError
from eyechart.models.shown import Shown
from eyechart.models.weights import Opened

if TYPE_CHECKING:
    import torch

Scores = list[tuple[str, float]]
Inputs = dict[str, Any]


class Decoding(NamedTuple):
    """How answers are written and options scored."""

    max_new_tokens: int
    temperature: float
    normalise: Literal["mean", "sum"]


class _Row(NamedTuple):
    """A text to feed, and the tokens to score: at its end where it is written out, else as what may come next."""

    place: int
    text: str
    tails: list[list[int]]
    written: bool


@dataclass(frozen=True)
class Chat:
    """An opened model to talk to."""

    opened: Opened
    decoding: Decoding

    def render(self, shown: Shown) -> list[str]:
        """Write each prompt as a conversation in the model's own form; a text model without one gets it bare."""
        token = getattr(self.opened.processor, "image_token", None)
        # A mark like <image> inside a question would be taken for one more picture.
        prompts = [
            prompt.replace(token, "").strip() if token and token in prompt else prompt for prompt in shown.prompts
        ]
        if self.opened.processor.chat_template is None:
            if self.opened.sighted:
                raise ModelError("a chat template", "none saved with the model", "save one, or ask a chat model")
            return prompts
        return [
            self._converse(prompt, len(pictures))
            for prompt, pictures in zip(prompts, shown.all_pictures(), strict=True)
        ]

    def encode(self, texts: Sequence[str], shown: Shown) -> Inputs:
        """Make tensors of conversations and their pictures."""
        pictures = [[one.pixels for one in each] for each in shown.all_pictures()]
        seen = {"images": pictures} if self.opened.sighted and any(pictures) else {}
        made = self.opened.processor(
            text=list(texts), **seen, padding=True, return_tensors="pt", add_special_tokens=self._bare(texts[0])
        )
        if "token_type_ids" not in self._parameters:
            made.pop("token_type_ids", None)
        return {name: self._place(value) for name, value in made.items()}

    def find_too_long(self, inputs: Inputs) -> list[str | None]:
        """Say of each prompt why the model has no room for it and an answer; None where it has."""
        room = getattr(self.opened.model.config.get_text_config(), "max_position_embeddings", None) or float("inf")
        tokens = inputs["attention_mask"].sum(dim=1).tolist()
        fits = [n + self.decoding.max_new_tokens <= room for n in tokens]
        words = f"{self.decoding.max_new_tokens} for the answer are more than its room of {room}"
        return [None if fit else f"{n} tokens and {words}" for n, fit in zip(tokens, fits, strict=True)]

    def write(self, inputs: Inputs, draw: int) -> list[str]:
        """Write answers, greedily at temperature 0, else with a seed made of the batch and the draw."""
        import torch

        prompt = inputs["input_ids"]
        how: dict[str, Any] = {"max_new_tokens": self.decoding.max_new_tokens, "num_beams": 1, "do_sample": False}
        if self.decoding.temperature > 0:
            how |= {"do_sample": True, "temperature": self.decoding.temperature, "top_k": 0, "top_p": 1.0}
        seed = sha256(f"{draw} {prompt.tolist()}".encode()).digest()
        with torch.inference_mode(), torch.random.fork_rng():
            torch.manual_seed(int.from_bytes(seed[:7], "big"))
            made = self.opened.model.generate(**inputs, **how, pad_token_id=self.opened.tokenizer.pad_token_id)
        texts = self.opened.tokenizer.batch_decode(made[:, prompt.shape[1] :], skip_special_tokens=True)
        return [str(text) for text in texts]

    def score(self, texts: Sequence[str], shown: Shown) -> list[Scores | None]:
        """Score what may be said to each prompt; None where that is anything."""
        found: list[list[float]] = [[] for _ in texts]
        rows = [
            row for at, choices in enumerate(shown.choices) if choices for row in self._rows(at, texts[at], choices)
        ]
        for at in range(0, len(rows), len(texts)):
            batch = rows[at : at + len(texts)]
            inputs = self.encode([row.text for row in batch], shown.take([row.place for row in batch]))
            for row, values in zip(batch, self._score_rows(inputs, batch), strict=True):
                found[row.place] += values
        pairs = zip(shown.choices, found, strict=True)
        return [list(zip(choices, values, strict=True)) if choices else None for choices, values in pairs]

    def _rows(self, place: int, text: str, choices: Sequence[str]) -> Iterator[_Row]:
        """Feed the prompt once where each option is one more token, else once with each option behind it."""
        bare = not text or text[-1].isspace() or text.endswith(tuple(self.opened.tokenizer.all_special_tokens))
        joint = "" if bare else " "
        prompt, *written = self._tokens([text, *(f"{text}{joint}{choice}" for choice in choices)])
        start = min(_shared(prompt, each) for each in written)  # the end of the prompt and an option may be one token
        tails = [each[start:] for each in written]
        if start == len(prompt) and all(len(tail) == 1 for tail in tails):
            yield _Row(place, text, tails, written=False)
        else:
            for choice, tail in zip(choices, tails, strict=True):
                yield _Row(place, f"{text}{joint}{choice}", [tail], written=True)

    def _score_rows(self, inputs: Inputs, rows: Sequence[_Row]) -> Iterator[list[float]]:
        import torch

        longest = max(len(tail) for row in rows for tail in row.tails)
        keep = {"logits_to_keep": longest + 1} if "logits_to_keep" in self._parameters else {}
        with torch.inference_mode():
            logits = self.opened.model(**inputs, **keep, **self._positions(inputs)).logits
        for row, found in zip(rows, logits.float().log_softmax(dim=-1), strict=True):
            yield [self._score(found[:-1] if row.written else found, tail) for tail in row.tails]

    def _score(self, found: "torch.Tensor", tail: list[int]) -> float:
        values = found[-len(tail) :].gather(1, found.new_tensor(tail).long()[:, None])
        return float(values.mean() if self.decoding.normalise == "mean" else values.sum())

    def _positions(self, inputs: Inputs) -> Inputs:
        """Count positions from the first token that is no padding; models with eyes do so themselves."""
        if self.opened.sighted or "position_ids" not in self._parameters:
            return {}
        return {"position_ids": (inputs["attention_mask"].cumsum(dim=1) - 1).clamp(min=0)}

    def _converse(self, prompt: str, pictures: int) -> str:
        parts = [{"type": "image"}] * pictures + [{"type": "text", "text": prompt}]
        content = parts if self.opened.sighted else prompt
        conversation = [{"role": "user", "content": content}]
        return str(self.opened.processor.apply_chat_template(conversation, add_generation_prompt=True, tokenize=False))

    def _bare(self, text: str) -> bool:
        """Tell whether the tokenizer has to add its own marks: a conversation carries them already."""
        if self.opened.processor.chat_template is None:
            return True
        start = self.opened.tokenizer.bos_token
        return self.opened.sighted and not (start and text.startswith(start))

    def _tokens(self, texts: list[str]) -> list[list[int]]:
        return list(self.opened.tokenizer(texts, add_special_tokens=False)["input_ids"])

    def _place(self, value: Any) -> Any:  # noqa: ANN401 - tensors and what else a processor makes
        import torch

        if not isinstance(value, torch.Tensor):
            return value
        return value.to(self.opened.device, self.opened.model.dtype if value.is_floating_point() else None)

    @cached_property
    def _parameters(self) -> set[str]:
        return set(inspect.signature(self.opened.model.forward).parameters)


def _shared(left: Sequence[int], right: Sequence[int]) -> int:
    """Count the tokens that two texts begin with alike."""
    differ = (at for at, (one, other) in enumerate(zip(left, right, strict=False)) if one != other)
    return next(differ, min(len(left), len(right)))
