"""A trained network of the zoo as a model that answers probes: `zoo:FOLDER`.

It answers with scores (the ten most likely answers, softmax of its logits) and, if the network has attention, the
attention on each region. Regions that a probe leaves out are masked; an image from a donor has the donor's features.
"""

import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
import torch

from eyechart.base.errors import ModelError
from eyechart.base.settings import fit_settings
from eyechart.data.images import Images
from eyechart.data.protocols import WorkerKind
from eyechart.data.tables import SCORED_ANSWER
from eyechart.models.prompted import split_spec
from eyechart.zoo.arrays import QuestionArrays
from eyechart.zoo.batch import Batch
from eyechart.zoo.features import Features, open_features
from eyechart.zoo.loader import DeviceRegions, QuestionLoader
from eyechart.zoo.probes import encode_probes
from eyechart.zoo.train.folder import TrainingFolder
from eyechart.zoo.train.loop import EVALUATION_BATCH
from eyechart.zoo.train.settings import TrainingSettings

LIKELIEST = 10


@dataclass
class ZooModel:
    """A trained network; `weights` are the best on validation or the last, `trust` allows it to run its own code."""

    folder: Path
    weights: str = "best"
    device: str = "auto"
    trust: bool = False
    name: str = ""
    _features: dict[int, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.name = self.name or self.folder.resolve().name + ("" if self.weights == "best" else f",{self.weights}")

    @cached_property
    def opened(self) -> "Answerer":
        """Load the weights, on first use."""
        return Answerer(TrainingFolder(self.folder, self.trust), self.weights, self.device)

    @property
    def place(self) -> WorkerKind:
        """Ask for a GPU if there is one, unless the device is the CPU."""
        return "slot" if self.device == "cpu" else "gpu"

    @property
    def identity(self) -> str:
        """Describe as JSON the network and method, the training data, and the audits it was trained on."""
        folder = TrainingFolder(self.folder, self.trust)
        record = folder.trusted_record
        facts = {name: getattr(record, name) for name in ("model", "method", "data", "init", "sizes")}
        flags = {name: list(getattr(record, name)) for name in ("pretrained_on", "trained_on_the_metric")}
        which = {"weights": self.weights, "digest": folder.digest(self.weights), "seed": record.course.get("seed")}
        return json.dumps({"kind": "zoo", **which, **facts, **flags})

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """Answer filled probes, with scores and attention."""
        if id(images.table) not in self._features:  # open once for all batches of a dataset
            self._features = {id(images.table): (open_features(images), images.table)}
        features, _ = self._features[id(images.table)]
        expected, width = self.opened.network.sizes.features, features.regions.values.shape[1]
        if width != expected:
            advice = "use the features it was trained on"
            raise ModelError(f"{expected} numbers per region for {self.name}", f"{width}", advice)
        return self.opened.answer(probes, images, features)


def open_trained(spec: str) -> ZooModel:
    """Open a model made by `eyechart train`: `FOLDER`, `FOLDER,weights=last,device=cpu`."""
    what, given = split_spec(spec)
    settings = fit_settings("zoo", {"weights": Literal["best", "last"], "device": str, "trust": bool}, given)
    model = ZooModel(Path(what), **settings)  # type: ignore[arg-type]  # each has the requested type
    json.loads(model.identity)  # refuses a wrong folder or untrusted code at once
    return model


class Answerer:
    """A network and its method with trained weights, on a device."""

    def __init__(self, folder: TrainingFolder, weights: str, device: str) -> None:
        self.device = TrainingSettings(device=device).torch_device()
        self.network, self.debias = folder.open(weights)
        self.network.to(self.device).eval()
        self.debias.to(self.device).eval()
        self.vocabulary = folder.vocabulary
        self.options = "cand" in self.network.needs

    def answer(self, probes: pl.DataFrame, images: Images, features: Features) -> pl.DataFrame:
        """Answer filled probes, with the most likely answers, their probabilities, and the attention on each region."""
        if self.options and "choices" not in probes.columns:
            raise ModelError("options to choose among", "none in the probes", "ask a model that answers openly")
        questions = encode_probes(probes, images, self.vocabulary, features)
        regions = DeviceRegions(features.regions, self.device, room=0)  # fetches the images of these probes alone
        loader = QuestionLoader(questions, regions, len(self.vocabulary.answers), options=self.options)
        parts = [self._likeliest(batch) for batch in loader.batches(EVALUATION_BATCH)]
        likely, scores = (np.concatenate([part[index] for part in parts]) for index in (0, 1))
        attention = [row for *_, rows in parts if rows is not None for row in rows.tolist()]
        return _table(
            probes,
            self._texts(likely, scores, probes),
            scores,
            _cut_to_regions(attention, questions, features) if attention else None,
        )

    @torch.no_grad()
    def _likeliest(self, batch: Batch) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the most likely answers by number, their probabilities, both [B, 10], and the attention, [B, N]."""
        logits = self.debias.predict(self.network, batch).float()
        if batch.cand is not None:
            logits = logits.masked_fill((batch.cand == 0).all(-1), -torch.inf)
        best = logits.softmax(1).topk(min(LIKELIEST, logits.shape[1]), 1)
        att = self.network(batch).att
        attention = None if att is None else att.float().cpu().numpy()
        return best.indices.cpu().numpy(), best.values.cpu().numpy(), attention

    def _texts(self, likely: np.ndarray, scores: np.ndarray, probes: pl.DataFrame) -> list[list[str]]:
        if not self.options:
            answers = np.array(self.vocabulary.answers)
            texts: list[list[str]] = answers[likely].tolist()
            return texts
        options = probes["choices"].fill_null([]).to_list()
        return [
            [choices[i] for i, score in zip(indices, chances, strict=True) if i < len(choices) and score > 0]
            for choices, indices, chances in zip(options, likely.tolist(), scores.tolist(), strict=True)
        ]


def _cut_to_regions(attention: list[list[float]], questions: QuestionArrays, features: Features) -> list[list[float]]:
    """Remove the padding from the attention of each question."""
    counts = np.where(questions.image >= 0, np.diff(features.regions.starts)[questions.image], 0)
    return [row[:n] for row, n in zip(attention, counts.tolist(), strict=True)]


def _table(
    probes: pl.DataFrame, texts: list[list[str]], scores: np.ndarray, attention: list[list[float]] | None
) -> pl.DataFrame:
    """Lay out answers with their scores, the most likely first."""
    pairs = [
        [{"answer": text, "score": float(score)} for text, score in zip(row, likely, strict=False)]
        for row, likely in zip(texts, scores, strict=True)
    ]
    answers = pl.DataFrame(
        {
            "id": probes["id"],
            "answer": pl.Series([row[0] if row else None for row in texts], dtype=pl.String),
            "scores": pl.Series(pairs, dtype=pl.List(SCORED_ANSWER)),
            "score_kind": pl.repeat("prob", probes.height, eager=True),
        }
    )
    if attention is None:
        return answers
    return answers.with_columns(attention=pl.Series(attention, dtype=pl.List(pl.Float64)))
