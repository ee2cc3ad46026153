"""Answers that were paid for stay valid: prompts, identities of models, cache keys and hashes of probes are recorded.

What is recorded here may only grow. A change that moves any of it makes everybody ask every model again.
"""

import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from eyechart.audits import make_audit
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.probes import fill
from eyechart.data.store import Store
from eyechart.data.tables import EVIDENCE, OBJECT
from eyechart.language.prompts import TEMPLATES
from eyechart.models import load
from eyechart.runs.run import Run

RECORDED = json.loads((Path(__file__).parent / "data" / "recorded_keys.json").read_text(encoding="utf-8"))
SETTINGS = {
    "accuracy": {},
    "perception": {"draws": "2", "removal": "permute,none,blank,mean,noise,guess,as-if"},
    "grounding": {},
}
MODELS = {
    "as it comes": "openai:tiny,base_url=http://127.0.0.1:1/v1",
    "scored and numbered": "openai:tiny,scores=yes,prompt=numbered",
    "several draws": "openai:tiny,temperature=0.7,draws=3,prompt=short",
}
COLORS = {"a": (200, 30, 30), "b": (30, 200, 30), "c": (30, 30, 200), "d": (120, 120, 0)}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Probe eight questions on four pictures, half of them with options and a caption, all with evidence."""
    place = tmp_path_factory.mktemp("recorded")
    for at, (name, color) in enumerate(COLORS.items()):
        pixels = np.full((24 + at, 32, 3), color, np.uint8)
        pixels[4:12, 6:20] = 255 - 20 * at
        Image.fromarray(pixels).save(place / f"{name}.png")
    box = {"label": "block", "box": [6.0, 4.0, 20.0, 12.0]}
    examples = pl.DataFrame(
        schema_overrides={"evidence": pl.List(EVIDENCE)},
        data={
            "id": [f"0{n}" for n in range(8)],
            "image": ["a", "a", "b", "b", "c", "c", "d", "d"],
            "question": ["what color is it?", "is it big? Ünïcode “quoted”"] * 4,
            "answer": ["red", "yes", "green", "no", "blue", "yes", "olive", "yes"],
            "choices": [["red", "green", "blue", "olive"], None] * 4,
            "caption": [f"block {n}" if n % 2 else None for n in range(8)],
            "evidence": [[box]] * 8,
        },
    )
    table = pl.DataFrame(
        schema_overrides={"objects": pl.List(OBJECT)},
        data={
            "image": list(COLORS),
            "path": [f"{name}.png" for name in COLORS],
            "width": [32] * 4,
            "height": [24, 25, 26, 27],
            "objects": [[box | {"score": 1.0}, {"label": "rest", "box": [20.0, 12.0, 32.0, 24.0], "score": 0.5}]] * 4,
        },
    )
    data = Dataset("recorded", examples, Images(table, place), ("image", "question", "caption"))
    run = Run(Store(place / "run")).start(data)
    run.study([make_audit(name, settings) for name, settings in SETTINGS.items()])
    run.probe()
    return run.store


def digest(values: object) -> str:
    return sha256(json.dumps(values, ensure_ascii=False).encode()).hexdigest()[:16]


def probe_hashes(store: Store) -> dict[str, str]:
    return {name: digest(store.probes(name).sort("id").select("id", "probe").rows()) for name in store.conditions()}


def cache_keys(store: Store, spec: str) -> dict[str, str]:
    model, data = load(f"{spec},cache=off"), store.data
    asked = {name: fill(store.probes(name).sort("id"), data) for name in store.conditions()}
    return {name: digest(model.foresee(probes, data.images)["key"].to_list()) for name, probes in asked.items()}


def folder_of_weights(place: Path) -> Path:
    (place / "weights").mkdir()
    (place / "weights" / "config.json").write_text('{"model_type": "llama"}\n')
    return place / "weights"


def test_templates_say_what_they_said() -> None:
    assert {name: template.digest for name, template in TEMPLATES.items()} == RECORDED["templates"]


def test_probes_are_hashed_as_they_were(store: Store) -> None:
    assert probe_hashes(store) == RECORDED["probes"]


@pytest.mark.parametrize("name", MODELS)
def test_answers_are_found_under_the_keys_they_had(store: Store, name: str) -> None:
    assert cache_keys(store, MODELS[name]) == RECORDED["keys"][name]


def test_models_are_who_they_were(tmp_path: Path) -> None:
    specs = {
        **MODELS,
        "weights": f"hf:{folder_of_weights(tmp_path)},kind=text,scores=yes",
        "function": "python:os:getcwd",
    }

    assert {name: json.loads(load(spec).identity) for name, spec in specs.items()} == RECORDED["identities"]
