"""The folder of a trained model: its record, its vocabulary, its weights, and the results of every epoch.

zoo.json          network and method, sizes, course, data; the pretraining data and the audits it was trained on
vocabulary.json   words, answers, question types
last.pt, best.pt  everything needed to resume; the weights of the epoch with the best validation score
epochs.json       loss, accuracy by split and seconds of every epoch
predictions/      the answers of every epoch, if kept
"""

import hashlib
import json
import pickle
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from eyechart.base.errors import FileFormatError, ModelError
from eyechart.base.files import damaged, missing, read_record, replacing, write_record
from eyechart.base.trust import is_everything_trusted, trusting
from eyechart.zoo.debias import Debias
from eyechart.zoo.methods import code_in, make_method
from eyechart.zoo.network import Network, NetworkSizes
from eyechart.zoo.networks import NETWORKS, make_network
from eyechart.zoo.train.loop import Epoch, State
from eyechart.zoo.vocabulary import NetworkVocabulary


@dataclass(frozen=True)
class TrainingRecord:
    """The record of a training: what was trained, on which data, and with which settings."""

    kind: Literal["zoo"]
    model: str
    method: str
    sizes: dict[str, int]
    course: dict[str, Any]
    data: str
    init: str | None
    pretrained_on: tuple[str, ...]
    trained_on_the_metric: tuple[str, ...]
    words: str | None = None  # the file of word vectors that it started from
    examples: str | None = None  # the digest of all questions, answers and features; missing in older records
    vocabulary: str | None = None  # its digest, likewise

    @property
    def code(self) -> list[str]:
        """List the code files that opening the model runs, besides our own code and installed packages."""
        return [*code_in(self.model), *code_in(self.method)]


@dataclass(frozen=True)
class TrainingFolder:
    """The folder of a trained model; `trust` allows it to run the code that it names."""

    path: Path
    trust: bool = False

    @property
    def record(self) -> TrainingRecord:
        """Read the record of the training."""
        if not (self.path / "zoo.json").is_file():
            advice = "make one with `eyechart train`"
            raise FileFormatError(f"a trained model in {self.path}", "no zoo.json there", advice)
        return read_record(self.path / "zoo.json", TrainingRecord)

    @property
    def trusted_record(self) -> TrainingRecord:
        """Read the record, refusing one that names untrusted code."""
        record = self.record
        if record.code and not (self.trust or is_everything_trusted()):
            expected = f"permission to run {', '.join(record.code)}, which the model in {self.path} needs"
            advice = f"inspect that code, and write zoo:{self.path},trust=yes or --trust if you trust it"
            raise ModelError(expected, "none", advice)
        return record

    @property
    def vocabulary(self) -> NetworkVocabulary:
        """Read the vocabulary of the network."""
        vocabulary = read_record(self.path / "vocabulary.json", NetworkVocabulary)
        if self.record.vocabulary not in {None, vocabulary.digest()}:
            expected = f"the vocabulary that was written with the weights in {self.path}"
            raise ModelError(expected, "another", "keep the files of one training together")
        return vocabulary

    def digest(self, name: str) -> str:
        """Hash the weights of the best or last epoch."""
        file = self.path / f"{name}.pt"
        if not file.is_file():
            raise missing(file)
        with file.open("rb") as weights:
            return hashlib.file_digest(weights, "sha256").hexdigest()[:16]

    def start(self, record: TrainingRecord, vocabulary: NetworkVocabulary) -> None:
        """Write the record and the vocabulary of a new training."""
        write_record(vocabulary, self.path / "vocabulary.json")
        write_record(record, self.path / "zoo.json")

    def keep(self, state: State, epoch: Epoch) -> None:
        """Write the state after an epoch, each file atomically, and the best weights before the last."""
        if epoch.best:
            self._save({name: state[name] for name in ("model", "debias")}, "best")
        self._save(state, "last")
        with replacing(self.path / "epochs.json") as draft:
            names = Epoch._fields
            draft.write_text(json.dumps([dict(zip(names, each, strict=True)) for each in state["epochs"]], indent=1))

    def state(self, name: str = "last") -> State | None:
        """Read the state after the last or best epoch, or None if there is none, unpickling only weights."""
        file = self.path / f"{name}.pt"
        if not file.is_file():
            return None
        try:
            with zipfile.ZipFile(file) as parts:
                broken = parts.testzip()  # torch does not check the checksums that it writes
            content = None if broken else torch.load(file, map_location="cpu", weights_only=True)
        except (OSError, RuntimeError, EOFError, ValueError, LookupError, pickle.UnpicklingError, zipfile.BadZipFile):
            raise damaged(file, "not weights written by torch") from None
        if not isinstance(content, dict):
            raise damaged(file, f"its part {broken} has changed" if broken else "not the state of a training")
        return content

    def open(self, name: str = "best") -> tuple[Network, Debias]:
        """Build the network and its method with their trained weights."""
        record, vocabulary, state = self.trusted_record, self.vocabulary, self.state(name)
        if state is None:
            raise missing(self.path / f"{name}.pt")
        with trusting():
            return self._build(record, vocabulary, state)

    def _build(self, record: TrainingRecord, vocabulary: NetworkVocabulary, state: State) -> tuple[Network, Debias]:
        sizes = self._sizes(record)
        by_option = "cand" in NETWORKS.get(record.model).needs
        expected = {"words": sizes.words, "types": sizes.types} | ({} if by_option else {"answers": sizes.answers})
        lengths = {name: len(getattr(vocabulary, name)) for name in expected}
        if lengths != expected:
            raise ModelError(
                f"a vocabulary of {expected} in {self.path}",
                str(lengths),
                "keep the vocabulary.json that was written with the weights",
            )
        return build_trained(record.model, record.method, sizes, state)

    def _sizes(self, record: TrainingRecord) -> NetworkSizes:
        if not {"words", "answers", "features"} <= set(record.sizes) <= set(NetworkSizes._fields):
            raise damaged(self.path / "zoo.json", f"sizes {', '.join(record.sizes)}")
        return NetworkSizes(**record.sizes)

    def _save(self, state: State, name: str) -> None:
        with replacing(self.path / f"{name}.pt") as draft:
            torch.save(state, draft)


def build_trained(model: str, method: str, sizes: NetworkSizes, state: State) -> tuple[Network, Debias]:
    """Build a network and a method, and load their weights, which must fit."""
    try:
        network = make_network(model, sizes)
        debias = make_method(method, network)
        for part, name in ((network, "model"), (debias, "debias")):
            part.load_state_dict(state[name])
    except (RuntimeError, KeyError, TypeError, ValueError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ModelError(f"weights that fit {model} with {sizes}", reason, "train it again") from None
    if not all(bool(each.isfinite().all()) for each in (*network.parameters(), *debias.parameters())):
        raise ModelError(f"finite weights of {model}", "some that are not", "train it again")
    return network, debias


def comparable_fields(record: TrainingRecord) -> dict[str, Any]:
    """Return the fields of a record that determine the outcome of a training, leaving out its length and device."""
    course = {name: value for name, value in record.course.items() if name not in {"epochs", "patience", "device"}}
    return asdict(record) | {"course": course}
