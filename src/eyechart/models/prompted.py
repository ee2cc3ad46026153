"""Ask models in words: probes become prompts and pictures, and responses become answers.

A model string says what to open, followed by settings after commas: `openai:tiny,prompt=short,draws=5`.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

import polars as pl

from eyechart.base.characters import storable
from eyechart.base.errors import ModelError, SettingError
from eyechart.base.settings import fit_settings
from eyechart.data.images import Images
from eyechart.data.predictions import is_cut
from eyechart.data.protocols import WorkerKind
from eyechart.data.tables import ANSWERS
from eyechart.language.prompts import (
    PromptBatch,
    Template,
    build_blind_prompts,
    build_prompts,
    choose_template,
    list_labels,
)
from eyechart.models.backend import Backend, Response, worker_kind
from eyechart.models.cache import CachedBackend, MemoryStore, open_cache
from eyechart.models.extraction import extract

COMMON: dict[str, Any] = {"prompt": str, "draws": int, "cache": str, "fresh": bool}  # settings of every backend
# Settings that change how an answer is obtained, but not which one; they are left out of the model's name.
UNNAMED = (
    "base_url", "key", "concurrency", "per_minute", "timeout", "deadline", "max_response", "retries", "cache", "fresh",
    "batch", "device",
)  # fmt: skip
_ScoredAnswer = dict[str, str | float]


@dataclass(frozen=True)
class Prompted:
    """Prompt a backend with probes, and extract the answers from its responses."""

    name: str
    backend: Backend  # may have a cache in front of it
    template: Template = field(default_factory=lambda: choose_template(None))
    draws: int = 1  # how often each probe is asked
    blind: bool = False  # takes no pictures, so they are not even opened

    @property
    def identity(self) -> str:
        """Return as JSON everything besides the probes that determines an answer: the backend and the wording."""
        wording = {"prompt": self.template.identity, "words": self.template.digest}
        return json.dumps(json.loads(self.backend.identity) | wording)

    @property
    def place(self) -> WorkerKind:
        """Run where the backend runs."""
        return worker_kind(self.backend)

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """Answer a batch of filled probes, once for each draw."""
        batch = self.build_prompts(probes, images)
        return pl.concat([self._draw(batch._replace(draw=draw), probes) for draw in range(self.draws)])

    def build_prompts(self, probes: pl.DataFrame, images: Images) -> PromptBatch:
        """Write the prompts of filled probes, and open their pictures unless the model is blind."""
        if self.blind:
            return build_blind_prompts(probes, self.template)
        return build_prompts(probes, images, self.template)

    def foresee(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """List the calls that filled probes would take (key, known, pictures, tokens) without making any."""
        batch = self.build_prompts(probes, images)
        backend = self.backend
        cached = backend if isinstance(backend, CachedBackend) else CachedBackend(backend, MemoryStore())
        return pl.concat([cached.foresee(batch._replace(draw=draw)) for draw in range(self.draws)])

    def outdated(self, probes: pl.DataFrame, images: Images) -> set[str]:
        """Return the keys of calls that are made anew because earlier versions showed the pictures otherwise."""
        if not isinstance(self.backend, CachedBackend):
            return set()
        batch = self.build_prompts(probes, images)
        return set().union(*(self.backend.outdated(batch._replace(draw=draw)) for draw in range(self.draws)))

    def _draw(self, batch: PromptBatch, probes: pl.DataFrame) -> pl.DataFrame:
        responses = self.backend.respond(batch)
        if len(responses) != probes.height:
            advice = "return one response for each prompt"
            raise ModelError(f"{probes.height} answers from {self.name}", f"{len(responses)}", advice)
        return read_responses(responses, probes, self.template).with_columns(draw=pl.lit(batch.draw, pl.Int64))


def read_responses(responses: list[Response], probes: pl.DataFrame, template: Template) -> pl.DataFrame:
    """Extract a table of answers from responses, in the order of probes.

    It has id, answer, raw, status, scores, score_kind, stop_reason and model_name. If a prompt failed, `raw` holds the
    reason. A text that was cut off is unparsed: what it would have said is unknown.
    """
    responses = [one.edit_texts(storable) for one in responses]
    raw = pl.Series("raw", [one.failed if one.failed is not None else one.raw for one in responses], pl.String)
    failed = pl.Series("failed", [one.failed is not None or one.raw is None for one in responses], pl.Boolean)
    refused = pl.Series("refused", [one.refused for one in responses], pl.Boolean)
    ends = {"stop_reason": [one.stop for one in responses], "model_name": [one.model for one in responses]}
    read = extract(raw, probes, template).with_columns(pl.Series(name, ends[name], pl.String) for name in ends)
    cut = is_cut(read) & ~failed & ~refused
    status = pl.when(failed).then(pl.lit("failed")).when(refused).then(pl.lit("refused"))
    extracted = read.select(
        pl.when(~failed & ~refused & ~cut).then("answer").alias("answer"),
        raw,
        status.when(cut).then(pl.lit("unparsed")).otherwise("status").alias("status"),
        *ends,
    )
    scores = pl.Series("scores", _name_scores(responses, probes, template), ANSWERS.columns["scores"].dtype)
    kind = pl.when(pl.col("scores").is_not_null()).then(pl.lit("logprob")).alias("score_kind")
    return probes.select("id").with_columns(*extracted, scores).with_columns(kind)


def _name_scores(
    responses: list[Response], probes: pl.DataFrame, template: Template
) -> list[list[_ScoredAnswer] | None]:
    """Replace the labels of options by the options."""
    labels = list_labels(probes, template).to_list()
    options = probes["choices"].to_list() if "choices" in probes.columns else labels
    meanings = [dict(zip(names or (), texts or (), strict=True)) for names, texts in zip(labels, options, strict=True)]
    return [
        [{"answer": meaning.get(label, label), "score": score} for label, score in one.scores] if one.scores else None
        for one, meaning in zip(responses, meanings, strict=True)
    ]


def open_prompted(kind: str, spec: str, backend: Callable[..., Backend]) -> Prompted:
    """Open a backend as a model: the backend's first field is what to open, its other fields are settings."""
    what, given = split_spec(spec)
    first, *others = get_type_hints(backend).items()
    settings = fit_settings(kind, dict(others) | COMMON, given)
    common = {name: settings.pop(name) for name in COMMON if name in settings}
    return prompt_backend(_name_model(what, given), backend(**{first[0]: what}, **settings), common)


def prompt_backend(name: str, backend: Backend, common: Mapping[str, Any]) -> Prompted:
    """Wrap a backend with prompts, a cache and several draws, as the common settings say."""
    draws = common.get("draws", 1)
    if draws < 1 or (draws > 1 and not getattr(backend, "temperature", 0)):
        advice = "set temperature above 0, or leave draws at 1"
        raise SettingError("one draw, or several at a temperature above 0", f"draws={draws} at temperature 0", advice)
    store = open_cache(common.get("cache"), fresh=common.get("fresh", False))
    return Prompted(name, CachedBackend(backend, store), choose_template(common.get("prompt")), draws)


def split_spec(spec: str) -> tuple[str, dict[str, str]]:
    """Split a model string into what to open and the settings that follow."""
    if Path(spec).exists():
        return spec, {}
    what, *words = spec.split(",")
    settings = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise SettingError(
                "NAME=VALUE after each comma of a model string", repr(word), "put an equals sign between them"
            )
        settings[name] = value
    return what, settings


def _name_model(what: str, given: Mapping[str, str]) -> str:
    base = Path(what).resolve().name if Path(what).is_dir() else what
    return ",".join([base, *(f"{name}={value}" for name, value in given.items() if name not in UNNAMED)])
