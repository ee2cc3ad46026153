"""Train one row of the study, or a part of it until a time is up; torch and NumPy alone."""

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch  # noqa: TID253 - this part runs where torch is

from eyechart.zoo.arrays import (
    NOISE,
    SPLITS,
    Array,
    QuestionArrays,
    Regions,
    TrainingArrays,
    load_questions,
    make_regions,
    read_arrays,
)
from eyechart.zoo.debias import Debias
from eyechart.zoo.methods import make_method
from eyechart.zoo.network import Network, NetworkSizes
from eyechart.zoo.networks import make_network
from eyechart.zoo.train.compiling import Compiler
from eyechart.zoo.train.loop import Epoch, State, Training
from eyechart.zoo.train.settings import TrainingSettings, seed_all
from zoo_rows import EMBEDDING, HIDDEN, WIDTHS, Row

ASK = "ask "
OF_BEST = ("shifted", "balanced", "plain")  # asked of the best epoch too


class Bundle:
    """What `prepare` packed: arrays to train on, and what is asked afterwards."""

    def __init__(self, file: Path) -> None:
        arrays = read_arrays(file)
        splits = load_questions(arrays)
        keys, boxes = arrays["keys"], arrays["boxes"].astype(np.float32)
        regions = make_regions(arrays["codes"].astype(np.int64), keys, boxes, arrays["parts"].tolist(), NOISE)
        learned = {name: splits.pop(name) for name in SPLITS}  # scoring all splits every epoch would cost a sixth more
        self.asked = {name.removeprefix(ASK): each for name, each in splits.items()}
        self.arrays = self._with_room(regions, learned, arrays["sizes"].tolist())

    def _with_room(self, regions: Regions, splits: dict[str, QuestionArrays], sizes: list[int]) -> TrainingArrays:
        """Widen hints and sights to the image with most regions of all worlds."""
        for part in (splits, self.asked):
            for name, each in part.items():
                hints, seen = (_widened(found, regions.most) for found in (each.hints, each.seen))
                part[name] = replace(each, hints=hints, seen=seen)
        return TrainingArrays(regions, splits, *sizes)


def _widened(found: Array | None, width: int) -> Array | None:
    return None if found is None else np.pad(found, ((0, 0), (0, width - found.shape[1])))


class Part(NamedTuple):
    """Where a training is kept that is not finished, and when it must be."""

    file: Path
    until: float  # as time.time()


def train_row(
    row: Row, bundle: Bundle, course: TrainingSettings, part: Part, compiler: Compiler | None = None
) -> dict[str, Array]:
    """Train a row and give the answers of its last epoch to everything asked, and those of its best one to some."""
    begun = time.time()
    training = Training(*make_pair(row, bundle.arrays), bundle.arrays, course, compiler)
    best = _take_up(training, part.file)
    before = sum(each.seconds for each in training.epochs)

    def keep(epoch: Epoch, now: Training) -> None:
        if epoch.best:
            best.update(model=_copied(now.model), debias=_copied(now.debias))
        if epoch.number + 1 == course.epochs or time.time() + epoch.seconds < part.until:
            return
        _keep({"training": now.state(), "best": best}, part.file)
        if time.time() > part.until:  # the first epoch is longer than others: there may be time for many more
            raise TimeoutError(f"{epoch.number + 1} epochs are kept for another time")

    training.run(keep)
    found = {name: _ask(training, bundle, name) for name in bundle.asked}
    training.model.load_state_dict(best["model"])
    training.debias.load_state_dict(best["debias"])
    found |= {f"best {name}": _ask(training, bundle, name) for name in OF_BEST}
    log = [(each.number, each.loss, dict(each.accuracy), each.seconds, each.best) for each in training.epochs]
    recorded = {"epochs": log, "seconds": before + time.time() - begun, "begun": begun}
    packed = {name: each.astype(np.uint8) for name, each in found.items()}
    part.file.unlink(missing_ok=True)
    return {**packed, "log": np.frombuffer(json.dumps(recorded).encode(), np.uint8)}


def make_pair(row: Row, arrays: TrainingArrays) -> tuple[Network, Debias]:
    """Make the network and the method of a row, as its seed has them."""
    seed_all(row.seed)
    hidden, features = WIDTHS.get(row.model, HIDDEN), arrays.regions.values.shape[1]
    examples = len(arrays.splits["train"])
    network = make_network(
        row.model, NetworkSizes(arrays.words, arrays.answers, features, hidden, EMBEDDING, arrays.types, examples)
    )
    return network, make_method(row.method, network)


def _keep(state: State, file: Path) -> None:
    """Write what is needed to go on, whole or not at all."""
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = file.with_name(f".{file.name}")
    torch.save(state, draft)
    draft.replace(file)


def _take_up(training: Training, file: Path) -> dict[str, dict[str, torch.Tensor]]:
    """Go on with a training that was kept, and give the weights of its best epoch."""
    if not file.is_file():
        return {}
    kept = torch.load(file, map_location=training.device, weights_only=True)
    training.resume(kept["training"])
    best: dict[str, dict[str, torch.Tensor]] = kept["best"]
    return best


def _copied(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in module.state_dict().items()}


def _ask(training: Training, bundle: Bundle, condition: str) -> Array:
    from eyechart.zoo.loader import QuestionLoader

    loader = QuestionLoader(
        bundle.asked[condition], training.regions, training.arrays.answers, options=training.options
    )
    return training.answer(loader).cpu().numpy()
