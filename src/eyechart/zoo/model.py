"""A trained network of the zoo as a model that answers probes: `zoo:FOLDER`.

It answers with scores (the ten likeliest, softmax of its logits) and, where the network has one, the attention on each
region. Regions that a probe leaves out are masked; an image taken from a donor brings the donor's features.
"""

import json
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from eyechart.dataset import Images
from eyechart.errors import MissingExtraError, ModelError
from eyechart.models.specs import divide_spec
from eyechart.protocols import Where
from eyechart.settings import fit_settings
from eyechart.tables import SCORED_ANSWER

if TYPE_CHECKING:
    from eyechart.zoo.answering import Answerer

LIKELIEST = 10


@dataclass
class ZooModel:
    """A trained network; `weights` are the best on validation or the last, `trust` lets it bring code of its own."""

    folder: Path
    weights: str = "best"
    device: str = "auto"
    trust: bool = False
    name: str = ""
    _known: dict[int, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.name = self.name or self.folder.resolve().name + ("" if self.weights == "best" else f",{self.weights}")

    @cached_property
    def opened(self) -> "Answerer":
        """Open the weights, at the first question."""
        from eyechart.zoo.answering import Answerer
        from eyechart.zoo.folder import Folder

        return Answerer(Folder(self.folder, self.trust), self.weights, self.device)

    @property
    def place(self) -> Where:
        """Ask for a GPU where there is one, unless told otherwise."""
        return "slot" if self.device == "cpu" else "gpu"

    @property
    def identity(self) -> str:
        """Say which network and method it is, what it learned from, and which audits it was trained on."""
        from eyechart.zoo.folder import Folder

        folder = Folder(self.folder, self.trust)
        record = folder.vouched
        told = {name: getattr(record, name) for name in ("model", "method", "data", "init", "sizes")}
        flags = {name: list(getattr(record, name)) for name in ("pretrained_on", "trained_on_the_metric")}
        which = {"weights": self.weights, "digest": folder.digest(self.weights), "seed": record.course.get("seed")}
        return json.dumps({"kind": "zoo", **which, **told, **flags})

    def answer(self, probes: pl.DataFrame, images: Images) -> pl.DataFrame:
        """Answer filled probes, with scores and attention."""
        from eyechart.zoo.features import open_features

        if id(images.table) not in self._known:  # made once for all batches of a dataset
            self._known = {id(images.table): (open_features(images), images.table)}
        features, _ = self._known[id(images.table)]
        wanted, width = self.opened.network.sizes.features, features.regions.values.shape[1]
        if width != wanted:
            advice = "use the features it was trained on"
            raise ModelError(f"{wanted} numbers a region for {self.name}", f"{width}", advice)
        said = self.opened.answer(probes, images, features)
        return _table(probes, said.texts, said.scores, said.attention)


def _table(
    probes: pl.DataFrame, texts: list[list[str]], scores: np.ndarray, attention: list[list[float]] | None
) -> pl.DataFrame:
    """Lay answers out with their scores, the likeliest first."""
    pairs = [
        [{"answer": text, "score": float(score)} for text, score in zip(row, likely, strict=False)]
        for row, likely in zip(texts, scores, strict=True)
    ]
    found = pl.DataFrame(
        {
            "id": probes["id"],
            "answer": pl.Series([row[0] if row else None for row in texts], dtype=pl.String),
            "scores": pl.Series(pairs, dtype=pl.List(SCORED_ANSWER)),
            "score_kind": pl.repeat("prob", probes.height, eager=True),
        }
    )
    if attention is None:
        return found
    return found.with_columns(attention=pl.Series(attention, dtype=pl.List(pl.Float64)))


def open_zoo(spec: str) -> ZooModel:
    """Open a model made by `eyechart train`: `zoo:FOLDER`, `zoo:FOLDER,weights=last,device=cpu`."""
    if find_spec("torch") is None:
        raise MissingExtraError("the package torch", "none", "pip install 'eyechart[torch]'")
    what, given = divide_spec(spec)
    found = fit_settings("zoo", {"weights": str, "device": str, "trust": bool}, given)
    model = ZooModel(Path(what), **found)  # type: ignore[arg-type]  # each is of the kind that was asked for
    if model.weights not in {"best", "last"}:
        raise ModelError("weights=best or weights=last", repr(model.weights), "choose one")
    json.loads(model.identity)  # so that a wrong folder, or code nobody trusts, is refused at once
    return model
