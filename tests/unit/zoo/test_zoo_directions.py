"""What the papers found comes back on a small planted world, as directions with wide margins."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
import torch

from eyechart.world import WorldSettings, make_world
from eyechart.zoo.arrays import TrainingArrays
from eyechart.zoo.features import open_features
from eyechart.zoo.loader import QuestionLoader
from eyechart.zoo.methods import make_method
from eyechart.zoo.network import NetworkSizes
from eyechart.zoo.networks import make_network
from eyechart.zoo.prepare import divide, make_arrays
from eyechart.zoo.train.loop import Training
from eyechart.zoo.train.settings import TrainingSettings, seed_all
from eyechart.zoo.vocabulary import NetworkVocabulary

SEEDS = (0, 1)


class Found(NamedTuple):
    iid: float  # accuracy where shortcuts hold as in training
    ood: float  # where they hold in a fifth of the cases
    grounded: float  # FPVG+: the same answer from the evidence alone, another one without it


@pytest.fixture(scope="module")
def arrays() -> TrainingArrays:
    world = make_world(WorldSettings(images=1200, test_strength=0.2)).data
    parts = divide(world, 0)
    return make_arrays(parts, NetworkVocabulary.of(parts["train"]), open_features(world.images))


@pytest.fixture(scope="module")
def found(arrays: TrainingArrays) -> dict[str, Found]:
    """Give means over seeds: one training may differ from another by as much as methods do."""
    by_seed = {name: [train(name, seed, arrays) for seed in SEEDS] for name in ("plain-ce", "lpf", "lpf-5", "visfis")}
    return {name: Found(*np.mean(each, axis=0)) for name, each in by_seed.items()}


def train(method: str, seed: int, arrays: TrainingArrays) -> Found:
    seed_all(seed)
    network = make_network("updn", NetworkSizes(arrays.words, arrays.answers, 80, 64, 32, arrays.types))
    training = Training(
        network, make_method(method, network), arrays, TrainingSettings("adam", 5e-3, 64, 12, device="cpu")
    )
    last = training.run()[-1].accuracy
    return Found(last["val"], last["test"], grounded(training, arrays))


def grounded(training: Training, arrays: TrainingArrays) -> float:
    val = arrays.splits["val"]
    assert val.hints is not None
    relevant = val.hints > 0.5
    shown = [val, replace(val, seen=relevant), replace(val, seen=~relevant)]
    plain, evidence, rest = (training.answer(QuestionLoader(each, training.regions, arrays.answers)) for each in shown)
    usable = torch.from_numpy(relevant.any(1))
    return float(((plain == evidence) & (plain != rest))[usable].float().mean())


def test_plain_training_leans_on_shortcuts(found: dict[str, Found]) -> None:
    assert found["plain-ce"].iid > found["plain-ce"].ood + 0.15


def test_lpf_trades_accuracy_in_distribution_for_accuracy_out_of_it(found: dict[str, Found]) -> None:
    assert found["lpf"].ood > found["plain-ce"].ood + 0.02
    assert found["lpf"].iid < found["plain-ce"].iid + 0.02


def test_a_stronger_lpf_falls_far_below_a_weaker_one_in_distribution(found: dict[str, Found]) -> None:
    assert found["lpf-5"].iid < found["lpf"].iid - 0.08


def test_visfis_raises_accuracy_in_and_out_of_distribution(found: dict[str, Found]) -> None:
    assert found["visfis"].iid > found["plain-ce"].iid
    assert found["visfis"].ood > found["plain-ce"].ood + 0.02


def test_visfis_grounds_more_answers(found: dict[str, Found]) -> None:
    assert found["visfis"].grounded > found["plain-ce"].grounded + 0.02


def test_a_lpf_that_is_too_strong_grounds_fewer_answers(found: dict[str, Found]) -> None:
    assert found["lpf-5"].grounded < found["plain-ce"].grounded - 0.03
