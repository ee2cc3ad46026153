"""Train on a dataset in a folder: build or resume the vocabulary, arrays and network, and save every epoch."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from eyechart.base.errors import FileFormatError, ModelError, SettingError
from eyechart.base.files import damaged, digest_arrays, lock_folder, missing, write_table
from eyechart.base.settings import fit_settings
from eyechart.data.dataset import Dataset
from eyechart.language.word_vectors import read_word_vectors
from eyechart.models.prompted import split_spec
from eyechart.zoo.arrays import TrainingArrays
from eyechart.zoo.debias import last_stage
from eyechart.zoo.features import open_features
from eyechart.zoo.methods import make_method, with_whole_paths
from eyechart.zoo.network import Network, NetworkSizes, StartingVectors
from eyechart.zoo.networks import NETWORKS, make_network
from eyechart.zoo.networks.pretrained import Pretrained
from eyechart.zoo.prepare import divide, make_arrays
from eyechart.zoo.train.compiling import Compiler
from eyechart.zoo.train.folder import TrainingFolder, TrainingRecord, comparable_fields
from eyechart.zoo.train.loop import Epoch, Training
from eyechart.zoo.train.settings import TrainingSettings, advising_on_memory, seed_all
from eyechart.zoo.vocabulary import ANSWERS, NetworkVocabulary, read_known_pieces

ZOO, RELEASED = "zoo:", "hf:"


@dataclass(frozen=True)
class TrainingRequest:
    """What to train, and how; None means the value of the network's recipe."""

    model: str
    method: str = "plain"
    seed: int = 0
    epochs: int | None = None
    batch: int | None = None
    rate: float | None = None
    hidden: int | None = None
    patience: int | None = 5
    device: str = "auto"
    answers: int = ANSWERS
    init: str | None = None  # what to start from: a trained model as zoo:FOLDER, or released weights as hf:FOLDER
    keep_predictions: bool = False
    words: Path | None = None  # word vectors to start from
    compiled: bool = False

    @property
    def released(self) -> Path | None:
        """Return the folder of the released weights to start from, if any."""
        init = self.init or ""
        return Path(init.removeprefix(RELEASED)) if init.startswith(RELEASED) else None

    def settings(self) -> TrainingSettings:
        """Return the settings, filled in from the recipe."""
        recipe = NETWORKS.get(self.model).recipe
        return TrainingSettings(
            recipe.optimizer,
            recipe.rate if self.rate is None else self.rate,
            recipe.batch if self.batch is None else self.batch,
            recipe.epochs if self.epochs is None else self.epochs,
            recipe.warmup,
            self.seed,
            self.patience,
            self.device,
            tuned=self.init is not None and self.released is None and self.rate is None,
        )


def train_into(
    path: Path, data: Dataset, request: TrainingRequest, on_epoch: Callable[[Epoch], None]
) -> TrainingRecord:
    """Train, or resume the same training where it stopped; the folder is up to date after every epoch."""
    folder = TrainingFolder(path)
    request = replace(request, model=with_whole_paths(request.model), method=with_whole_paths(request.method))
    parts = divide(data, request.seed)
    start = None if request.init is None or request.released else _folder_of(request.init)
    vocabulary = NetworkVocabulary.of(parts["train"], request.answers) if start is None else start.vocabulary
    if request.released:
        vocabulary = replace(vocabulary, words=read_known_pieces(request.released), pieces=True)
    features = open_features(data.images)
    arrays = make_arrays(parts, vocabulary, features)
    vectors = None if request.words is None else read_starting_vectors(request.words, vocabulary.words)
    training = _build(request, arrays, start, vectors)
    record = replace(_record(request, data, training, start), vocabulary=vocabulary.digest())

    def save(epoch: Epoch, training: Training) -> None:
        if request.keep_predictions:
            write_table(
                _predictions(parts, vocabulary, training), path / "predictions" / f"epoch-{epoch.number:03}.parquet"
            )
        folder.keep(training.state(), epoch)
        on_epoch(epoch)

    with lock_folder(path):
        _resume(folder, record, vocabulary, training)
        if request.keep_predictions:
            _check_predictions(path / "predictions", training.epochs)
        training.run(save)
    return record


def read_starting_vectors(file: Path, words: tuple[str, ...]) -> StartingVectors:
    """Read the vectors of a file for the words of a vocabulary."""
    known = read_word_vectors(file, pl.Series("word", words))
    if not len(known.words):
        advice = "choose vectors of these words, in the format of GloVe or word2vec"
        raise FileFormatError(f"vectors of words of the vocabulary in {file}", "none", advice)
    indices = {word: index for index, word in enumerate(words)}
    return StartingVectors(np.array([indices[word] for word in known.words]), known.matrix)


def _check_predictions(folder: Path, epochs: list[Epoch]) -> None:
    """Refuse to keep the answers of only some epochs, which a study of model selection would take for all."""
    if lost := [each.number for each in epochs if not (folder / f"epoch-{each.number:03}.parquet").is_file()]:
        expected = "the answers of every earlier epoch"
        raise SettingError(expected, f"none of epoch {lost[0]} in {folder}", "train again in another folder")


def _folder_of(init: str) -> TrainingFolder:
    """Find the trained model to start from: `zoo:FOLDER`, or `zoo:FOLDER,trust=yes` if it has its own code."""
    what, given = split_spec(init.removeprefix(ZOO))
    folder = TrainingFolder(Path(what), **fit_settings("zoo", {"trust": bool}, given))  # type: ignore[arg-type]  # a bool
    _ = folder.record  # refuses a folder without a model at once
    return folder


def _build(
    request: TrainingRequest, arrays: TrainingArrays, start: TrainingFolder | None, vectors: StartingVectors | None
) -> Training:
    """Build the network, the method and their training."""
    settings, compiler = request.settings(), Compiler() if request.compiled else None
    with advising_on_memory(settings):
        network = _build_network(request, arrays, start, vectors)
        method = make_method(request.method, network)
        if vectors is not None:
            vectors.copy_into(network)
            vectors.copy_into(method)
        training = Training(network, method, arrays, settings, compiler, vectors)
    if (first := last_stage(training.debias)) >= settings.epochs:
        expected = f"more than {first} epochs, which {request.method} spends on its first stages"
        raise SettingError(expected, str(settings.epochs), "raise --epochs")
    return training


def _build_network(
    request: TrainingRequest, arrays: TrainingArrays, start: TrainingFolder | None, vectors: StartingVectors | None
) -> Network:
    """Build a network with fresh weights, or with those of a trained one."""
    seed_all(request.seed)
    kind, train = NETWORKS.get(request.model), arrays.splits["train"]
    options = 0 if train.cand is None else train.cand.shape[1]
    answers = options if "cand" in kind.needs else arrays.answers
    width = arrays.regions.values.shape[1]
    hidden = kind.recipe.hidden if request.hidden is None else request.hidden
    sizes = NetworkSizes(arrays.words, answers, width, hidden, types=arrays.types, examples=len(train))
    if vectors is not None:
        sizes = sizes._replace(embedding=vectors.values.shape[1])
    if start is None:
        network = make_network(request.model, sizes)
        if request.released is not None:
            _load(network, request)
        return network
    network, _ = start.open()
    before = start.record
    if request.answers != ANSWERS:
        advice = "the trained model has its own answers; leave it out"
        raise SettingError("no --answers together with --init", str(request.answers), advice)
    if request.words is not None or request.hidden not in {None, network.sizes.hidden}:
        advice = "the trained model has its own; leave them out"
        expected = f"no --words, and no --hidden but {network.sizes.hidden}, together with --init"
        raise SettingError(expected, "others", advice)
    if before.model != request.model or network.sizes.features != width:
        found = f"{before.model} for {network.sizes.features} numbers per region"
        expected = f"a trained {request.model} for {width} numbers per region to start from"
        raise ModelError(expected, found, "start from another model, or from scratch")
    network.sizes = network.sizes._replace(examples=len(train))  # for methods that remember each example
    return network


def _load(network: Network, request: TrainingRequest) -> None:
    """Load released weights."""
    if request.released is None or not isinstance(network, Pretrained) or request.words is not None:
        expected = f"a network that comes from transformers, and no --words, to start from {request.init}"
        raise SettingError(expected, request.model, "choose lxmert or visualbert")
    network.load(request.released)


def _record(
    request: TrainingRequest, data: Dataset, training: Training, start: TrainingFolder | None
) -> TrainingRecord:
    network, debias = training.model, training.debias
    before = () if start is None else (*start.record.pretrained_on, start.record.data)
    audits = () if start is None else start.record.trained_on_the_metric
    return TrainingRecord(
        "zoo",
        request.model,
        request.method,
        network.sizes._asdict(),
        asdict(training.settings),
        data.name,
        request.init,
        tuple(dict.fromkeys((*network.pretrained_on, *before))),
        tuple(dict.fromkeys((*audits, *debias.trained_on_the_metric))),
        None if request.words is None else request.words.name,
        _digest(training.arrays, data),
    )


def _digest(arrays: TrainingArrays, data: Dataset) -> str:
    """Hash the training data: questions and answers, and parts of the features if they are in files."""
    features = data.images.features
    return arrays.digest() if features is None else f"{arrays.digest()} {digest_arrays(features)}"


def _resume(folder: TrainingFolder, record: TrainingRecord, vocabulary: NetworkVocabulary, training: Training) -> None:
    """Resume the training in the folder if it is the same, else refuse to overwrite it."""
    if not (folder.path / "zoo.json").is_file():
        if folder.path.is_dir() and any(not file.name.startswith(".") for file in folder.path.iterdir()):
            raise SettingError(f"{folder.path} to be empty or a training", "other files", "choose another folder")
        folder.start(record, vocabulary)
        return
    state = folder.state()
    if state is None and (folder.path / "epochs.json").is_file():
        raise missing(folder.path / "last.pt")
    if state is None:  # it ended in its first epoch, perhaps by too high a rate: nothing is lost
        (folder.path / "best.pt").unlink(missing_ok=True)  # written before the state
        folder.start(record, vocabulary)
        return
    _refuse_another(folder, record, vocabulary)
    try:
        training.resume(state)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise damaged(folder.path / "last.pt", str(error)) from None
    if any(each.best for each in training.epochs) and folder.state("best") is None:
        raise missing(folder.path / "best.pt")
    before = folder.record.course.get("epochs", 0)
    if record.course["epochs"] > before and training.teacher is not None:
        found = f"{before}, for which the network that provides the bias was trained too"
        raise SettingError(f"no more epochs for {record.method}", found, "train again in another folder")
    if record.course["epochs"] > before:
        folder.start(record, vocabulary)  # it is now trained for longer


def _refuse_another(folder: TrainingFolder, record: TrainingRecord, vocabulary: NetworkVocabulary) -> None:
    other = _differences(record, folder.record)
    if "vocabulary" not in other and vocabulary != folder.vocabulary:  # of a record that has no digest of it
        other.append("vocabulary")
    if other:
        found = f"another {', '.join(other)} there"
        raise SettingError(f"the same training in {folder.path}", found, "choose another folder, or remove it")


def _differences(ours: TrainingRecord, theirs: TrainingRecord) -> list[str]:
    """List the fields in which a training differs from the one in a folder, with the values of settings."""
    now, then = comparable_fields(ours), comparable_fields(theirs)
    then |= {name: then[name] or now[name] for name in ("examples", "vocabulary")}  # older records have none
    # A record read back has lists where we have tuples.
    other = [name for name in now if _plain(now[name]) != _plain(then[name])]
    course = [
        f"{name} ({then['course'].get(name)})"
        for name in now["course"]
        if now["course"][name] != then["course"].get(name)
    ]
    return [*(name for name in other if name != "course"), *course]


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _predictions(parts: Mapping[str, Dataset], vocabulary: NetworkVocabulary, training: Training) -> pl.DataFrame:
    """Answer every split but the training split, as a table of predictions."""
    tables = []
    for name in training.arrays.watched:
        numbers = pl.Series(training.answer(training.loaders[name]).cpu().numpy())
        examples = parts[name].examples
        if training.options:
            chosen = examples.select("choices").with_columns(number=numbers)
            answers = chosen.select(pl.col("choices").list.get(pl.col("number"), null_on_oob=True)).to_series()
        else:
            answers = pl.Series(vocabulary.answers).gather(numbers)
        tables.append(pl.DataFrame({"id": examples["id"], "answer": answers}))
    return pl.concat(tables)
