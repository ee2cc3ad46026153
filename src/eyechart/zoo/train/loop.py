"""The training loop: epochs with their learning rates, steps, scores after every epoch, and the choice of the best.

The best epoch is chosen on the split `val` alone, which is distributed like the training data; all other splits are
scored and recorded but never used for selection. All randomness in an epoch follows from the seed and its number, so
that a training that is stopped and resumed gives the same result as one that never stopped.
"""

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from eyechart.base.errors import DataError, ModelError, SettingError
from eyechart.zoo.arrays import TrainingArrays
from eyechart.zoo.debias import Debias, Then, last_stage
from eyechart.zoo.loader import DeviceRegions, QuestionLoader
from eyechart.zoo.methods import make_method
from eyechart.zoo.methods.rubi import QuestionBranch
from eyechart.zoo.network import Network, NetworkSizes, StartingVectors
from eyechart.zoo.networks import make_network
from eyechart.zoo.train.compiling import Compiler
from eyechart.zoo.train.settings import TrainingSettings, advising_on_memory, make_optimizer, seed_all
from eyechart.zoo.train.step import (
    PRIOR,
    Bias,
    FrozenBias,
    PriorBias,
    Recorder,
    StepKind,
    TakeStep,
    TrainingStep,
    differentiate,
    trainable,
)

_log = logging.getLogger("eyechart.zoo")

State = dict[str, Any]
CLIP = 0.25
EVALUATION_BATCH = 2048  # examples at once when nothing is learned
COMES_FROM = {  # what the data must have for a field that a network or method needs
    "hints": "evidence with boxes",
    "cand": "choices",
    "program": "questions of a planted world",
    "qmask": "words that may be hidden",
    "qtype": "question types",
}


class Epoch(NamedTuple):
    """The results of an epoch (from 0): mean loss, accuracy by split, seconds, and whether it is the best so far."""

    number: int
    loss: float
    accuracy: Mapping[str, float]
    seconds: float
    best: bool


OnEpoch = Callable[[Epoch, "Training"], None]


def do_nothing(epoch: Epoch, training: "Training") -> None:
    """Do nothing after an epoch."""


@dataclass
class Training:
    """Train a network with a method, keeping everything needed to resume after any epoch."""

    model: Network
    debias: Debias
    arrays: TrainingArrays
    settings: TrainingSettings
    compiler: Compiler | None = None
    vectors: StartingVectors | None = None  # for networks trained to provide a bias
    epochs: list[Epoch] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.device = self.settings.torch_device()
        self.model.to(self.device)
        self.debias.to(self.device)
        self.regions = DeviceRegions(self.arrays.regions, self.device)
        self.options = "cand" in self.model.needs
        self.loaders = {name: self.loader(name) for name in ("train", *self.arrays.watched)}
        self.loaders["train"].keep_only((*self.model.needs, *self.debias.needs))
        held = [*self.model.parameters(), *self.debias.parameters()]
        self.recorded = self.device.type == "cuda" and self.regions.held is not None
        if self.regions.held is None and self.compiler is not None:  # a trace would keep its own features
            _log.warning("steps are not compiled, which is slower: the features do not fit on %s", self.device)
            self.compiler = None
        self.optimizer = make_optimizer(self.settings, held, recorded=self.recorded)
        self.teacher: Network | None = None
        self._check_needs()

    def loader(self, split: str) -> QuestionLoader:
        """Load a split onto the device."""
        if split not in self.arrays.splits or not len(self.arrays.splits[split]):
            raise DataError(f"examples in the split {split!r}", "none", "add such a split, or hold out some examples")
        return QuestionLoader(self.arrays.splits[split], self.regions, self.arrays.answers, options=self.options)

    def run(self, on_epoch: OnEpoch = do_nothing) -> list[Epoch]:
        """Train until the epochs or the patience run out, calling `on_epoch` after each complete epoch."""
        with advising_on_memory(self.settings):
            take = self._step_taker(self._bias())
            while len(self.epochs) < self.settings.epochs and not self._is_over():
                number, began = len(self.epochs), time.perf_counter()
                loss = self._epoch(number, take)
                accuracy = {name: self.score(name) for name in self.arrays.watched}
                best = self._is_best(number, accuracy["val"])
                self.epochs.append(Epoch(number, loss, accuracy, time.perf_counter() - began, best))
                on_epoch(self.epochs[-1], self)
        return self.epochs

    def score(self, split: str) -> float:
        """Compute the mean score of the answers to a split."""
        loader = self.loaders[split]
        answers = torch.split(self.answer(loader), EVALUATION_BATCH)
        rows = torch.split(torch.arange(len(loader), device=self.device), EVALUATION_BATCH)
        total = sum(
            float(loader.scores(some).gather(1, chosen.unsqueeze(1)).sum())
            for some, chosen in zip(rows, answers, strict=True)
        )
        return total / len(loader)

    def answer(self, loader: QuestionLoader) -> Tensor:
        """Return the number of the highest-scoring answer to every example, [M]."""
        return torch.cat([logits.argmax(1) for logits in answer_all(self.model, self.debias, loader)])

    def state(self) -> State:
        """Collect everything needed to resume."""
        return {
            "model": self.model.state_dict(),
            "debias": self.debias.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "teacher": None if self.teacher is None else self.teacher.state_dict(),
            "epochs": [(each.number, each.loss, dict(each.accuracy), each.seconds, each.best) for each in self.epochs],
        }

    def resume(self, state: State) -> None:
        """Restore the state of another process."""
        self.model.load_state_dict(state["model"])
        self.debias.load_state_dict(state["debias"])
        self.optimizer.load_state_dict(state["optimizer"])
        if state["teacher"] is not None:
            self.teacher = make_network(str(self.debias.bias_from), self.model.sizes).to(self.device)
            self.teacher.load_state_dict(state["teacher"])
        self.epochs = [
            Epoch(int(number), float(loss), {"val": accuracy["val"], **accuracy}, float(seconds), bool(best))
            for number, loss, accuracy, seconds, best in state["epochs"]
        ]

    def _epoch(self, number: int, take: TakeStep) -> float:
        """Take one step for every batch and return the mean loss."""
        seed_all(self.settings.seed, number)
        self.model.train()
        self.debias.train()
        self.debias.begin_epoch(number)
        self._set_rate(number)
        order = torch.from_numpy(
            np.random.default_rng([self.settings.seed, number]).permutation(len(self.loaders["train"]))
        )
        total, steps = torch.zeros((), device=self.device), 0
        for rows in torch.split(order.to(self.device), self.settings.batch):
            if steps and len(rows) == 1:  # UpDn2 normalises over the batch, which needs two examples
                continue
            total += take(rows, (self.debias.begin_step(), self._rate))
            steps += 1
        self._check_finite(total, number)
        return float(total) / max(steps, 1)

    def _step_taker(self, bias: Bias | None) -> TakeStep:
        """Return the function that takes a step for some examples, recorded if all features are on a GPU."""
        step = TrainingStep(self.model, self.debias, bias, self.loaders["train"], self._precision)

        def take(rows: Tensor, kind: StepKind) -> Tensor:
            return self._step(step, rows, kind)

        return Recorder(take, self.settings.batch, self.device) if self.recorded else take

    def _step(self, step: TrainingStep, rows: Tensor, kind: StepKind) -> Tensor:
        if self.compiler is None or len(rows) != self.settings.batch:  # the last batch is not worth compiling for
            loss = differentiate(step, rows)
        else:
            loss = self.compiler.differentiate(step, rows, kind[0])
        torch.nn.utils.clip_grad_norm_(trainable(step), CLIP)
        self.optimizer.step()
        return loss

    def _precision(self) -> AbstractContextManager[object]:
        half = self.settings.half if self.settings.half is not None else self.device.type == "cuda"
        return torch.autocast(self.device.type, torch.bfloat16) if half else nullcontext()

    def _set_rate(self, number: int) -> None:
        """Raise the rate over the first epochs, unless a method that tunes a trained network has its own rate."""
        own = self.debias.rate if self.settings.tuned or isinstance(self.debias, Then) else None
        rising = min(1.0, (number + 1) / (self.settings.warmup + 1))
        self._rate = self.settings.rate * rising if own is None else own
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate

    def _bias(self) -> Bias | None:
        source = self.debias.bias_from
        if source is None:
            return None
        if source == PRIOR:
            return PriorBias(self.loaders["train"], self.arrays.types, EVALUATION_BATCH)
        if self.teacher is None:
            self.teacher = train_plainly(source, self.model.sizes, self.arrays, self.settings, self.vectors)
        return FrozenBias(self.teacher)

    def _is_best(self, number: int, score: float) -> bool:
        """Return whether an epoch is the best so far, among those of the last stage."""
        earlier = [each.accuracy["val"] for each in self.epochs if each.number >= last_stage(self.debias)]
        return number >= last_stage(self.debias) and score > max(earlier, default=-1.0)

    def _is_over(self) -> bool:
        if self.settings.patience is None or not any(each.best for each in self.epochs):
            return False
        return len(self.epochs) - 1 - max(each.number for each in self.epochs if each.best) >= self.settings.patience

    def _check_finite(self, total: Tensor, number: int) -> None:
        sound = all(bool(each.isfinite().all()) for each in self.model.parameters())
        if not (bool(total.isfinite()) and sound):
            found = f"a loss of {float(total)} in epoch {number}"
            advice = "lower the learning rate, or look for NaN in the features and word vectors"
            kept = "; the last good epoch is still there" if self.epochs else ""
            raise ModelError("a finite loss", found, advice + kept)

    def _check_needs(self) -> None:
        train = self.arrays.splits["train"]
        if not (train.scores > 0).any() and not self.options:
            found = "none of the answers to the training questions"
            raise DataError("answers that the network knows", found, "learn more answers, or start from scratch")
        if self.settings.batch == 1 and any(isinstance(part, torch.nn.BatchNorm1d) for part in self.model.modules()):
            raise SettingError("a batch size of at least 2 for a network with batch normalisation", "1", "raise it")
        if self.debias.bias_from == PRIOR and self.arrays.types == 1:
            _log.warning("the data have no question types, so the bias is the same for every question")
        branched = any(isinstance(part, QuestionBranch) for part in self.debias.modules())
        if self.options and (branched or self.debias.bias_from is not None):
            expected = "a method without its own answer scores for a network that chooses among options"
            found = "one with a question branch" if branched else "one with a bias model"
            raise SettingError(expected, found, "choose another method or network")
        by_type = ("qtype",) if self.debias.bias_from == PRIOR else ()
        for name in (*self.model.needs, *self.debias.needs, *by_type):
            values = getattr(train, name, None)
            if name in COMES_FROM and (values is None or (name == "program" and not values[:, 0].any())):
                raise DataError(f"data with {COMES_FROM[name]}", "none", "choose another network or method")


def train_plainly(
    name: str,
    sizes: NetworkSizes,
    arrays: TrainingArrays,
    settings: TrainingSettings,
    vectors: StartingVectors | None = None,
) -> Network:
    """Train a network plainly, to be frozen as the bias model of another.

    It learns from the examples for which it later provides the bias, so it is more confident there than elsewhere. With
    patience its best epoch is used, else its last.
    """
    seed_all(settings.seed)
    network = make_network(name, sizes)
    if vectors is not None:
        vectors.copy_into(network)
    best: State = {}

    def keep(epoch: Epoch, training: Training) -> None:
        if epoch.best and settings.patience is not None:
            best.update({each: value.clone() for each, value in training.model.state_dict().items()})

    Training(network, make_method("plain", network), arrays, settings).run(keep)
    if best:
        network.load_state_dict(best)
    return network


@torch.no_grad()
def answer_all(model: Network, debias: Debias, loader: QuestionLoader) -> list[Tensor]:
    """Score the answers to all examples, batch by batch; a missing option never scores highest."""
    model.eval()
    debias.eval()
    scores = []
    for batch in loader.batches(EVALUATION_BATCH):
        logits = debias.predict(model, batch)
        if batch.cand is not None:
            logits = logits.masked_fill((batch.cand == 0).all(-1), -torch.inf)
        scores.append(logits.float())
    return scores
