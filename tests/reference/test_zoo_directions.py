"""On a small biased world the methods move accuracy and grounding as their papers say, by wide margins.

Eight objects of different shapes, each with a colour; "what colour is the S?" and "is there an S?". In training the
usual answer of each question holds with probability 0.8, out of distribution with 0.2. One object is the evidence.
"""

from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
import pytest

if find_spec("torch") is None:
    pytest.skip("torch is not installed", allow_module_level=True)

import torch

from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Debias
from eyechart.zoo.losses import ask_of_regions, region_saliency
from eyechart.zoo.methods import make_method
from eyechart.zoo.network import Network, NetworkSizes
from eyechart.zoo.networks import make_network

SHAPES, COLORS, OBJECTS, FEATURES = 12, 6, 8, 32
ANSWERS = COLORS + 2  # colours, yes, no
YES, NO = COLORS, COLORS + 1
TRAIN, TEST, EPOCHS, SIZE = 4000, 1500, 10, 128
NOISE, BASE_RATE = 1.0, 2e-3
torch.set_num_threads(1)  # the tensors are too small to share out


class Judged(NamedTuple):
    """Shares of right answers, and of answers that rest on the evidence."""

    iid: float
    ood: float
    blind: float  # with the pictures of others
    grounded: float
    misordered: float  # share of other regions with a higher gradient than the evidence: what HINT lowers


def make_examples(n: int, held: float, seed: int) -> Batch:
    """Make questions whose usual answer holds with probability `held`."""
    codes = np.random.default_rng(99).standard_normal((SHAPES + COLORS, FEATURES))
    rng = np.random.default_rng(seed)
    shapes = rng.permuted(np.tile(np.arange(SHAPES), (n, 1)), axis=1)
    colors = rng.integers(COLORS, size=(n, OBJECTS))
    is_color, place = rng.random(n) < 0.5, rng.integers(OBJECTS, size=n)
    asked = shapes[np.arange(n), place]
    usual = rng.random(n) < held
    color = np.where(usual, asked % COLORS, (asked + rng.integers(1, COLORS, size=n)) % COLORS)
    there = is_color | (usual == (asked % 2 == 0))  # "yes" is usual for every second shape
    colors[is_color, place[is_color]] = color[is_color]
    shapes[~there, place[~there]] = shapes[~there, OBJECTS]  # another one stands in its place
    answer = np.where(is_color, color, np.where(there, YES, NO))
    v = codes[shapes[:, :OBJECTS]] + codes[SHAPES + colors] + NOISE * rng.standard_normal((n, OBJECTS, FEATURES))
    kind = np.where(is_color, 1, 2)
    return Batch(
        q=torch.tensor(np.column_stack([kind, asked + 3])),
        v=torch.tensor(v, dtype=torch.float32),
        a=torch.nn.functional.one_hot(torch.tensor(answer), ANSWERS).float(),
        hints=torch.tensor((np.arange(OBJECTS) == place[:, None]) & there[:, None]).float(),
        qmask=torch.tensor([False, True]).expand(n, 2),  # the kind of question, then the shape
        qtype=torch.tensor(asked * 2 + is_color),
        index=torch.arange(n),
    )


def rows(batch: Batch, chosen: torch.Tensor) -> Batch:
    names = ("q", "v", "a", "hints", "qmask", "qtype", "index")
    return Batch(**{name: getattr(batch, name)[chosen] for name in names})


@torch.no_grad()
def answers(network: Network, debias: Debias, batch: Batch) -> torch.Tensor:
    return debias.predict(network, batch).argmax(1)


def judge(network: Network, debias: Debias) -> Judged:
    iid, ood = make_examples(TEST, 0.8, 1), make_examples(TEST, 0.2, 2)
    plain = answers(network, debias, iid)
    evidence = iid.hints.bool()
    told = evidence.any(1)
    of_evidence = answers(network, debias, iid.to(v_mask=evidence | ~told.unsqueeze(1)))
    of_rest = answers(network, debias, iid.to(v_mask=~evidence))
    grounded = ((plain == of_evidence) & (plain != of_rest))[told]
    swapped = answers(network, debias, iid.to(v=iid.v.roll(1, 0)))
    right = plain == iid.a.argmax(1), answers(network, debias, ood) == ood.a.argmax(1), swapped == iid.a.argmax(1)
    g = region_saliency(*ask_of_regions(network, iid), keep=False)
    higher = (g > (g * evidence).sum(1, keepdim=True))[told.unsqueeze(1) & ~evidence]
    return Judged(*(float(each.float().mean()) for each in (*right, grounded, higher)))


@cache
def trained(method: str, model: str = "updn", rate: float | None = None) -> Judged:
    """Train at the method's own rate where it has one and no other is asked for."""
    torch.manual_seed(0)
    train, sizes = make_examples(TRAIN, 0.8, 0), NetworkSizes(SHAPES + 3, ANSWERS, FEATURES, 96, 32, 2 * SHAPES, TRAIN)
    network = make_network(model, sizes)
    debias = make_method(method, network)
    prior = make_network("prior", sizes).train()
    prior(train)
    train = train.to(bias=prior.chances(train))
    parameters = [*network.parameters(), *debias.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=BASE_RATE)
    for epoch in range(EPOCHS):
        debias.begin_epoch(epoch)
        for group in optimizer.param_groups:
            group["lr"] = rate or debias.rate or BASE_RATE
        for chosen in torch.randperm(TRAIN).split(SIZE):
            debias.begin_step()
            optimizer.zero_grad()
            debias(network, rows(train, chosen).to(bias=train.bias[chosen])).backward()
            torch.nn.utils.clip_grad_norm_(parameters, 0.25)
            optimizer.step()
    return judge(network.eval(), debias.eval())


def test_a_network_that_reads_only_the_question_ends_at_the_prior() -> None:
    judged = trained("plain", "question-only")

    assert judged.iid == pytest.approx(0.8, abs=0.03)
    assert judged.ood == pytest.approx(0.2, abs=0.03)
    assert judged.blind == judged.iid
    assert judged.grounded == 0


def test_plain_training_learns_both_the_picture_and_the_prior() -> None:
    judged = trained("plain")

    assert judged.iid > trained("plain", "question-only").iid + 0.04
    assert judged.ood < judged.iid - 0.15
    assert judged.blind < judged.iid - 0.2


def test_lmh_trades_accuracy_in_distribution_for_accuracy_out_of_it() -> None:
    assert trained("lmh").iid < trained("plain").iid - 0.15
    assert trained("lmh").ood > trained("plain").ood + 0.05


def test_lpf_of_gamma_5_falls_far_below_gamma_1_in_distribution() -> None:
    assert trained("lpf-5").iid < trained("lpf").iid - 0.15


def test_ssl_lowers_what_is_right_without_the_picture() -> None:
    assert trained("plain@5,ssl").blind < trained("plain").blind - 0.05
    assert trained("plain@5,ssl").ood > trained("plain").ood + 0.05


def test_visfis_grounds_better_than_plain_training() -> None:
    assert trained("visfis").grounded > trained("plain").grounded + 0.05
    assert trained("visfis").ood > trained("plain").ood + 0.05


def test_hint_moves_no_more_than_a_regulariser_that_knows_no_hints() -> None:
    """Measured with three seeds: answers and grounding differ by at most 0.01 at HINT's own rate of 2e-5."""
    hinted, control = trained("plain@8,hint"), trained("plain@8,esr")

    assert hinted[:4] == pytest.approx(control[:4], abs=0.04)


def test_hint_at_the_rate_of_training_puts_gradients_in_order_and_moves_accuracy_little() -> None:
    """Measured with three seeds: misordered falls from 0.30-0.38 to 0.02-0.09, accuracies move by at most 0.02.

    With HINT's weight at 0 nothing changes; at -2 misordered rises to 0.77.
    """
    plain, hinted = trained("plain"), trained("plain@8,hint", rate=BASE_RATE)

    assert hinted.misordered < plain.misordered - 0.15
    assert hinted.iid == pytest.approx(plain.iid, abs=0.06)
    assert hinted.ood == pytest.approx(plain.ood, abs=0.08)
