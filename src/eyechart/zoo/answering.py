"""Let a trained network answer what probes show."""

from typing import NamedTuple

import numpy as np
import polars as pl
import torch
from torch import Tensor

from eyechart.dataset import Images
from eyechart.errors import ModelError
from eyechart.zoo.batch import Batch
from eyechart.zoo.course import Course
from eyechart.zoo.features import Features
from eyechart.zoo.folder import Folder
from eyechart.zoo.model import LIKELIEST
from eyechart.zoo.shelf import Deck, Shelf
from eyechart.zoo.shown import encode_shown
from eyechart.zoo.training import SHOWN_AT_ONCE


class Said(NamedTuple):
    """What was said to each probe: the likeliest answers, their probabilities, the attention on each region."""

    texts: list[list[str]]
    scores: np.ndarray
    attention: list[list[float]] | None


class Likely(NamedTuple):
    """The likeliest answers to a batch by number, their probabilities, the attention on each region."""

    answers: np.ndarray  # [B, 10]
    scores: np.ndarray  # [B, 10]
    attention: np.ndarray | None  # [B, N]


class Answerer:
    """A network and its method with trained weights."""

    def __init__(self, folder: Folder, weights: str, device: str) -> None:
        self.device = Course(device=device).place()
        self.network, self.debias = folder.open(weights)
        self.network.to(self.device).eval()
        self.debias.to(self.device).eval()
        self.vocabulary = folder.vocabulary
        self.options = "cand" in self.network.needs

    def answer(self, shown: pl.DataFrame, images: Images, features: Features) -> Said:
        """Answer filled probes."""
        if self.options and "choices" not in shown.columns:
            raise ModelError("options to choose among", "none in the probes", "ask a model that answers openly")
        questions = encode_shown(shown, images, self.vocabulary, features)
        shelf = Shelf(features.regions, self.device, room=0)  # the images of these probes alone are fetched
        deck = Deck(questions, shelf, len(self.vocabulary.answers), options=self.options)
        parts = [self._say(batch) for batch in deck.batches(SHOWN_AT_ONCE)]
        likely, scores = (np.concatenate([part[at] for part in parts]) for at in (0, 1))
        looks = [row for part in parts if part.attention is not None for row in part.attention.tolist()]
        there = np.where(questions.image >= 0, np.diff(features.regions.starts)[questions.image], 0)
        attention = [row[:n] for row, n in zip(looks, there.tolist(), strict=True)] if looks else None
        return Said(self._texts(likely, scores, shown), scores, attention)

    @torch.no_grad()
    def _say(self, batch: Batch) -> Likely:
        logits = self.debias.predict(self.network, batch).float()
        if batch.cand is not None:
            logits = logits.masked_fill((batch.cand == 0).all(-1), -torch.inf)
        best = logits.softmax(1).topk(min(LIKELIEST, logits.shape[1]), 1)
        att: Tensor | None = self.network(batch).att
        looks = None if att is None else att.float().cpu().numpy()
        return Likely(best.indices.cpu().numpy(), best.values.cpu().numpy(), looks)

    def _texts(self, likely: np.ndarray, scores: np.ndarray, shown: pl.DataFrame) -> list[list[str]]:
        if not self.options:
            answers = np.array(self.vocabulary.answers)
            texts: list[list[str]] = answers[likely].tolist()
            return texts
        options = shown["choices"].fill_null([]).to_list()
        return [
            [choices[at] for at, score in zip(places, chances, strict=True) if at < len(choices) and score > 0]
            for choices, places, chances in zip(options, likely.tolist(), scores.tolist(), strict=True)
        ]
