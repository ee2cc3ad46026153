"""Models of Hugging Face transformers: chat models that see pictures, classic VQA models, and blind language models."""

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Literal

from eyechart.models.chat import Chat, Decoding, Scores
from eyechart.models.classic import classify
from eyechart.models.prompted import Prompted
from eyechart.models.prompts import choose_template
from eyechart.models.shown import Said, Shown
from eyechart.models.specs import divide_spec, open_prompted
from eyechart.models.weights import Kind, Opened, Place, find_kind, find_revision, open_weights
from eyechart.protocols import Where

_LOG = logging.getLogger(__name__)
_TOLD_OTHERWISE = ("model", "revision", "kind", "device", "batch")  # or change no answer


@dataclass(frozen=True)
class HuggingFace:
    """Ask a model in this process; its weights are opened at the first prompt."""

    model: str  # a folder, or a name on the hub
    revision: str | None = None
    kind: Literal["auto", "chat", "vqa", "text"] = "auto"
    device: str = "auto"
    dtype: str = "auto"  # as the weights were saved
    batch: int = 8
    max_new_tokens: int = 32
    temperature: float = 0.0  # 0: greedy
    scores: bool = False  # log-probabilities of the options, too
    normalise: Literal["mean", "sum"] = "mean"  # over the tokens of an option
    decide: Literal["text", "scores"] = "text"  # scores: the likeliest option is the answer, and nothing is written

    @property
    def place(self) -> Where:
        """Ask for a GPU where there is one, unless told otherwise."""
        return "slot" if self.device == "cpu" else "gpu"

    @property
    def identity(self) -> str:
        """Write everything that decides an answer beside what is shown; the revision is that of the weights."""
        name = Path(self.model).name if Path(self.model).is_dir() else self.model
        settings = {name: value for name, value in asdict(self).items() if name not in _TOLD_OTHERWISE}
        told = {"kind": "hf", "model": name, "revision": find_revision(self.model, self.revision)}
        return json.dumps(told | {"as": self._find_kind()} | settings)

    def answer_shown(self, shown: Shown) -> list[Said]:
        """Answer each prompt, in order."""
        said: dict[int, Said] = {}
        self.answer_each(shown, said.__setitem__)
        return [said[at] for at in range(len(shown.prompts))]

    def answer_each(self, shown: Shown, heard: Callable[[int, Said], None]) -> None:
        """Answer batch by batch and hand the answers over as they come."""
        kind = self._find_kind()
        opened = open_weights(Place(self.model, self.revision, kind, self.device, self.dtype))
        for places in _batches(shown, self.batch):
            part = shown.take(places)
            answers = classify(opened, part, self.decide) if kind == "vqa" else self._chat(opened, part)
            for at, said in zip(places, answers, strict=True):
                heard(at, said)

    def _find_kind(self) -> Kind:
        return find_kind(self.model, self.revision) if self.kind == "auto" else self.kind

    def _chat(self, opened: Opened, shown: Shown) -> list[Said]:
        chat = Chat(opened, Decoding(self.max_new_tokens, self.temperature, self.normalise))
        texts = chat.render(shown)
        inputs = chat.encode(texts, shown)
        too_long = chat.find_too_long(inputs)
        if any(too_long):
            fit = [at for at, reason in enumerate(too_long) if reason is None]
            said = iter(self._chat(opened, shown.take(fit)) if fit else ())
            return [Said(None, failed=reason) if reason else next(said) for reason in too_long]
        scores = chat.score(texts, shown) if self.scores or self.decide == "scores" else [None] * len(texts)
        if self.decide == "scores" and all(scores):
            return [_likeliest(one or []) for one in scores]
        written = [Said(text, one) for text, one in zip(chat.write(inputs, shown.draw), scores, strict=True)]
        return [_likeliest(one.scores) if one.scores and self.decide == "scores" else one for one in written]


def _likeliest(scores: Scores) -> Said:
    return Said(max(scores, key=itemgetter(1))[0], scores)


def _batches(shown: Shown, size: int) -> Iterator[list[int]]:
    """Put prompts of like length together, and those with pictures apart from those without."""
    pictures = shown.all_pictures()
    order = sorted(range(len(shown.prompts)), key=lambda at: len(shown.prompts[at]))
    for part in ([at for at in order if not pictures[at]], [at for at in order if pictures[at]]):
        yield from (part[at : at + size] for at in range(0, len(part), size))


def open_huggingface(spec: str) -> Prompted:
    """Ask a model of transformers: `hf:FOLDER`, `hf:org/name,revision=main,dtype=float32,prompt=short`."""
    what, given = divide_spec(spec)
    found = open_prompted("hf", spec, HuggingFace)
    kind = given.get("kind", "auto")
    kind = find_kind(what, given.get("revision")) if kind == "auto" else kind
    template = choose_template("bare") if kind == "vqa" and "prompt" not in given else found.template
    if kind == "text":
        _LOG.warning("%s has no eyes: it is shown no pictures", found.name)
    return replace(found, template=template, blind=kind == "text")
