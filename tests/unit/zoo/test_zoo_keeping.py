"""A trained model's folder is not mixed up, damaged or written by two without a word."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from eyechart.base.errors import DataError, FileFormatError, ModelError, SettingError
from eyechart.base.files import digest_arrays, lock_folder
from eyechart.data.dataset import Dataset
from eyechart.data.store import Store
from eyechart.runs.run import Run
from eyechart.world import WorldSettings, make_world
from eyechart.zoo.batch import Batch
from eyechart.zoo.features import write_features
from eyechart.zoo.methods import make_method
from eyechart.zoo.network import NetworkSizes
from eyechart.zoo.networks import make_network
from eyechart.zoo.prepare import divide
from eyechart.zoo.train.folder import TrainingFolder
from eyechart.zoo.train.loop import Training
from eyechart.zoo.train.settings import TrainingSettings
from eyechart.zoo.train.trainer import TrainingRequest, train_into
from eyechart.zoo.vocabulary import NetworkVocabulary
from unit.zoo.toy import assert_equal_in_double, in_double

WANTED = TrainingRequest("question-only", epochs=1, batch=64, hidden=16, device="cpu")


@pytest.fixture(scope="module")
def world() -> Dataset:
    return make_world(WorldSettings(images=60)).data


@pytest.fixture
def folder(world: Dataset, tmp_path: Path) -> TrainingFolder:
    train_into(tmp_path / "m", world, WANTED, lambda _: None)
    return TrainingFolder(tmp_path / "m")


def go_on(folder: TrainingFolder, world: Dataset, **changes: object) -> None:
    train_into(folder.path, world, replace(WANTED, **{"epochs": 2, **changes}), lambda _: None)  # type: ignore[arg-type]


@pytest.mark.parametrize("splits", [(), ("test",), ("val", "test")])
def test_data_without_a_split_to_learn_from_are_refused(world: Dataset, splits: tuple[str, ...]) -> None:
    """What is learned from would be judged otherwise."""
    data = replace(world, examples=world.examples.drop("split")) if not splits else world
    with pytest.raises(DataError, match="a split 'train'"):
        divide(data.take(pl.col("split").is_in(splits)) if splits else data, 0)


def test_a_model_whose_last_state_is_lost_is_not_written_over(folder: TrainingFolder, world: Dataset) -> None:
    (folder.path / "last.pt").unlink()
    before = (folder.path / "best.pt").read_bytes()

    with pytest.raises(FileFormatError, match=r"last\.pt"):
        go_on(folder, world, model="updn")
    assert (folder.path / "best.pt").read_bytes() == before


def test_a_model_whose_best_weights_are_lost_does_not_go_on(folder: TrainingFolder, world: Dataset) -> None:
    (folder.path / "best.pt").unlink()

    with pytest.raises(FileFormatError, match=r"best\.pt"):
        go_on(folder, world)


def test_a_changed_byte_among_the_weights_is_noticed(folder: TrainingFolder) -> None:
    file = folder.path / "best.pt"
    whole = bytearray(file.read_bytes())
    whole[len(whole) // 2] ^= 255
    file.write_bytes(whole)

    with pytest.raises(FileFormatError, match="damaged"):
        folder.open()


@pytest.mark.parametrize("found", [b"version https://git-lfs.github.com/spec/v1", b"hello world"])
def test_a_file_of_another_kind_gets_no_advice_to_unpickle_it(folder: TrainingFolder, found: bytes) -> None:
    (folder.path / "best.pt").write_bytes(found)

    with pytest.raises(FileFormatError, match="not weights written by torch"):
        folder.open()


def test_weights_that_are_no_training_are_refused(folder: TrainingFolder) -> None:
    torch.save(torch.zeros(3), folder.path / "best.pt")

    with pytest.raises(FileFormatError, match="not the state of a training"):
        folder.open()


def test_weights_that_are_no_numbers_are_refused(folder: TrainingFolder) -> None:
    state = torch.load(folder.path / "best.pt", weights_only=True)
    next(iter(state["model"].values())).fill_(torch.nan)
    torch.save(state, folder.path / "best.pt")

    with pytest.raises(ModelError, match="finite weights"):
        folder.open()


@pytest.mark.parametrize("change", [{"answers": None}, {"depth": 3}, {"hidden": 0}])
def test_sizes_that_are_none_are_refused(folder: TrainingFolder, change: dict[str, int | None]) -> None:
    file = folder.path / "zoo.json"
    content = json.loads(file.read_text())
    sizes = {name: value for name, value in {**content["sizes"], **change}.items() if value is not None}
    file.write_text(json.dumps(content | {"sizes": sizes}))

    with pytest.raises((FileFormatError, ModelError)):
        folder.open()


def test_answers_in_another_order_are_another_vocabulary(folder: TrainingFolder, world: Dataset) -> None:
    file = folder.path / "vocabulary.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps(content | {"answers": content["answers"][::-1]}))

    with pytest.raises(ModelError, match="the vocabulary that was written"):
        folder.open()
    older = json.loads((folder.path / "zoo.json").read_text()) | {"vocabulary": None}
    (folder.path / "zoo.json").write_text(json.dumps(older))
    with pytest.raises(SettingError, match="another vocabulary"):
        go_on(folder, world)


def test_two_do_not_write_into_one_folder(folder: TrainingFolder, world: Dataset) -> None:
    with lock_folder(folder.path), pytest.raises(SettingError, match="no other process"):
        go_on(folder, world)
    go_on(folder, world)

    assert not (folder.path / ".writing").exists()


def test_changed_features_are_another_training(world: Dataset, tmp_path: Path) -> None:
    def write(seed: int) -> None:
        rng = np.random.default_rng(seed)
        write_features(((name, rng.random((2, 5)), None) for name in world.images.table["image"]), tmp_path / "f")

    write(0)
    data = replace(world, images=replace(world.images, features=tmp_path / "f"))
    before = digest_arrays(tmp_path / "f")
    train_into(tmp_path / "m", data, WANTED, lambda _: None)
    write(1)

    assert digest_arrays(tmp_path / "f") != before
    with pytest.raises(SettingError, match="another examples"):
        go_on(TrainingFolder(tmp_path / "m"), data)


def test_answers_that_a_trained_model_does_not_know_are_told_of(
    folder: TrainingFolder, world: Dataset, tmp_path: Path
) -> None:
    other = "not " + pl.col("answer")
    data = replace(world, examples=world.examples.with_columns(answer=other).drop("answers", "choices", strict=False))

    with pytest.raises(DataError, match="answers that the network knows"):
        train_into(tmp_path / "n", data, replace(WANTED, init=f"zoo:{folder.path}"), lambda _: None)
    with pytest.raises(SettingError, match="no --answers"):
        train_into(tmp_path / "n", world, replace(WANTED, init=f"zoo:{folder.path}", answers=2), lambda _: None)


def test_answers_of_some_epochs_alone_are_not_kept(folder: TrainingFolder, world: Dataset) -> None:
    with pytest.raises(SettingError, match="answers of every earlier epoch"):
        go_on(folder, world, keep_predictions=True)


def test_a_teacher_is_not_left_behind_by_more_epochs(world: Dataset, tmp_path: Path) -> None:
    taught = replace(WANTED, model="updn", method="lmh-l")
    train_into(tmp_path / "m", world, taught, lambda _: None)

    with pytest.raises(SettingError, match="no more epochs for lmh-l"):
        train_into(tmp_path / "m", world, replace(taught, epochs=2), lambda _: None)


def test_questions_without_programs_are_not_for_symbolic(world: Dataset, tmp_path: Path) -> None:
    other = replace(world, examples=world.examples.with_columns(question=pl.lit("why?")))

    with pytest.raises(DataError, match="questions of a planted world"):
        train_into(tmp_path / "m", other, replace(WANTED, model="symbolic"), lambda _: None)


def test_batches_of_one_are_not_normalised_over(world: Dataset, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="a batch size of at least 2"):
        train_into(tmp_path / "m", world, replace(WANTED, model="updn2", batch=1), lambda _: None)


def test_a_device_without_memory_is_refused() -> None:
    with pytest.raises(SettingError, match="not 'meta'"):
        TrainingSettings(device="meta").torch_device()


def test_word_vectors_reach_whatever_looks_words_up(world: Dataset, tmp_path: Path) -> None:
    """The twin of LfF has the architecture of the network, and begins as it does."""
    (tmp_path / "glove.txt").write_text("is 9 9\nthere 9 9\n")
    starts: dict[str, list[torch.Tensor]] = {}

    class Watched(Training):
        def run(self, *_: object) -> list:  # type: ignore[type-arg, override]  # nothing is trained
            kept = [*self.model.named_parameters(), *self.debias.named_parameters()]
            starts["words"] = [each.detach() for name, each in kept if name.endswith("embedding.weight")]
            return []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("eyechart.zoo.train.trainer.Training", Watched)
        wanted = replace(WANTED, model="updn", method="lff", words=tmp_path / "glove.txt")
        train_into(tmp_path / "m", world, wanted, lambda _: None)

    place = NetworkVocabulary.of(divide(world, 0)["train"]).words.index("there")
    assert [each[place].tolist() for each in starts["words"]] == [[9, 9], [9, 9]]


def test_a_teacher_that_patience_stops_is_taken_at_its_best(world: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    from eyechart.zoo.features import open_features
    from eyechart.zoo.prepare import make_arrays
    from eyechart.zoo.train.loop import train_plainly

    parts = divide(world, 0)
    arrays = make_arrays(parts, NetworkVocabulary.of(parts["train"]), open_features(world.images))
    sizes = NetworkSizes(arrays.words, arrays.answers, 80, 16, 16, arrays.types)
    scores = {"one": [0.9], "patient": [0.9, 0.1, 0.1]}
    found = {}
    for name, course in {
        "one": TrainingSettings("adam", 0.01, 64, 1, device="cpu"),
        "patient": TrainingSettings("adam", 0.01, 64, 9, patience=2, device="cpu"),
    }.items():
        values = iter(scores[name])
        monkeypatch.setattr(Training, "score", lambda _, split, values=values: next(values) if split == "val" else 0.0)
        found[name] = train_plainly("question-only", sizes, arrays, course).state_dict()

    for weight, value in found["one"].items():
        assert torch.equal(value, found["patient"][weight]), weight


def test_options_that_are_not_there_teach_nothing(sizes: NetworkSizes, batch: Batch) -> None:
    torch.manual_seed(0)
    network, batch = make_network("mlp-iqa", sizes).double().eval(), in_double(batch)
    right = torch.eye(7).double()[:4]
    fewer = batch.cand.clone()
    fewer[:, 4:] = 0

    whole = network(batch.to(cand=fewer[:, :4])).logits
    padded = network(batch.to(cand=fewer)).logits
    assert_equal_in_double(padded[:, :4], whole)
    for method in ("plain", "plain-ce", "esr"):
        losses = [
            float(make_method(method, network)(network, batch.to(cand=cand, a=a)).detach())
            for cand, a in ((fewer[:, :4], right[:, :4]), (fewer, right))
        ]
        assert losses[0] == pytest.approx(losses[1], rel=1e-10), method


def test_options_are_read_to_their_last_word() -> None:
    long = "one two three four five six seven"
    options = pl.Series([[f"{long} left", f"{long} right"]])
    read = NetworkVocabulary(("", "<unknown>", *long.split(), "left", "right"), ("a",), ("",)).read_options(options)

    assert (read[0, 0] != read[0, 1]).any()


def test_a_run_is_not_gone_on_with_on_other_features(world: Dataset, tmp_path: Path) -> None:
    """Answers to the pictures as they were would stand for those as they are."""
    names = world.images.table["image"]
    data = replace(world, images=replace(world.images, features=tmp_path / "f"))
    for value in (0, 0, 1):
        write_features(((name, np.full((2, 5), value), None) for name in names), tmp_path / "f")
        if value:
            with pytest.raises(FileFormatError, match="a run of other data"):
                Run(Store(tmp_path / "run")).start(data)
        else:
            Run(Store(tmp_path / "run")).start(data)
