"""Each loss is differentiated as it is written: what autograd gives is what the value does when weights move."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from eyechart.zoo.debias import Debias
from eyechart.zoo.methods import METHODS
from eyechart.zoo.methods.rmfe import RMFE
from eyechart.zoo.methods.rubi import QuestionBranch
from unit.zoo.toy import Case, ce_each, known, softmax, with_many_regions

HELD = ("cf-vqa", "lff")  # their equations hold parts of themselves while the rest moves: each has its own test
BRANCHED = ("rubi", "lpf", "lpf-5", "cf-vqa")
WORDS_HELD = (*BRANCHED, "rmfe", "rmfe-log", "lmh+rmfe")  # by sg[q], or in the spread of RMFE's noise
NAMES = (*(name for name in METHODS.names() if name not in HELD), "lmh+css", "lmh+rmfe")
FORMS = [(name, share) for name in NAMES for share in ((1.0, 0.0) if "css" in name else (0.5,))]
STEP = 1e-6


def loss_of(case: Case, method: Debias) -> Tensor:
    torch.manual_seed(2)  # the same draws each time
    loss: Tensor = method(case.toy, case.batch)
    return loss


def assert_slopes(case: Case, loss: Tensor, at: list[nn.Parameter], again: Callable[[], float]) -> None:
    """Compare gradients with what small steps in random directions do to a number that is computed again."""
    gradients = torch.autograd.grad(loss, at, allow_unused=True, materialize_grads=True)
    draw = torch.Generator().manual_seed(3)
    for _ in range(3):
        ways = [torch.randn(each.shape, generator=draw, dtype=torch.double) for each in at]
        for each, way in zip(at, ways, strict=True):
            if each is case.toy.embedding.weight:
                way[0] = 0  # the vector of no word is never learned
        ends = []
        for size in (STEP, -STEP):
            move(at, ways, size)
            ends.append(again())
            move(at, ways, -size)
        slope = sum(float((gradient * way).sum()) for gradient, way in zip(gradients, ways, strict=True))

        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * STEP), rel=1e-6, abs=1e-6)


@torch.no_grad()
def move(at: list[nn.Parameter], ways: list[Tensor], size: float) -> None:
    for each, way in zip(at, ways, strict=True):
        each.add_(size * way)


@pytest.mark.parametrize(("name", "words_share"), FORMS)
def test_gradients_are_the_slopes_of_the_loss(
    case: Case, name: str, words_share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eyechart.zoo.methods.css.WORDS_SHARE", words_share)
    monkeypatch.setattr(RMFE, "weight", 1e-3)  # 1e-10 would leave nothing of the term to be seen
    case = with_many_regions(case)  # with few, the least violation that SCR lowers is 0
    method = case.method(name)
    words = [] if name in WORDS_HELD else [case.toy.embedding.weight]
    at = [case.toy.of_regions, case.toy.of_words, *words, *method.parameters()]

    assert_slopes(case, loss_of(case, method), at, lambda: float(loss_of(case, method).detach()))


@pytest.mark.parametrize("name", BRANCHED)
def test_no_gradient_reaches_the_words_through_a_branch(case: Case, name: str) -> None:
    (branch,) = (part for part in case.method(name).modules() if isinstance(part, QuestionBranch))
    branch(case.toy(case.batch), case.batch).sum().backward()

    assert all(each.grad is None for each in case.toy.parameters())
    assert all(each.grad is not None for each in branch.parameters())


def test_the_last_term_of_cfvqa_trains_its_constant_alone(case: Case) -> None:
    method = case.method("cf-vqa")
    others = [case.toy.of_regions, case.toy.of_words, *(each for each in method.parameters() if each.shape)]

    def last_term() -> float:
        question, _, scores = method._effects(case.toy, case.batch)
        total, direct = (each.detach().numpy() for each in (scores, method._direct(question)))
        return float(-(softmax(total) * np.log(softmax(direct))).sum(1).mean())

    def other_terms() -> float:
        return float(loss_of(case, method).detach()) - last_term()

    found = []
    for constant in (0.3, -2.0):
        method.constant.data.fill_(constant)
        found.append(torch.autograd.grad(loss_of(case, method), others))
        assert_slopes(case, loss_of(case, method), others, other_terms)
        assert_slopes(case, loss_of(case, method), [method.constant], last_term)
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


def test_lff_holds_its_weights(case: Case) -> None:
    method, y = case.method("lff"), case.arrays.y

    def losses() -> dict[str, np.ndarray]:
        sides = {"twin": known(method.twin), "model": known(case.toy)}
        return {
            who: ce_each(side.s(case.arrays.v, case.arrays.seen, side.vectors[case.arrays.q]), y)
            for who, side in sides.items()
        }

    first = losses()
    ratios = {who: each / [each[y == kind].max() for kind in y] for who, each in first.items()}
    weight = ratios["twin"] / (ratios["twin"] + ratios["model"])
    easy = 0.7 * np.exp(-first["twin"]) ** 0.7

    def with_weights_held() -> float:
        now = losses()
        return float((easy * now["twin"] + weight * now["model"]).mean())

    at = [*case.toy.parameters(), method.twin.of_regions, method.twin.of_words]
    assert_slopes(case, loss_of(case, method), at, with_weights_held)
