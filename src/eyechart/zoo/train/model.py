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

from eyechart.base.errors import DataError, ModelError
from eyechart.base.settings import fit_settings
from eyechart.data.boxes import BoxLists, gather, overlaps
from eyechart.data.images import Images
from eyechart.data.protocols import WorkerKind
from eyechart.data.several import boxes_on
from eyechart.data.tables import SCORED_ANSWER
from eyechart.models.prompted import split_spec
from eyechart.zoo.arrays import Array, QuestionArrays
from eyechart.zoo.batch import Batch
from eyechart.zoo.features import Features, frames_of, open_features
from eyechart.zoo.loader import DeviceRegions, QuestionLoader
from eyechart.zoo.train.folder import TrainingFolder
from eyechart.zoo.train.loop import EVALUATION_BATCH
from eyechart.zoo.train.settings import TrainingSettings
from eyechart.zoo.vocabulary import NetworkVocabulary, programs_of

COVERED = 0.5


def encode_probes(
    probes: pl.DataFrame, images: Images, vocabulary: NetworkVocabulary, features: Features
) -> QuestionArrays:
    """Convert filled probes to questions without targets."""
    shown = _without_removed(probes)
    numbers = features.number(shown["image"])
    n = probes.height
    return QuestionArrays(
        q=vocabulary.read(shown["question"]),
        image=numbers,
        answers=np.zeros((n, 1), np.int32),
        scores=np.zeros((n, 1), np.float32),
        qtype=vocabulary.number_types(shown["question"]),
        program=programs_of(shown["question"], vocabulary.word_numbers),
        cand=_options(probes, vocabulary),
        right=_no_scores(probes),
        seen=regions_in_sight(probes, images, features, numbers),
    )


def _without_removed(probes: pl.DataFrame) -> pl.DataFrame:
    removal = pl.col("removal").fill_null("") if "removal" in probes.columns else pl.lit("")
    return probes.select(
        pl.when(~removal.str.contains(f"{name}=", literal=True)).then(pl.col(name).cast(pl.String)).alias(name)
        for name in ("image", "question")
    )


def regions_in_sight(probes: pl.DataFrame, images: Images, features: Features, numbers: Array) -> Array | None:
    """Return which regions are visible, [M, N]; None if all are."""
    seen = np.ones((probes.height, features.regions.most), bool)
    if "visible" in probes.columns:
        if "objects" in images.table.columns:
            _check_objects(probes, images, features, numbers)
        seen &= _listed(probes["visible"], seen.shape)
    if "hidden" in probes.columns and probes["hidden"].list.len().max():
        seen &= ~_covered(probes, images, features, numbers)
    return None if seen.all() else seen


def _check_objects(probes: pl.DataFrame, images: Images, features: Features, numbers: Array) -> None:
    """Check that there are as many regions as objects, since `visible` refers to regions by object number."""
    counts = images.table.select("image", objects=pl.col("objects").list.len().fill_null(0))
    known = probes.select("image", "visible").with_columns(number=numbers).filter(pl.col("number") >= 0)
    known = known.drop_nulls("visible").join(counts, on="image", validate="m:1")
    regions = np.diff(features.regions.starts)[known["number"].to_numpy()]
    other = known.with_columns(regions=regions).filter(pl.col("objects") != pl.col("regions"))
    if other.height:
        image, n, own = other.select("image", "objects", "regions").row(0)
        advice = "use the boxes of the features as the objects of the data"
        raise DataError(f"as many regions as objects in image {image!r}", f"{own} and {n}", advice)


def _listed(visible: pl.Series, shape: tuple[int, ...]) -> Array:
    listed = np.zeros(shape, bool)
    listed[visible.is_null().to_numpy()] = True
    long = pl.DataFrame({"row": np.arange(len(visible)), "object": visible}).explode(
        "object", empty_as_null=False, keep_nulls=False
    )
    long = long.filter(pl.col("object") < shape[1])
    listed[long["row"].to_numpy(), long["object"].to_numpy()] = True
    return listed


def _covered(probes: pl.DataFrame, images: Images, features: Features, numbers: Array) -> Array:
    """Return which regions are more than half covered by hidden boxes, which do not overlap, so their areas add up."""
    regions, covered = features.regions, np.zeros((probes.height, features.regions.most), bool)
    frames = frames_of(images)
    if regions.boxes is None or frames is None:
        _check_listed(probes)
        return covered
    asked = probes.select("image", boxes_on(probes, "hidden"), row=pl.int_range(pl.len())).filter(
        pl.Series(numbers >= 0)
    )
    long = asked.explode("hidden", empty_as_null=False, keep_nulls=False).join(
        frames, on="image", validate="m:1", maintain_order="left"
    )
    long = long.drop_nulls()
    frame = long.select("width", "height", pl.col("width").alias("w"), pl.col("height").alias("h")).to_numpy()
    row = long["row"].to_numpy()
    hidden = gather(np.arange(len(row)), long["hidden"].to_numpy() / frame, len(row))
    pairs = overlaps(hidden, BoxLists(regions.starts, np.asarray(regions.boxes, np.float64)), numbers[row], "seen")
    share = np.zeros(covered.shape)
    rows = row[pairs.rows]
    np.add.at(share, (rows, pairs.seen - regions.starts[numbers[rows]]), pairs.share)
    return np.asarray(share > COVERED)


def _check_listed(probes: pl.DataFrame) -> None:
    """Check that the visible regions are listed, as hiding boxes cannot be matched to regions here."""
    bare = probes.filter(pl.col("hidden").list.len() > 0)
    listed = bare["visible"].null_count() == 0 if "visible" in probes.columns else not bare.height
    if not listed:
        advice = "read data that have both, or use an audit that hides no parts of images"
        raise DataError("sizes of images and boxes of regions, as parts of images are hidden", "none", advice)


def _options(probes: pl.DataFrame, vocabulary: NetworkVocabulary) -> Array | None:
    return vocabulary.read_options(probes["choices"]) if "choices" in probes.columns else None


def _no_scores(probes: pl.DataFrame) -> Array | None:
    if "choices" not in probes.columns:
        return None
    return np.zeros((probes.height, int(probes["choices"].list.len().max() or 1)), np.float32)  # type: ignore[arg-type]


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
