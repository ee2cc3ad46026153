"""Trained by the zoo's own loop on a planted world, methods move accuracy as their papers say, by wide margins.

What they do to grounding is shown in tests/reference, and for all networks in the recorded study (docs/zoo_study.md).
"""

from typing import NamedTuple

import pytest

from eyechart.world import WorldSettings, make_world
from eyechart.zoo.arrays import TrainingArrays
from eyechart.zoo.features import open_features
from eyechart.zoo.methods import make_method
from eyechart.zoo.network import NetworkSizes
from eyechart.zoo.networks import make_network
from eyechart.zoo.prepare import divide, make_arrays
from eyechart.zoo.train.loop import Training
from eyechart.zoo.train.settings import TrainingSettings, seed_all
from eyechart.zoo.vocabulary import NetworkVocabulary


class Accuracies(NamedTuple):
    iid: float  # where shortcuts hold as in training
    ood: float  # where they hold in a fifth of the cases


@pytest.fixture(scope="module")
def arrays() -> TrainingArrays:
    world = make_world(WorldSettings(images=600, test_strength=0.2)).data
    parts = divide(world, 0)
    return make_arrays(parts, NetworkVocabulary.of(parts["train"]), open_features(world.images))


@pytest.fixture(scope="module")
def found(arrays: TrainingArrays) -> dict[str, Accuracies]:
    return {name: train(name, arrays) for name in ("plain-ce", "lpf", "lpf-5")}


def train(method: str, arrays: TrainingArrays) -> Accuracies:
    seed_all(0)
    network = make_network("updn", NetworkSizes(arrays.words, arrays.answers, 80, 64, 32, arrays.types))
    settings = TrainingSettings("adam", 5e-3, 64, 12, device="cpu")
    last = Training(network, make_method(method, network), arrays, settings).run()[-1].accuracy
    return Accuracies(last["val"], last["test"])


def test_plain_training_leans_on_shortcuts(found: dict[str, Accuracies]) -> None:
    assert found["plain-ce"].iid > found["plain-ce"].ood + 0.15


def test_lpf_trades_accuracy_in_distribution_for_accuracy_out_of_it(found: dict[str, Accuracies]) -> None:
    assert found["lpf"].ood > found["plain-ce"].ood + 0.02
    assert found["lpf"].iid < found["plain-ce"].iid - 0.02


def test_a_stronger_lpf_falls_far_below_a_weaker_one_in_distribution(found: dict[str, Accuracies]) -> None:
    assert found["lpf-5"].iid < found["lpf"].iid - 0.08
