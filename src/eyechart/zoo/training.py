"""The training loop: epochs, the rate of each, one step, scores after every epoch, what is kept of the best.

The epoch that is kept is chosen on the split `val` alone, which is distributed as the training data; all other splits
are scored and written down, never chosen by. Everything random in an epoch follows from the seed and its number, so
that training that stops after an epoch and goes on gives the same as training that never stopped.
"""

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from eyechart.errors import DataError, ModelError, SettingError
from eyechart.zoo.arrays import TrainingArrays
from eyechart.zoo.bias import PRIOR, Bias, FrozenBias, PriorBias
from eyechart.zoo.compiling import Compiler
from eyechart.zoo.course import Course, advising_on_memory, make_optimizer, seed_all
from eyechart.zoo.debias import Debias, Then
from eyechart.zoo.lesson import Lesson, differentiate, learned
from eyechart.zoo.methods.branch import QuestionBranch
from eyechart.zoo.models import make_network
from eyechart.zoo.network import Network, Sizes
from eyechart.zoo.recording import Kind, Recorder, Step
from eyechart.zoo.shelf import Deck, Shelf

if TYPE_CHECKING:
    from eyechart.zoo.word_vectors import WordVectors

_log = logging.getLogger("eyechart.zoo")

State = dict[str, Any]
CLIP = 0.25
SHOWN_AT_ONCE = 2048  # examples, where nothing is learned
MADE_FROM = {  # what a network or a method may need
    "hints": "evidence with boxes",
    "cand": "choices",
    "program": "questions of a planted world",
    "qmask": "words that may be hidden",
    "qtype": "question types",
}


class Epoch(NamedTuple):
    """What an epoch (from 0) came to: mean loss, accuracy by split, seconds, and whether it is the one to keep."""

    number: int
    loss: float
    accuracy: Mapping[str, float]
    seconds: float
    best: bool


OnEpoch = Callable[[Epoch, "Training"], None]


def ignore(epoch: Epoch, training: "Training") -> None:
    """Let an epoch pass."""


@dataclass
class Training:
    """A network, a method, and what is needed to go on after any epoch."""

    model: Network
    debias: Debias
    arrays: TrainingArrays
    course: Course
    compiler: Compiler | None = None
    vectors: "WordVectors | None" = None  # of words, for what is trained beside the network
    epochs: list[Epoch] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.device = self.course.place()
        self.model.to(self.device)
        self.debias.to(self.device)
        self.shelf = Shelf(self.arrays.regions, self.device)
        self.options = "cand" in self.model.needs
        self.decks = {name: self.deck(name) for name in ("train", *self.arrays.watched)}
        self.decks["train"].keep_only((*self.model.needs, *self.debias.needs))
        held = [*self.model.parameters(), *self.debias.parameters()]
        self.recorded = self.device.type == "cuda" and self.shelf.held is not None
        if self.shelf.held is None and self.compiler is not None:  # a trace would keep the features it was made with
            _log.warning("steps are not compiled, which is slower: the features do not fit on %s", self.device)
            self.compiler = None
        self.optimizer = make_optimizer(self.course, held, recorded=self.recorded)
        self.teacher: Network | None = None
        self._check_needs()

    def deck(self, split: str) -> Deck:
        """Put a split on the device."""
        if split not in self.arrays.splits or not len(self.arrays.splits[split]):
            raise DataError(f"examples to be used as {split!r}", "none", "add such a split, or hold some examples out")
        return Deck(self.arrays.splits[split], self.shelf, self.arrays.answers, options=self.options)

    def run(self, on_epoch: OnEpoch = ignore) -> list[Epoch]:
        """Train until the epochs are over or patience is; `on_epoch` hears of each, with everything in place."""
        with advising_on_memory(self.course):
            take = self._taker(self._bias())
            while len(self.epochs) < self.course.epochs and not self._is_over():
                number, began = len(self.epochs), time.perf_counter()
                loss = self._epoch(number, take)
                accuracy = {name: self.score(name) for name in self.arrays.watched}
                best = self._is_best(number, accuracy["val"])
                self.epochs.append(Epoch(number, loss, accuracy, time.perf_counter() - began, best))
                on_epoch(self.epochs[-1], self)
        return self.epochs

    def score(self, split: str) -> float:
        """Take the mean score of the answers to a split."""
        deck = self.decks[split]
        said = torch.split(self.answer(deck), SHOWN_AT_ONCE)
        rows = torch.split(torch.arange(len(deck), device=self.device), SHOWN_AT_ONCE)
        total = sum(
            float(deck.wanted(some).gather(1, answers.unsqueeze(1)).sum())
            for some, answers in zip(rows, said, strict=True)
        )
        return total / len(deck)

    def answer(self, deck: Deck) -> Tensor:
        """Say the highest answer to every example of a deck, by number, [M]."""
        return torch.cat([logits.argmax(1) for logits in answer_all(self.model, self.debias, deck)])

    def state(self) -> State:
        """Hold everything that is needed to go on."""
        return {
            "model": self.model.state_dict(),
            "debias": self.debias.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "teacher": None if self.teacher is None else self.teacher.state_dict(),
            "epochs": [(each.number, each.loss, dict(each.accuracy), each.seconds, each.best) for each in self.epochs],
        }

    def go_on(self, state: State) -> None:
        """Take up what another process held."""
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

    def _epoch(self, number: int, take: Step) -> float:
        """Take one step for every batch and give the mean loss."""
        seed_all(self.course.seed, number)
        self.model.train()
        self.debias.train()
        self.debias.begin_epoch(number)
        self._set_rate(number)
        order = torch.from_numpy(
            np.random.default_rng([self.course.seed, number]).permutation(len(self.decks["train"]))
        )
        total, steps = torch.zeros((), device=self.device), 0
        for rows in torch.split(order.to(self.device), self.course.batch):
            if steps and len(rows) == 1:  # UpDn2 normalises over the batch, which one example cannot be
                continue
            total += take(rows, Kind(self.debias.begin_step(), self._rate))
            steps += 1
        self._check_finite(total, number)
        return float(total) / max(steps, 1)

    def _taker(self, bias: Bias | None) -> Step:
        """Make what takes a step for some examples: recorded where everything lies on a GPU."""
        lesson = Lesson(self.model, self.debias, bias, self.decks["train"], self._precision)

        def take(rows: Tensor, kind: Kind) -> Tensor:
            return self._step(lesson, rows, kind)

        return Recorder(take, self.course.batch, self.device) if self.recorded else take

    def _step(self, lesson: Lesson, rows: Tensor, kind: Kind) -> Tensor:
        if self.compiler is None or len(rows) != self.course.batch:  # the last batch is not worth compiling for
            loss = differentiate(lesson, rows)
        else:
            loss = self.compiler.differentiate(lesson, rows, kind.of_method)
        torch.nn.utils.clip_grad_norm_(learned(lesson), CLIP)
        self.optimizer.step()
        return loss

    def _precision(self) -> AbstractContextManager[object]:
        half = self.course.half if self.course.half is not None else self.device.type == "cuda"
        return torch.autocast(self.device.type, torch.bfloat16) if half else nullcontext()

    def _set_rate(self, number: int) -> None:
        """Let the rate rise in the first epochs; a method that tunes a trained network has one of its own."""
        own = self.debias.rate if self.course.tuned or isinstance(self.debias, Then) else None
        rising = min(1.0, (number + 1) / (self.course.warmup + 1))
        self._rate = self.course.rate * rising if own is None else own
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate

    def _bias(self) -> Bias | None:
        source = self.debias.bias_from
        if source is None:
            return None
        if source == PRIOR:
            return PriorBias(self.decks["train"], self.arrays.types, SHOWN_AT_ONCE)
        if self.teacher is None:
            self.teacher = train_plainly(source, self.model.sizes, self.arrays, self.course, self.vectors)
        return FrozenBias(self.teacher)

    def _is_best(self, number: int, score: float) -> bool:
        """Tell whether an epoch is the one to keep so far; a stage that others follow never is."""
        earlier = [each.accuracy["val"] for each in self.epochs if each.number >= last_stage(self.debias)]
        return number >= last_stage(self.debias) and score > max(earlier, default=-1.0)

    def _is_over(self) -> bool:
        if self.course.patience is None or not any(each.best for each in self.epochs):
            return False
        return len(self.epochs) - 1 - max(each.number for each in self.epochs if each.best) >= self.course.patience

    def _check_finite(self, total: Tensor, number: int) -> None:
        sound = all(bool(each.isfinite().all()) for each in self.model.parameters())
        if not (bool(total.isfinite()) and sound):
            found = f"a loss of {float(total)} in epoch {number}"
            advice = "lower the rate, or look for numbers that are none among the features and word vectors"
            kept = "; the last good epoch is still there" if self.epochs else ""
            raise ModelError("a finite loss", found, advice + kept)

    def _check_needs(self) -> None:
        train = self.arrays.splits["train"]
        if not (train.scores > 0).any() and not self.options:
            found = "none of the answers to the training questions"
            raise DataError("answers that the network knows", found, "learn more answers, or start from no other model")
        if self.course.batch == 1 and any(isinstance(part, torch.nn.BatchNorm1d) for part in self.model.modules()):
            raise SettingError("batches of two or more for a network that normalises over them", "1", "give it more")
        if self.debias.bias_from == PRIOR and self.arrays.types == 1:
            _log.warning("the data have no question types, so that the bias is the same for every question")
        branched = any(isinstance(part, QuestionBranch) for part in self.debias.modules())
        if self.options and (branched or self.debias.bias_from is not None):
            expected = "a method that scores no answers by itself for a network that chooses among options"
            found = "one with a branch for the question" if branched else "one that takes a bias"
            raise SettingError(expected, found, "choose another method or network")
        by_type = ("qtype",) if self.debias.bias_from == PRIOR else ()
        for name in (*self.model.needs, *self.debias.needs, *by_type):
            there = getattr(train, name, None)
            if name in MADE_FROM and (there is None or (name == "program" and not there[:, 0].any())):
                raise DataError(f"data with {MADE_FROM[name]}", "none", "choose a model or method that does without")


def last_stage(debias: Debias) -> int:
    """Tell the epoch from which on the last method of several has its turn."""
    return debias.n_epochs + last_stage(debias.second) if isinstance(debias, Then) else 0


def train_plainly(
    name: str, sizes: Sizes, arrays: TrainingArrays, course: Course, vectors: "WordVectors | None" = None
) -> Network:
    """Train a network without any method, to be frozen: a bias for others.

    It learns from the examples that it is asked about later, so that it is surer there than elsewhere. Where patience
    ends its training, its best epoch is taken, else its last.
    """
    from eyechart.zoo.methods import make_method

    seed_all(course.seed)
    network = make_network(name, sizes)
    if vectors is not None:
        from eyechart.zoo.word_vectors import put_in

        put_in(network, vectors)
    best: State = {}

    def keep(epoch: Epoch, now: Training) -> None:
        if epoch.best and course.patience is not None:
            best.update({each: value.clone() for each, value in now.model.state_dict().items()})

    Training(network, make_method("plain", network), arrays, course).run(keep)
    if best:
        network.load_state_dict(best)
    return network


@torch.no_grad()
def answer_all(model: Network, debias: Debias, deck: Deck) -> list[Tensor]:
    """Score the answers to all examples of a deck, batch by batch; an option that is not there is never the highest."""
    model.eval()
    debias.eval()
    found = []
    for batch in deck.batches(SHOWN_AT_ONCE):
        logits = debias.predict(model, batch)
        if batch.cand is not None:
            logits = logits.masked_fill((batch.cand == 0).all(-1), -torch.inf)
        found.append(logits.float())
    return found
