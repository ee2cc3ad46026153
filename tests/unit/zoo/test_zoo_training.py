"""Training learns, stops, goes on and refuses as it says."""

import json
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch
from torch import Tensor

from eyechart.base.errors import DataError, FileFormatError, ModelError, SettingError
from eyechart.data.dataset import Dataset
from eyechart.world import WorldSettings, make_world
from eyechart.zoo import loader
from eyechart.zoo.arrays import TrainingArrays
from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Plain, last_stage
from eyechart.zoo.features import open_features
from eyechart.zoo.loader import DeviceRegions, QuestionLoader
from eyechart.zoo.methods import make_method
from eyechart.zoo.network import Network, NetworkSizes
from eyechart.zoo.networks import NETWORKS, make_network
from eyechart.zoo.prepare import divide, make_arrays
from eyechart.zoo.train.compiling import Compiler
from eyechart.zoo.train.folder import TrainingFolder
from eyechart.zoo.train.loop import Epoch, Training
from eyechart.zoo.train.settings import TrainingSettings, seed_all
from eyechart.zoo.train.step import TrainingStep, differentiate
from eyechart.zoo.train.trainer import TrainingRequest, read_starting_vectors, train_into
from eyechart.zoo.vocabulary import NetworkVocabulary

QUICK = TrainingSettings("adam", 5e-3, 64, 3, device="cpu")


@pytest.fixture(scope="module")
def world() -> Dataset:
    return make_world(WorldSettings(images=120)).data


@pytest.fixture(scope="module")
def arrays(world: Dataset) -> TrainingArrays:
    parts = divide(world, 0)
    return make_arrays(parts, NetworkVocabulary.of(parts["train"]), open_features(world.images))


@pytest.fixture(scope="module")
def start(arrays: TrainingArrays) -> Callable[..., Training]:
    def make(model: str = "updn", method: str = "plain", course: TrainingSettings = QUICK) -> Training:
        seed_all(course.seed)
        examples = len(arrays.splits["train"])
        sizes = NetworkSizes(arrays.words, arrays.answers, 80, 16, 16, arrays.types, examples)
        network = make_network(model, sizes)
        return Training(network, make_method(method, network), arrays, course)

    return make


def weights(training: Training) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in training.model.state_dict().items()}


def test_a_network_that_looks_beats_the_prior_where_shortcuts_are_gone() -> None:
    """The symbolic network learns what it sees; the prior stays with the most frequent answer of the type."""
    world = make_world(WorldSettings(images=400, test_strength=0.2)).data
    parts = divide(world, 0)
    arrays = make_arrays(parts, NetworkVocabulary.of(parts["train"]), open_features(world.images))
    found = {}
    for name, epochs in (("prior", 1), ("symbolic", 8)):
        seed_all(0)
        network = make_network(name, NetworkSizes(arrays.words, arrays.answers, 80, 16, 16, arrays.types))
        course = TrainingSettings("adam", 3e-2, 64, epochs, device="cpu")
        found[name] = Training(network, make_method("plain", network), arrays, course).run()[-1].accuracy

    assert found["symbolic"]["val"] > found["prior"]["val"] + 0.15
    assert found["symbolic"]["test"] > found["prior"]["test"] + 0.25


def test_the_prior_says_the_most_frequent_answer_of_each_type(
    arrays: TrainingArrays, start: Callable[..., Training]
) -> None:
    training = start("prior", course=replace(QUICK, epochs=1))
    training.run()

    said = training.answer(training.loaders["val"]).numpy()

    train, val = arrays.splits["train"], arrays.splits["val"]
    totals = np.zeros((arrays.types, arrays.answers))
    rows = np.arange(len(train))[:, None]
    each = np.zeros((len(train), arrays.answers))
    np.maximum.at(each, (rows, train.answers), train.scores)
    np.add.at(totals, train.qtype, each)
    assert np.array_equal(said, totals[val.qtype].argmax(1))


def test_the_same_seed_gives_the_same_weights_and_another_one_others(start: Callable[..., Training]) -> None:
    short = replace(QUICK, epochs=1)
    runs = [start(course=replace(short, seed=seed)) for seed in (0, 0, 1)]
    for each in runs:
        each.run()
    one, again, other = (weights(each) for each in runs)

    assert all(torch.equal(one[name], again[name]) for name in one)
    assert not all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("method", ["plain", "lmh-l", "lff", "plain@1,hint"])
def test_training_that_stopped_goes_on_as_if_it_had_not(
    method: str, start: Callable[..., Training], tmp_path: Path
) -> None:
    whole = start(method=method)
    whole.run()

    def keep_two(epoch: Epoch, now: Training) -> None:
        TrainingFolder(tmp_path).keep(now.state(), epoch)
        if epoch.number == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start(method=method).run(keep_two)
    second = start(method=method)
    state = TrainingFolder(tmp_path).state()
    assert state is not None
    second.resume(state)
    second.run()

    for name, value in weights(whole).items():
        assert torch.equal(value, weights(second)[name]), name
    assert [each.accuracy for each in whole.epochs] == [each.accuracy for each in second.epochs]


def test_what_is_kept_is_chosen_on_validation_alone(
    start: Callable[..., Training], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The best epoch is that of the highest score on `val`, whatever the other split says."""
    scores = {"val": iter([0.2, 0.5, 0.4]), "test": iter([0.9, 0.1, 1.0])}
    monkeypatch.setattr(Training, "score", lambda _, split: next(scores[split]))

    found = start("prior").run()

    assert [each.best for each in found] == [True, True, False]
    assert [each.accuracy["test"] for each in found] == [0.9, 0.1, 1.0]


def test_patience_ends_training(start: Callable[..., Training], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Training, "score", lambda *_: 0.5)

    assert len(start("prior", course=replace(QUICK, epochs=9, patience=2)).run()) == 3


def test_no_epoch_of_a_stage_that_others_follow_is_kept(start: Callable[..., Training]) -> None:
    training = start("prior", "plain@1,plain@1,plain-ce")

    assert last_stage(training.debias) == 2
    assert [each.best for each in training.run()] == [False, False, True]


def test_a_method_that_tunes_has_its_own_rate_in_its_stage(start: Callable[..., Training]) -> None:
    rates = []
    start("updn", "plain@1,esr", replace(QUICK, epochs=2)).run(
        lambda _, now: rates.append(now.optimizer.param_groups[0]["lr"])
    )

    assert rates == [5e-3, 2e-6]


def test_the_rate_rises_over_the_first_epochs(start: Callable[..., Training]) -> None:
    rates = []
    start("prior", course=replace(QUICK, warmup=2)).run(
        lambda _, now: rates.append(now.optimizer.param_groups[0]["lr"])
    )

    assert rates == pytest.approx([5e-3 / 3, 1e-2 / 3, 5e-3])


class Broken(Plain):
    """Give a loss that is no number from the second epoch on."""

    def begin_epoch(self, epoch: int) -> None:
        self.now = epoch

    def forward(self, model: Network, batch: Batch) -> Tensor:
        return super().forward(model, batch) * (torch.nan if self.now else 1)


def test_a_loss_that_is_no_number_stops_with_the_last_good_epoch_kept(
    start: Callable[..., Training], tmp_path: Path
) -> None:
    training = start("question-only")
    training.debias = Broken(training.model)

    with pytest.raises(ModelError, match=r"finite loss.*nan in epoch 1"):
        training.run(lambda epoch, now: TrainingFolder(tmp_path).keep(now.state(), epoch))

    state = TrainingFolder(tmp_path).state()
    assert state is not None
    assert len(state["epochs"]) == 1
    assert all(bool(value.isfinite().all()) for value in state["model"].values())


def test_a_training_that_broke_in_its_first_epoch_can_begin_otherwise(world: Dataset, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=r"finite loss.*epoch 0; lower the learning rate"):
        train_into(tmp_path / "m", world, small("updn", rate=1e30), lambda _: None)

    train_into(tmp_path / "m", world, small("updn"), lambda _: None)

    record = TrainingFolder(tmp_path / "m").record
    assert record.course["rate"] == NETWORKS.get("updn").recipe.rate
    assert TrainingFolder(tmp_path / "m").open()[0].sizes.hidden == record.sizes["hidden"]


def test_a_start_from_no_model_is_told_as_such(world: Dataset, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match=r"a trained model in .*; found no zoo.json"):
        train_into(tmp_path / "m", world, small(init=f"zoo:{tmp_path}"), lambda _: None)


def test_memory_that_runs_out_says_what_to_lower(
    start: Callable[..., Training], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise torch.OutOfMemoryError

    training = start("prior")
    monkeypatch.setattr(training, "_step", refuse)

    with pytest.raises(ModelError, match="lower the batch size"):
        training.run()


def test_a_network_too_large_for_the_machine_says_what_to_lower(world: Dataset, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="lower the batch size or the hidden size"):
        train_into(tmp_path / "m", world, small("updn", hidden=10_000_000), lambda _: None)


def test_whole_batches_are_compiled_where_it_is_wanted(
    world: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, plainly, compiled = [], [], []

    def count(_: Compiler, lesson: TrainingStep, rows: Tensor, kind: object) -> Tensor:
        asked.append((len(rows), kind))
        return differentiate(lesson, rows)

    monkeypatch.setattr(Compiler, "differentiate", count)
    wanted = TrainingRequest("image-only", epochs=2, batch=64, hidden=8, device="cpu")
    train_into(tmp_path / "plainly", world, wanted, plainly.append)
    assert asked == []

    train_into(tmp_path / "compiled", world, replace(wanted, compiled=True), compiled.append)
    whole = len(divide(world, 0)["train"].examples) // 64
    assert asked == [(64, None)] * (2 * whole)
    assert [each.loss for each in plainly] == [each.loss for each in compiled]


def test_steps_are_not_compiled_where_features_are_fetched(
    arrays: TrainingArrays, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A trace would hold the features of its own batch and show them again in every other step."""
    network = make_network("image-only", NetworkSizes(arrays.words, arrays.answers, 80, 16, 16))
    held = Training(network, make_method("plain", network), arrays, QUICK, Compiler())
    monkeypatch.setattr(loader, "MEMORY_LIMIT", 0)
    with caplog.at_level(logging.WARNING, "eyechart.zoo"):
        fetched = Training(network, make_method("plain", network), arrays, QUICK, Compiler())

    assert held.compiler is not None
    assert fetched.compiler is None
    assert caplog.text.count("features do not fit") == 1


def test_words_that_no_question_has_are_not_laid_out(arrays: TrainingArrays) -> None:
    questions = arrays.splits["val"]
    longest = int((questions.q != 0).sum(1).max())
    held = DeviceRegions(arrays.regions, torch.device("cpu"))
    wider = replace(questions, q=np.pad(questions.q, ((0, 0), (0, 5))), qmask=np.pad(questions.qmask, ((0, 0), (0, 5))))
    empty = replace(questions, q=np.zeros_like(questions.q))
    batches = [QuestionLoader(each, held, arrays.answers).batch(torch.arange(3)) for each in (questions, wider, empty)]

    assert questions.q.shape[1] > longest
    assert [each.q.shape for each in batches] == [(3, longest), (3, longest), (3, 1)]
    assert [each.qmask.shape for each in batches] == [(3, longest), (3, longest), (3, 1)]
    assert torch.equal(batches[0].q, batches[1].q)


def test_a_method_that_needs_hints_refuses_data_without(arrays: TrainingArrays) -> None:
    bare = {name: replace(each, hints=None) for name, each in arrays.splits.items()}
    network = make_network("updn", NetworkSizes(arrays.words, arrays.answers, 80, 16, 16))

    with pytest.raises(DataError, match="data with evidence"):
        Training(network, make_method("hint", network), replace(arrays, splits=bare), QUICK)


def test_features_that_do_not_fit_are_fetched_as_if_they_did(arrays: TrainingArrays) -> None:
    device, rows = torch.device("cpu"), torch.tensor([3, 0, 7])
    held, fetched = (
        QuestionLoader(arrays.splits["val"], DeviceRegions(arrays.regions, device, room), arrays.answers).batch(rows)
        for room in (None, 0)
    )

    for name in ("v", "boxes", "v_mask", "q", "a"):
        assert torch.equal(getattr(held, name), getattr(fetched, name)), name


def test_unknown_optimizers_are_refused() -> None:
    with pytest.raises(SettingError, match="adamax"):
        TrainingSettings("sgd")


def small(model: str = "question-only", **changes: object) -> TrainingRequest:
    return replace(TrainingRequest(model, epochs=2, batch=64, hidden=16, device="cpu"), **changes)  # type: ignore[arg-type]


def test_a_folder_goes_on_with_more_epochs_and_refuses_another_training(world: Dataset, tmp_path: Path) -> None:
    heard: list[Epoch] = []
    for epochs in (1, 2):
        train_into(tmp_path / "m", world, small(epochs=epochs), heard.append)

    assert [each.number for each in heard] == [0, 1]
    with pytest.raises(SettingError, match=r"another rate \(0.002\)"):
        train_into(tmp_path / "m", world, small(rate=0.1), heard.append)
    with pytest.raises(SettingError, match="vocabulary"):
        train_into(tmp_path / "m", world.sample(100), small(), heard.append)


def test_a_folder_goes_on_with_the_same_examples_alone(world: Dataset, tmp_path: Path) -> None:
    backwards = pl.when(pl.col("split") == "test").then(pl.col("question").reverse()).otherwise("question")
    other = replace(world, examples=world.examples.with_columns(question=backwards))
    file = tmp_path / "m" / "zoo.json"
    train_into(tmp_path / "m", world, small(epochs=1), lambda _: None)

    with pytest.raises(SettingError, match="another examples there"):
        train_into(tmp_path / "m", other, small(), lambda _: None)

    older = json.loads(file.read_text())
    file.write_text(json.dumps({name: older[name] for name in older if name not in {"examples", "vocabulary"}}))
    train_into(tmp_path / "m", world, small(), lambda _: None)
    assert TrainingFolder(tmp_path / "m").record.course["epochs"] == 2


def test_a_folder_that_goes_on_says_how_long_it_was_trained(world: Dataset, tmp_path: Path) -> None:
    for epochs in (1, 2, 1):
        train_into(tmp_path / "m", world, small(epochs=epochs), lambda _: None)

    assert TrainingFolder(tmp_path / "m").record.course["epochs"] == 2


def test_a_model_is_not_written_among_other_files(world: Dataset, tmp_path: Path) -> None:
    world.save(tmp_path / "data")

    with pytest.raises(SettingError, match="other files"):
        train_into(tmp_path / "data", world, small(), lambda _: None)


@pytest.mark.parametrize("content", [{"model": {}}, [1]])
def test_a_state_of_another_thing_is_refused(content: object, world: Dataset, tmp_path: Path) -> None:
    train_into(tmp_path / "m", world, small(epochs=1), lambda _: None)
    torch.save(content, tmp_path / "m" / "last.pt")

    with pytest.raises(FileFormatError, match=r"last\.pt"):
        train_into(tmp_path / "m", world, small(), lambda _: None)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": "plain@2,hint"}, "more than 2 epochs"),
        ({"method": "lmh@1,lmh-l"}, "the same bias"),
        ({"device": "nowhere"}, "a device that torch can use"),
        ({"seed": -1}, "a seed of 0 or more"),
        ({"model": "mlp-qa", "method": "lmh"}, "without its own answer scores .*; found one with a bias model"),
        ({"model": "mlp-qa", "method": "cf-vqa"}, "without its own answer scores .*; found one with a question branch"),
    ],
)
def test_what_cannot_be_trained_is_refused_before_anything_is_written(
    changes: dict[str, object], message: str, world: Dataset, tmp_path: Path
) -> None:
    with pytest.raises(SettingError, match=message):
        train_into(tmp_path / "m", world, small(**{"model": "updn", **changes}), lambda _: None)

    assert not (tmp_path / "m").exists()


def test_data_without_question_types_can_be_trained_on(
    world: Dataset, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bare = replace(world, examples=world.examples.drop("question_type"))

    for model, method in (("updn", "lmh"), ("prior", "plain")):
        train_into(tmp_path / model, bare, small(model, method=method, epochs=1), lambda _: None)
        assert TrainingFolder(tmp_path / model).state("best") is not None
    assert "the bias is the same for every question" in caplog.text


def test_a_last_batch_of_one_example_is_left_out(world: Dataset, tmp_path: Path) -> None:
    examples = divide(world, 0)["train"].examples.height

    train_into(tmp_path / "m", world, small("updn2", batch=examples - 1, epochs=1), lambda _: None)


@pytest.mark.parametrize("name", ["mcan", "mac"])
def test_a_width_that_heads_do_not_divide_can_be_trained(name: str, world: Dataset, tmp_path: Path) -> None:
    train_into(tmp_path / "m", world.sample(60), small(name, hidden=201, epochs=1), lambda _: None)


def test_a_given_rate_holds_where_a_trained_model_is_tuned(world: Dataset, tmp_path: Path) -> None:
    train_into(tmp_path / "first", world, small("updn", epochs=1), lambda _: None)
    tuned = small("updn", init=f"zoo:{tmp_path / 'first'}", method="hint+ssl", epochs=1)
    for name, wanted, rate in (("own", tuned, 2e-5), ("given", replace(tuned, rate=0.01), 0.01)):
        train_into(tmp_path / name, world, wanted, lambda _: None)
        state = TrainingFolder(tmp_path / name).state()
        assert state is not None
        assert state["optimizer"]["param_groups"][0]["lr"] == rate


def test_what_a_trained_model_brings_is_not_asked_for_again(world: Dataset, tmp_path: Path) -> None:
    train_into(tmp_path / "first", world, small(epochs=1), lambda _: None)

    with pytest.raises(SettingError, match="no --hidden but 16"):
        train_into(tmp_path / "m", world, small(init=f"zoo:{tmp_path / 'first'}", hidden=32), lambda _: None)


def test_answers_of_every_epoch_are_kept_where_asked_for(world: Dataset, tmp_path: Path) -> None:
    import polars as pl

    train_into(tmp_path / "m", world, small(keep_predictions=True), lambda _: None)

    files = sorted((tmp_path / "m" / "predictions").glob("*"))
    kept = pl.read_parquet(files[1])
    wanted = world.examples.filter(pl.col("split") != "train")["id"]
    assert [file.name for file in files] == ["epoch-000.parquet", "epoch-001.parquet"]
    assert sorted(kept["id"]) == sorted(wanted)


def test_a_model_trained_elsewhere_is_tuned_on(world: Dataset, tmp_path: Path) -> None:
    """It keeps the vocabulary of where it comes from, and says on what it was trained before."""
    train_into(tmp_path / "first", world, small(), lambda _: None)
    other = make_world(WorldSettings(seed=5, images=60)).data
    record = train_into(tmp_path / "second", other, small(init=f"zoo:{tmp_path / 'first'}"), lambda _: None)

    assert record.pretrained_on == ("world-0",)
    assert TrainingFolder(tmp_path / "second").vocabulary == TrainingFolder(tmp_path / "first").vocabulary
    with pytest.raises(ModelError, match="a trained updn"):
        train_into(tmp_path / "third", other, small("updn", init=f"zoo:{tmp_path / 'first'}"), lambda _: None)


def test_methods_that_train_on_an_audit_say_so(world: Dataset, tmp_path: Path) -> None:
    record = train_into(tmp_path / "m", world, small("updn", method="lmh+randimg", epochs=1), lambda _: None)

    assert record.trained_on_the_metric == ("perception",)

    tuned = small("updn", method="visfis", epochs=1, init=f"zoo:{tmp_path / 'm'}")
    record = train_into(tmp_path / "tuned", world, tuned, lambda _: None)
    assert record.trained_on_the_metric == ("perception", "grounding")


def test_words_start_from_their_vectors_where_a_file_knows_them(tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text("2 3\nis 1 2 3\nzebra 4 5 6\nthere 7 8 9\n")
    words = ("", "<unknown>", "there", "cat", "is")
    network = make_network("question-only", NetworkSizes(5, 4, 3, 8, 3))
    before = network.embedding.weight.detach().clone()

    read_starting_vectors(tmp_path / "glove.txt", words).copy_into(network)

    assert network.embedding.weight[[4, 2]].tolist() == [[1, 2, 3], [7, 8, 9]]
    assert torch.equal(network.embedding.weight[[0, 1, 3]], before[[0, 1, 3]])


def test_a_file_without_word_vectors_is_refused(world: Dataset, tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text("is 1 2\nthere 1 2 3\n")

    with pytest.raises(FileFormatError, match="3 numbers where 2 were expected"):
        train_into(tmp_path / "m", world, small(words=tmp_path / "glove.txt"), lambda _: None)


@pytest.mark.parametrize(("name", "content"), [("a.txt", "é 1 2".encode("latin-1")), ("a.txt.gz", b"is 1 2")])
def test_a_damaged_file_of_word_vectors_is_refused(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)

    with pytest.raises(FileFormatError, match=r"a\.txt"):
        read_starting_vectors(tmp_path / name, ("is",))


def test_vectors_of_another_width_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("is 1 2\n")

    network = make_network("question-only", NetworkSizes(2, 4, 3, 8, 3))

    with pytest.raises(FileFormatError, match="of 3 numbers"):
        read_starting_vectors(tmp_path / "a.txt", ("", "is")).copy_into(network)


def test_a_network_takes_the_width_of_the_word_vectors(world: Dataset, tmp_path: Path) -> None:
    (tmp_path / "glove.txt").write_text("is 1 2\nthere 1 2\n")

    record = train_into(tmp_path / "m", world, small(words=tmp_path / "glove.txt", epochs=1), lambda _: None)

    assert record.sizes["embedding"] == 2
    with pytest.raises(SettingError, match="another sizes, words"):
        train_into(tmp_path / "m", world, small(), lambda _: None)
