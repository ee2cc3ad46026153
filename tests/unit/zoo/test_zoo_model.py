"""A trained network is a model like any other: it sees what a probe shows and nothing else, and audits run on it."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from eyechart.audits import make_audit
from eyechart.base.errors import DataError, EyechartError, FileFormatError, ModelError, SettingError
from eyechart.cli import app
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.probes import Prober, fill
from eyechart.data.result import Result
from eyechart.data.store import Store
from eyechart.models import load
from eyechart.runs.run import Run
from eyechart.world import WorldSettings, make_world
from eyechart.zoo.converters import convert
from eyechart.zoo.features import with_features, write_features
from eyechart.zoo.train import open_zoo
from eyechart.zoo.train.folder import TrainingFolder
from eyechart.zoo.train.model import ZooModel
from eyechart.zoo.train.trainer import TrainingRequest, train_into


@pytest.fixture(scope="module")
def world() -> Dataset:
    return make_world(WorldSettings(images=150)).data


@pytest.fixture(scope="module")
def models(world: Dataset, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Train small networks for a few epochs."""
    folder = tmp_path_factory.mktemp("zoo")
    for name, epochs in {"question-only": 12, "updn": 2, "mlp-iqa": 2, "symbolic": 8}.items():
        wanted = TrainingRequest(name, epochs=epochs, batch=32, hidden=32, device="cpu", rate=2e-2)
        train_into(folder / name, world, wanted, lambda _: None)
    return folder


def asked(world: Dataset, n: int = 40) -> pl.DataFrame:
    ids = world.examples.filter(pl.col("split") == "test")["id"].head(n)
    return fill(Prober(world).plain(ids), world)


def answers(model: ZooModel, probes: pl.DataFrame, images: Images) -> list[str]:
    return model.answer(probes, images)["answer"].to_list()


def judged(world: Dataset, model: ZooModel, audit: str, folder: Path) -> Result:
    run = Run(Store(folder)).start(world)
    run.study([make_audit(audit, {"score": "vqa"})])
    return run.audit(model)[audit]


def measured(result: Result, name: str, condition: str) -> float:
    found = result.measures.filter(pl.col("name") == name, pl.col("condition") == condition, pl.col("by").is_null())
    return float(found["value"].item())


def test_question_only_does_not_perceive_the_image(world: Dataset, models: Path, tmp_path: Path) -> None:
    found = judged(world, open_zoo(str(models / "question-only")), "perception", tmp_path)

    assert measured(found, "perception", "image") == 0
    assert measured(found, "changed", "image") == 0
    assert measured(found, "perception", "question") > 0.05


def test_question_only_is_never_grounded(world: Dataset, models: Path, tmp_path: Path) -> None:
    found = judged(world, open_zoo(str(models / "question-only")), "grounding", tmp_path)

    assert measured(found, "grounded", "plain") == 0


def test_a_network_that_looks_is_grounded_more_often(world: Dataset, models: Path, tmp_path: Path) -> None:
    found = judged(world, open_zoo(str(models / "symbolic")), "grounding", tmp_path)

    assert measured(found, "grounded", "plain") > 0.05


def test_answers_carry_scores_that_fall_and_attention_on_every_object(world: Dataset, models: Path) -> None:
    probes = asked(world)
    said = open_zoo(str(models / "updn")).answer(probes, world.images)

    objects = probes.join(world.images.table, on="image", how="left", maintain_order="left")["objects"]
    for row, listed in zip(said.to_dicts(), objects.to_list(), strict=True):
        scores = [each["score"] for each in row["scores"]]
        assert row["scores"][0]["answer"] == row["answer"]
        assert scores == sorted(scores, reverse=True)
        assert 0 < sum(scores) <= 1 + 1e-5
        assert len(row["attention"]) == len(listed)
        assert sum(row["attention"]) == pytest.approx(1, abs=1e-4)
    assert said["score_kind"].unique().to_list() == ["prob"]


def test_regions_out_of_sight_get_no_attention_and_change_nothing(world: Dataset, models: Path) -> None:
    """What stands in regions that a probe leaves out cannot reach the answer: the scores stay as they are."""
    model = open_zoo(str(models / "updn"))
    probes = asked(world).with_columns(visible=pl.lit([0, 1], pl.List(pl.Int64)))
    red = pl.when(pl.int_range(pl.len()) < 2).then(pl.element()).otherwise(pl.lit("red"))
    others = world.images.table.with_columns(pl.col("colors").list.eval(red))

    one = model.answer(probes, world.images)
    two = open_zoo(str(models / "updn")).answer(probes, Images(others))

    assert one["scores"].to_list() == two["scores"].to_list()
    assert all(sum(row[2:]) == 0 for row in one["attention"].to_list())
    everything = open_zoo(str(models / "updn"))
    plain = asked(world)
    seen = [everything.answer(plain, images)["scores"].to_list() for images in (world.images, Images(others))]
    assert seen[0] != seen[1]


def test_a_donor_brings_its_own_features(world: Dataset, models: Path) -> None:
    model = open_zoo(str(models / "updn"))
    probes = asked(world)
    donors = probes.with_columns(pl.col("image").reverse())

    here, there = (model.answer(each, world.images)["attention"].to_list() for each in (probes, donors))

    turned = model.answer(probes.with_columns(image=donors["image"]), world.images)["attention"].to_list()
    assert there == turned
    assert here != there


def test_a_picture_left_out_or_painted_over_is_no_picture(world: Dataset, models: Path) -> None:
    model = open_zoo(str(models / "symbolic"))
    probes = asked(world)
    gone = probes.with_columns(image=pl.lit(None, pl.String))
    blank = probes.with_columns(removal=pl.lit("image=blank"))

    assert answers(model, gone, world.images) == answers(model, blank, world.images)
    assert answers(model, gone, world.images) != answers(model, probes, world.images)


def test_an_option_scorer_answers_with_options(world: Dataset, models: Path) -> None:
    probes = asked(world)

    said = answers(open_zoo(str(models / "mlp-iqa")), probes, world.images)

    assert all(one in options for one, options in zip(said, probes["choices"].to_list(), strict=True))
    with pytest.raises(ModelError, match="options to choose among"):
        open_zoo(str(models / "mlp-iqa")).answer(probes.drop("choices"), world.images)


def test_batches_do_not_matter(world: Dataset, models: Path) -> None:
    model = open_zoo(str(models / "updn"))
    probes = asked(world)

    whole = answers(model, probes, world.images)

    assert [one for at in range(40) for one in answers(model, probes[at : at + 1], world.images)] == whole


def test_its_identity_says_what_it_learned_from(models: Path) -> None:
    content = json.loads(load(f"zoo:{models / 'updn'}").identity)  # type: ignore[attr-defined]  # of this kind of model

    assert (content["model"], content["method"], content["data"]) == ("updn", "plain", "world-0")
    assert content["pretrained_on"] == content["trained_on_the_metric"] == []


def test_its_identity_changes_with_its_weights(models: Path, tmp_path: Path) -> None:
    shutil.copytree(models / "updn", tmp_path / "m")
    before = load(f"zoo:{tmp_path / 'm'}").identity  # type: ignore[attr-defined]  # of this kind of model
    shutil.copy(tmp_path / "m" / "last.pt", tmp_path / "m" / "best.pt")

    assert load(f"zoo:{tmp_path / 'm'}").identity != before  # type: ignore[attr-defined]  # as above


def test_a_vocabulary_of_other_weights_is_refused(world: Dataset, models: Path, tmp_path: Path) -> None:
    train_into(
        tmp_path / "m",
        world.sample(200),
        TrainingRequest("question-only", epochs=1, hidden=16, device="cpu"),
        lambda _: None,
    )
    file = models / "question-only" / "vocabulary.json"
    (tmp_path / "m" / "vocabulary.json").write_text(file.read_text())

    with pytest.raises(ModelError, match="the vocabulary that was written with the weights"):
        TrainingFolder(tmp_path / "m").open()

    content = json.loads((tmp_path / "m" / "zoo.json").read_text())
    (tmp_path / "m" / "zoo.json").write_text(json.dumps(content | {"vocabulary": None}))  # as older records have it
    with pytest.raises(ModelError, match="a vocabulary of"):
        TrainingFolder(tmp_path / "m").open()


def test_features_of_another_size_are_refused(world: Dataset, models: Path, tmp_path: Path) -> None:
    names = world.images.table["image"]
    write_features(((name, np.ones((2, 7)), None) for name in names), tmp_path / "f")
    images = replace(world.images, features=tmp_path / "f")

    with pytest.raises(ModelError, match="80 numbers per region"):
        open_zoo(str(models / "updn")).answer(asked(world), images)


def test_damaged_weights_are_refused(world: Dataset, models: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(models / "updn", tmp_path / "m")
    (tmp_path / "m" / "best.pt").write_bytes((models / "updn" / "best.pt").read_bytes()[:1000])

    with pytest.raises(FileFormatError, match=r"best\.pt"):
        open_zoo(str(tmp_path / "m")).answer(asked(world), world.images)


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        ("nowhere", FileFormatError),
        ("{}/updn,weights=none", SettingError),
        ("{}/updn,speed=3", SettingError),
    ],
)
def test_wrong_specs_are_refused(spec: str, error: type[EyechartError], models: Path) -> None:
    with pytest.raises(error):
        open_zoo(spec.format(models))


def test_the_command_line_trains_on_converted_features(world: Dataset, tmp_path: Path) -> None:
    """Of a dataset that is no planted world any more, with an npz file of random regions for each image."""
    names, rng = world.images.table["image"], np.random.default_rng(0)
    world.examples.write_parquet(tmp_path / "vqa.parquet")
    (tmp_path / "npz").mkdir()
    for name in names:
        np.savez(tmp_path / "npz" / name, x=rng.random((3, 7)), bbox=np.zeros((3, 4)), image_w=9, image_h=9)
    convert("npz", tmp_path / "npz", tmp_path / "regions")
    reading = ["read", "table", str(tmp_path / "vqa.parquet"), "-o", str(tmp_path / "data")]
    training = ["train", str(tmp_path / "data"), "updn", "-o", str(tmp_path / "m"), "--device", "cpu"]
    training += ["--epochs", "1", "--hidden", "16", "--batch-size", "64"]

    CliRunner().invoke(app, reading)
    assert "--features" in str(CliRunner().invoke(app, training).exception)

    done = CliRunner().invoke(app, [*reading, "--features", str(tmp_path / "regions")])
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(app, training)
    assert done.exit_code == 0, done.output
    assert TrainingFolder(tmp_path / "m").record.sizes["features"] == 7


def test_features_of_other_images_are_not_tied_to_a_dataset(world: Dataset, tmp_path: Path) -> None:
    write_features([("elsewhere", np.ones((2, 5)), None)], tmp_path / "regions")

    with pytest.raises(DataError, match=r"none for .* and \d+ more"):
        with_features(world, tmp_path / "regions")


def test_the_command_line_trains_and_audits(world: Dataset, tmp_path: Path) -> None:
    world.save(tmp_path / "data")
    words = ["train", str(tmp_path / "data"), "updn", "--debias", "ssl", "-o", str(tmp_path / "m")]
    words += ["--epochs", "1", "--hidden", "16", "--batch-size", "64", "--device", "cpu"]

    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "trained on what these audits measure: perception" in done.output
    assert "val" in done.output
    content = json.loads(CliRunner().invoke(app, [*words, "--json"]).output)
    assert content["model"] == f"zoo:{tmp_path / 'm'}"
    assert content["epochs"] == []

    audited = ["audit", str(tmp_path / "data"), "-m", f"zoo:{tmp_path / 'm'}", "-a", "accuracy", "--score", "vqa"]
    runs = [["-o", str(tmp_path / "run")], ["-m", "world:seer", "-o", str(tmp_path / "two")]]
    for words in ([*audited, *runs[0]], [*audited, *runs[1]], ["compare", str(tmp_path / "two")]):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
        assert "m: trained on what these audits measure: perception" in done.output
