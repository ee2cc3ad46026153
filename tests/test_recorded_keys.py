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
BLOCK = {"label": "block", "box": [6.0, 4.0, 20.0, 12.0]}
COLORS = {"a": (200, 30, 30), "b": (30, 200, 30), "c": (30, 30, 200), "d": (120, 120, 0)}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Probe eight questions on four pictures, half of them with options and a caption, all with evidence."""
    place = tmp_path_factory.mktemp("recorded")
    draw_pictures(place)
    examples = pl.DataFrame(
        schema_overrides={"evidence": pl.List(EVIDENCE)},
        data={
            "id": [f"0{n}" for n in range(8)],
            "image": ["a", "a", "b", "b", "c", "c", "d", "d"],
            "question": ["what color is it?", "is it big? Ünïcode “quoted”"] * 4,
            "answer": ["red", "yes", "green", "no", "blue", "yes", "olive", "yes"],
            "choices": [["red", "green", "blue", "olive"], None] * 4,
            "caption": [f"block {n}" if n % 2 else None for n in range(8)],
            "evidence": [[BLOCK]] * 8,
        },
    )
    data = Dataset("recorded", examples, Images(table_of_images(), place), ("image", "question", "caption"))
    run = Run(Store(place / "run")).start(data)
    run.study([make_audit(name, settings) for name, settings in SETTINGS.items()])
    run.probe()
    return run.store


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Probe questions with two pictures each, listed in the column `images` of the dataset's folder."""
    place = tmp_path_factory.mktemp("several")
    draw_pictures(place)
    lists = [["a", "b"], ["c", "d"], ["a", "b"], ["d", "b"]]
    examples = pl.DataFrame(
        schema_overrides={"evidence": pl.List(EVIDENCE)},
        data={
            "id": [f"0{n}" for n in range(4)],
            "image": [each[0] for each in lists],
            "question": ["which is red?", "compare <image 1> and <image 2>", "how many?", "what is in <image 2>?"],
            "answer": ["first", "second", "two", "block"],
            "choices": [["first", "second"], ["first", "second"], None, None],
            "evidence": [[BLOCK]] * 4,
            "images": lists,
        },
    )
    return probe_all(examples, place, SETTINGS | {"grounding": {"hide": "blur", "feather": "2"}})


@pytest.fixture(scope="module")
def uneven(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Probe questions with one, two, three and no pictures, with lists and without, some of them sharing the first."""
    place = tmp_path_factory.mktemp("uneven")
    draw_pictures(place)
    lists = [["a", "b"], None, ["c"], ["d", "a", "c"], ["a", "b"], ["d", "c"], None, ["b", "b"]]
    examples = pl.DataFrame(
        {
            "id": [f"0{n}" for n in range(8)],
            "image": ["a", "a", "c", "d", "b", "d", None, "b"],  # the fifth list does not begin with its image
            "question": ["what is it?", "where is <image 1>?", *(f"is {n} in <image 2>?" for n in range(6))],
            "answer": ["red", "yes", "green", "no", "blue", "yes", "olive", "yes"],
            "images": lists,
        }
    )
    removals = {"removal": "none,blank,mean,noise,guess,as-if"}
    return probe_all(examples, place, {"accuracy": {}, "perception": removals})


def draw_pictures(place: Path) -> None:
    for at, (name, color) in enumerate(COLORS.items()):
        pixels = np.full((24 + at, 32, 3), color, np.uint8)
        pixels[4:12, 6:20] = 255 - 20 * at
        Image.fromarray(pixels).save(place / f"{name}.png")


def probe_all(examples: pl.DataFrame, place: Path, settings: dict[str, dict[str, str]]) -> Store:
    """Save the data as a folder of version 0.1, where pictures after the first are in a column alone, and probe it."""
    data = Dataset("recorded", examples.drop("images", strict=False), Images(table_of_images(), place))
    data.save(place / "data")
    examples.write_parquet(place / "data" / "examples.parquet")
    run = Run(Store(place / "run")).start(Dataset.load(place / "data"))
    run.study([make_audit(name, given) for name, given in settings.items()])
    run.probe()
    return run.store


def table_of_images() -> pl.DataFrame:
    return pl.DataFrame(
        schema_overrides={"objects": pl.List(OBJECT)},
        data={
            "image": list(COLORS),
            "path": [f"{name}.png" for name in COLORS],
            "width": [32] * 4,
            "height": [24, 25, 26, 27],
            "objects": [[BLOCK | {"score": 1.0}, {"label": "rest", "box": [20.0, 12.0, 32.0, 24.0], "score": 0.5}]] * 4,
        },
    )


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


@pytest.mark.parametrize("name", ["several", "uneven"])
def test_examples_with_several_pictures_keep_their_hashes_and_keys(name: str, request: pytest.FixtureRequest) -> None:
    store = request.getfixturevalue(name)

    found = {"probes": probe_hashes(store), "keys": {each: cache_keys(store, MODELS[each]) for each in MODELS}}

    assert found == RECORDED["lists of pictures"][name]


def test_models_are_who_they_were(tmp_path: Path) -> None:
    specs = {
        **MODELS,
        "weights": f"hf:{folder_of_weights(tmp_path)},kind=text,scores=yes",
        "function": "python:os:getcwd",
    }

    assert {name: json.loads(load(spec).identity) for name, spec in specs.items()} == RECORDED["identities"]
