"""Train on a dataset into a folder: make or take up vocabulary, arrays and network, and write every epoch down."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import polars as pl

from eyechart.dataset import Dataset
from eyechart.errors import ModelError, SettingError
from eyechart.files import alone_in, damaged, digest_arrays, missing, write_table
from eyechart.models.specs import divide_spec
from eyechart.settings import fit_settings
from eyechart.zoo.arrays import TrainingArrays
from eyechart.zoo.compiling import Compiler
from eyechart.zoo.course import Course, advising_on_memory, seed_all
from eyechart.zoo.features import open_features
from eyechart.zoo.folder import Folder, Trained, describe
from eyechart.zoo.methods import make_method, with_whole_paths
from eyechart.zoo.models import MODELS, make_network
from eyechart.zoo.models.pretrained import Pretrained
from eyechart.zoo.network import Network, Sizes
from eyechart.zoo.pieces import read_known_pieces
from eyechart.zoo.prepare import divide, make_arrays
from eyechart.zoo.training import Epoch, Training, last_stage
from eyechart.zoo.vocabulary import ANSWERS, Vocabulary
from eyechart.zoo.word_vectors import WordVectors, put_in, read_word_vectors

ZOO, RELEASED = "zoo:", "hf:"


@dataclass(frozen=True)
class Wanted:
    """What is to be trained; what is None follows the recipe of the network's authors."""

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
        """Say where released weights lie that it starts from."""
        init = self.init or ""
        return Path(init.removeprefix(RELEASED)) if init.startswith(RELEASED) else None

    def course(self) -> Course:
        """Fill the recipe in."""
        recipe = MODELS.get(self.model).recipe
        return Course(
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


def train_into(path: Path, data: Dataset, wanted: Wanted, on_epoch: Callable[[Epoch], None]) -> Trained:
    """Train, or go on with the same training where it stopped; the folder is up to date after every epoch."""
    folder = Folder(path)
    wanted = replace(wanted, model=with_whole_paths(wanted.model), method=with_whole_paths(wanted.method))
    parts = divide(data, wanted.seed)
    start = None if wanted.init is None or wanted.released else _folder_of(wanted.init)
    vocabulary = Vocabulary.of(parts["train"], wanted.answers) if start is None else start.vocabulary
    if wanted.released:
        vocabulary = replace(vocabulary, words=read_known_pieces(wanted.released), pieces=True)
    features = open_features(data.images)
    arrays = make_arrays(parts, vocabulary, features)
    vectors = None if wanted.words is None else read_word_vectors(wanted.words, vocabulary.words)
    training = _begin(wanted, arrays, start, vectors)
    record = replace(_record(wanted, data, training, start), vocabulary=vocabulary.digest())

    def heard(epoch: Epoch, now: Training) -> None:
        if wanted.keep_predictions:
            write_table(_predictions(parts, vocabulary, now), path / "predictions" / f"epoch-{epoch.number:03}.parquet")
        folder.keep(now.state(), epoch)
        on_epoch(epoch)

    with alone_in(path):
        _take_up(folder, record, vocabulary, training)
        if wanted.keep_predictions:
            _check_kept(path / "predictions", training.epochs)
        training.run(heard)
    return record


def _check_kept(place: Path, epochs: list[Epoch]) -> None:
    """Refuse to keep the answers of some epochs only, which a study of selection would take for all."""
    if lost := [each.number for each in epochs if not (place / f"epoch-{each.number:03}.parquet").is_file()]:
        expected = "the answers of every epoch so far beside those to come"
        raise SettingError(expected, f"none of epoch {lost[0]} in {place}", "train anew into another folder")


def _folder_of(init: str) -> Folder:
    """Find the trained model to start from: `zoo:FOLDER`, or `zoo:FOLDER,trust=yes` where it brings code of its own."""
    what, given = divide_spec(init.removeprefix(ZOO))
    folder = Folder(Path(what), **fit_settings("zoo", {"trust": bool}, given))  # type: ignore[arg-type]  # a bool
    _ = folder.record  # a folder without a model is told at once
    return folder


def _begin(wanted: Wanted, arrays: TrainingArrays, start: Folder | None, vectors: WordVectors | None) -> Training:
    """Make everything that is trained."""
    course, compiler = wanted.course(), Compiler() if wanted.compiled else None
    with advising_on_memory(course):
        network = _start(wanted, arrays, start, vectors)
        method = make_method(wanted.method, network)
        if vectors is not None:
            put_in(network, vectors)
            put_in(method, vectors)
        training = Training(network, method, arrays, course, compiler, vectors)
    if (first := last_stage(training.debias)) >= course.epochs:
        expected = f"more than {first} epochs, which {wanted.method} gives to its first stages"
        raise SettingError(expected, str(course.epochs), "give it more --epochs")
    return training


def _start(wanted: Wanted, arrays: TrainingArrays, start: Folder | None, vectors: WordVectors | None) -> Network:
    """Make a network with fresh weights, or with those of a trained one."""
    seed_all(wanted.seed)
    kind, train = MODELS.get(wanted.model), arrays.splits["train"]
    options = 0 if train.cand is None else train.cand.shape[1]
    answers = options if "cand" in kind.needs else arrays.answers
    width = arrays.regions.values.shape[1]
    hidden = kind.recipe.hidden if wanted.hidden is None else wanted.hidden
    sizes = Sizes(arrays.words, answers, width, hidden, types=arrays.types, examples=len(train))
    if vectors is not None:
        sizes = sizes._replace(embedding=vectors.values.shape[1])
    if start is None:
        network = make_network(wanted.model, sizes)
        if wanted.released is not None:
            _load(network, wanted)
        return network
    network, _ = start.open()
    was = start.record
    if wanted.answers != ANSWERS:
        advice = "the trained model has its own answers; leave it out"
        raise SettingError("no --answers beside --init", str(wanted.answers), advice)
    if wanted.words is not None or wanted.hidden not in {None, network.sizes.hidden}:
        advice = "the trained model has its own; leave them out"
        raise SettingError(f"no --words and no --hidden but {network.sizes.hidden} beside --init", "others", advice)
    if was.model != wanted.model or network.sizes.features != width:
        found = f"{was.model} for {network.sizes.features} numbers a region"
        expected = f"a trained {wanted.model} for {width} numbers a region to start from"
        raise ModelError(expected, found, "start from another model, or from none")
    network.sizes = network.sizes._replace(examples=len(train))  # for methods that remember each
    return network


def _load(network: Network, wanted: Wanted) -> None:
    """Put released weights in."""
    if wanted.released is None or not isinstance(network, Pretrained) or wanted.words is not None:
        expected = f"a network that comes from transformers, and no --words, to start from {wanted.init}"
        raise SettingError(expected, wanted.model, "choose lxmert or visualbert")
    network.load(wanted.released)


def _record(wanted: Wanted, data: Dataset, training: Training, start: Folder | None) -> Trained:
    network, debias = training.model, training.debias
    before = () if start is None else (*start.record.pretrained_on, start.record.data)
    audits = () if start is None else start.record.trained_on_the_metric
    return Trained(
        "zoo",
        wanted.model,
        wanted.method,
        network.sizes._asdict(),
        asdict(training.course),
        data.name,
        wanted.init,
        tuple(dict.fromkeys((*network.pretrained_on, *before))),
        tuple(dict.fromkeys((*audits, *debias.trained_on_the_metric))),
        None if wanted.words is None else wanted.words.name,
        _digest(training.arrays, data),
    )


def _digest(arrays: TrainingArrays, data: Dataset) -> str:
    """Tell what is learned from all else: questions and answers, and parts of the features where these lie in files."""
    features = data.images.features
    return arrays.digest() if features is None else f"{arrays.digest()} {digest_arrays(features)}"


def _take_up(folder: Folder, record: Trained, vocabulary: Vocabulary, training: Training) -> None:
    """Go on with what is in the folder if it is the same training, else refuse to write over it."""
    if not (folder.path / "zoo.json").is_file():
        if folder.path.is_dir() and any(not file.name.startswith(".") for file in folder.path.iterdir()):
            raise SettingError(f"{folder.path} to be free, or a training", "other files there", "name another folder")
        folder.start(record, vocabulary)
        return
    state = folder.state()
    if state is None and (folder.path / "epochs.json").is_file():
        raise missing(folder.path / "last.pt")
    if state is None:  # it ended in its first epoch, as by a rate that was too high: nothing is lost
        (folder.path / "best.pt").unlink(missing_ok=True)  # written before the state
        folder.start(record, vocabulary)
        return
    _refuse_another(folder, record, vocabulary)
    try:
        training.go_on(state)
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        raise damaged(folder.path / "last.pt", str(error)) from None
    if any(each.best for each in training.epochs) and folder.state("best") is None:
        raise missing(folder.path / "best.pt")
    said = folder.record.course.get("epochs", 0)
    if record.course["epochs"] > said and training.teacher is not None:
        found = f"{said}, which the network that tells the bias was trained for as well"
        raise SettingError(f"no more epochs for {record.method}", found, "train anew into another folder")
    if record.course["epochs"] > said:
        folder.start(record, vocabulary)  # it is trained for longer than was said before


def _refuse_another(folder: Folder, record: Trained, vocabulary: Vocabulary) -> None:
    other = _differences(record, folder.record)
    if "vocabulary" not in other and vocabulary != folder.vocabulary:  # of a record that has no digest of it
        other.append("vocabulary")
    if other:
        found = f"another {', '.join(other)} there"
        raise SettingError(f"the training in {folder.path} to be this one", found, "name another folder, or remove it")


def _differences(ours: Trained, theirs: Trained) -> list[str]:
    """Name what sets a training apart from the one in a folder, and what it is there where that is short."""
    now, then = describe(ours), describe(theirs)
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


def _predictions(parts: Mapping[str, Dataset], vocabulary: Vocabulary, now: Training) -> pl.DataFrame:
    """Answer every split but the training one, as a file of predictions."""
    tables = []
    for name in now.arrays.watched:
        numbers = pl.Series(now.answer(now.decks[name]).cpu().numpy())
        examples = parts[name].examples
        if now.options:
            at = examples.select("choices").with_columns(at=numbers)
            said = at.select(pl.col("choices").list.get(pl.col("at"), null_on_oob=True)).to_series()
        else:
            said = pl.Series(vocabulary.answers).gather(numbers)
        tables.append(pl.DataFrame({"id": examples["id"], "answer": said}))
    return pl.concat(tables)
