"""The symbolic network runs programs right, and learns to see from answers alone."""

import itertools

import numpy as np
import polars as pl
import pytest
import torch

from eyechart.zoo.arrays import OPERATIONS
from eyechart.zoo.batch import Batch
from eyechart.zoo.network import NetworkSizes
from eyechart.zoo.networks import make_network
from eyechart.zoo.networks.symbolic import MOST_COUNTED, Symbolic, count, some_logit
from eyechart.zoo.vocabulary import programs_of

# Features of a region: is a cup, is a hat, is red, is blue, is large.
CUP, HAT, RED, BLUE, LARGE = range(5)
ANSWERS = ("red", "blue", "yes", "no", "1", "2", "cup", "hat")


def outcomes(alpha: np.ndarray) -> list[tuple[tuple[int, ...], float]]:
    """List what may hold of each region, with its probability."""
    worlds = itertools.product((0, 1), repeat=len(alpha))
    return [(world, float(np.prod(np.where(world, alpha, 1 - alpha)))) for world in worlds]


def test_counting_adds_up_the_ways_it_can_be_so() -> None:
    alpha = np.random.default_rng(0).random(8)
    expected = np.zeros(MOST_COUNTED + 1)
    for world, chance in outcomes(alpha):
        expected[min(sum(world), MOST_COUNTED)] += chance

    np.testing.assert_allclose(count(torch.tensor(alpha)[None])[0], expected)


def test_some_is_the_chance_that_not_none_holds() -> None:
    alpha = np.random.default_rng(1).random(6)
    some = sum(chance for world, chance in outcomes(alpha) if any(world))

    assert float(some_logit(torch.tensor(alpha)[None]).sigmoid()) == pytest.approx(some)


@pytest.fixture
def seeing() -> Symbolic:
    """Make a network with known looks of its words and answers."""
    network = make_network("symbolic", NetworkSizes(words=6, answers=len(ANSWERS), features=5))
    with torch.no_grad():
        for detectors, shown in ((network.concepts, (None, CUP, HAT, RED, BLUE, LARGE)), (network.replies, SHOWN)):
            detectors.directions.weight.zero_()
            detectors.offsets.weight.fill_(-10.0)
            for place, feature in enumerate(shown):
                if feature is not None:
                    detectors.directions.weight[place, feature] = 20.0
        for name in ("choose", "relate"):  # takes things, no colours
            network.usual.weight[OPERATIONS.index(name), :2] = -99.0
        for said in network.said.values():
            said.bias.zero_()
            said.weight.zero_()
            said.weight[ANSWERS.index("yes")], said.weight[ANSWERS.index("no")] = 1.0, -1.0
        network.counted.weight.zero_()
        network.counted.weight[ANSWERS.index("1"), 1] = network.counted.weight[ANSWERS.index("2"), 2] = 9.0
        network.size.weight.zero_()
        network.size.weight[0, LARGE] = 9.0
        left = torch.zeros(32, 8)
        left[0, 0], left[1, 0] = -1.0, 1.0  # how far to the left, to the right
        network.relation[0].weight.copy_(left)
        network.relation[0].bias.zero_()
        network.relation[2].weight.copy_(torch.tensor([[40.0, -40.0, *[0.0] * 30]]))
        network.relation[2].bias.fill_(-5.0)
    return network.eval()


SHOWN = (RED, BLUE, None, None, None, None, CUP, HAT)
SCENE = torch.tensor([[1, 0, 1, 0, 0], [0, 1, 0, 1, 1], [1, 0, 1, 0, 0]]).float()  # red cup, large blue hat, red cup
BOXES = torch.tensor([[0.0, 0.0, 0.1, 0.1], [0.5, 0.0, 0.6, 0.1], [0.8, 0.0, 0.9, 0.1]])


@pytest.mark.parametrize(
    ("operation", "first", "second", "answer"),
    [
        ("query", 1, 0, "red"),
        ("query", 2, 0, "blue"),
        ("exist", 2, 0, "yes"),
        ("exist", 0, 0, "no"),
        ("count", 1, 0, "2"),
        ("count", 2, 0, "1"),
        ("verify", 1, 3, "yes"),
        ("verify", 1, 4, "no"),
        ("choose", 1, 2, "hat"),
        ("relate", 2, 0, "cup"),
    ],
)
def test_a_network_that_knows_the_concepts_answers_right(
    seeing: Symbolic, operation: str, first: int, second: int, answer: str
) -> None:
    program = torch.tensor([[OPERATIONS.index(operation), first, second]])
    batch = Batch(q=program[:, 1:], v=SCENE[None], boxes=BOXES[None], program=program)

    assert ANSWERS[int(seeing(batch).logits.argmax())] == answer


def test_without_the_object_there_is_nothing_to_say(seeing: Symbolic) -> None:
    program = torch.tensor([[OPERATIONS.index("exist"), 2, 0]])
    hidden = torch.tensor([[True, False, True]])
    batch = Batch(q=program[:, 1:], v=SCENE[None], boxes=BOXES[None], v_mask=hidden, program=program)

    assert ANSWERS[int(seeing(batch).logits.argmax())] == "no"


def test_programs_are_read_off_the_questions_of_the_world() -> None:
    words = {
        word: place
        for place, word in enumerate(("apple", "leaves", "red", "cup", "blue", "cat", "color", "use"), start=1)
    }
    questions = pl.Series(
        [
            "what color is the apple?",
            "how many leaves are there?",
            "is the cup red?",
            "which is bigger, the cup or the apple please?",
            "what do you use the blue tool for?",
            "what is left of the cup?",
            "what is the cat doing?",
            "is there an apple now?",
            "who is it?",
            None,
        ]
    )
    found = programs_of(questions, words)

    assert [OPERATIONS[row[0]] for row in found] == [
        *("query", "count", "verify", "choose", "query", "relate", "query", "exist", "none", "none"),
    ]
    assert found[:, 1].tolist() == [1, 2, 4, 4, 5, 4, 6, 1, 0, 0]
    assert found[:, 2].tolist() == [7, 0, 3, 1, 8, 0, 0, 0, 0, 0]  # "doing" is not among the words
