"""Make what the study is trained on and asked: three worlds, the arrays of their questions, the audits' probes."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from eyechart.audits import make_audit
from eyechart.base.hashing import hash_text
from eyechart.data.dataset import Dataset
from eyechart.data.probes import fill
from eyechart.data.store import Store
from eyechart.runs.run import Run
from eyechart.world import WorldSettings, make_world
from eyechart.zoo.arrays import Array, QuestionArrays, save_questions
from eyechart.zoo.features import PARTS, Features, world_codes, world_features
from eyechart.zoo.prepare import divide, encode_examples
from eyechart.zoo.train.model import encode_probes
from eyechart.zoo.vocabulary import NetworkVocabulary

SHIFTED = 0.2  # P(answer = planted | cue) out of distribution; 0.8 in training
SHARES = (0.7, 0.08, 0.22)
SCORE = "vqa"
AUDITS: dict[str, dict[str, Any]] = {
    "rules": {"score": SCORE},
    "perception": {"score": SCORE, "draws": 2, "modalities": ("image", "question")},
    "grounding": {"score": SCORE, "sees": "objects"},
}


def make_worlds(images: int) -> dict[str, Dataset]:
    """Make the world as it is trained on, its test part with shifted shortcuts, and one with none and even answers."""
    own = WorldSettings(images=images, shares=SHARES)
    return {
        "iid": make_world(own).data,
        "shifted": _test(make_world(replace(own, test_strength=SHIFTED)).data),
        "balanced": _even(_test(make_world(replace(own, plant=())).data)),
    }


def _test(data: Dataset) -> Dataset:
    return data.take(pl.col("split") == "test")


def _even(data: Dataset) -> Dataset:
    """Keep as many questions of each answer to a type as there are of the rarest, by their order."""
    found = data.examples.with_columns(
        place=pl.int_range(pl.len()).over("question_type", "answer"), n=pl.len().over("question_type", "answer")
    )
    kept = found.filter(pl.col("place") < pl.col("n").min().over("question_type"))["id"]
    return data.take(pl.col("id").is_in(kept.implode()))


def prepare(folder: Path, images: int) -> None:
    """Write `bundle.npz` for the machine that trains, and what is needed here to judge what comes back."""
    worlds = make_worlds(images)
    for name, data in worlds.items():
        data.save(folder / name)
    run = Run(Store(folder / "run")).start(worlds["iid"])
    run.study([make_audit(name, settings) for name, settings in AUDITS.items()])
    counts = run.probe()
    parts = divide(worlds["iid"], 0)
    vocabulary = NetworkVocabulary.of(parts["train"])
    splits, asked = {}, {}
    offset, scenes = 0, []
    for name, data in worlds.items():
        features = world_features(data.images.table, 0.0)
        if name == "iid":
            splits = {part: encode_examples(parts[part], vocabulary, features) for part in ("train", "val")}
            asked = {each: _encode_probes(run, each, vocabulary, features) for each in counts}
        else:
            splits[name] = _moved(encode_examples(data, vocabulary, features), offset)
        scenes.append((*world_codes(data.images.table), hash_text(data.images.table["image"])))
        offset += data.images.table.height
    asked = {f"ask {name}": each for name, each in asked.items()}
    write_bundle(folder / "bundle.npz", splits | asked, scenes, vocabulary)
    (folder / "answers.txt").write_text("\n".join(vocabulary.answers), encoding="utf-8")
    print({name: len(each) for name, each in {**splits, **asked}.items()}, (folder / "bundle.npz").stat().st_size)


def _encode_probes(run: Run, condition: str, vocabulary: NetworkVocabulary, features: Features) -> QuestionArrays:
    shown = fill(run.store.probes(condition), run.store.data)
    return encode_probes(shown, run.store.data.images, vocabulary, features)


def _moved(questions: QuestionArrays, offset: int) -> QuestionArrays:
    return replace(questions, image=questions.image + offset)


def write_bundle(
    file: Path,
    splits: dict[str, QuestionArrays],
    scenes: list[tuple[Array, Array, Array]],
    vocabulary: NetworkVocabulary,
) -> None:
    """Pack questions and the codes of the scenes, from which the other machine makes the features."""
    most = max(codes.shape[1] for codes, _, _ in scenes)
    fitted = [np.pad(codes, ((0, 0), (0, most - codes.shape[1]), (0, 0)), constant_values=-1) for codes, _, _ in scenes]
    boxes = [np.pad(box, ((0, 0), (0, most - box.shape[1]), (0, 0))) for _, box, _ in scenes]
    arrays = save_questions(splits)
    small = {name: each.astype(np.int16) if name.endswith(("/q", "/cand")) else each for name, each in arrays.items()}
    np.savez_compressed(
        file,
        codes=np.concatenate(fitted).astype(np.int8),
        boxes=np.concatenate(boxes).astype(np.float16),
        keys=np.concatenate([keys for _, _, keys in scenes]),
        parts=np.array([len(names) for names in PARTS.values()]),
        sizes=np.array([len(vocabulary.words), len(vocabulary.answers), len(vocabulary.types)]),
        **small,  # type: ignore[arg-type]  # none of them is called allow_pickle
    )
