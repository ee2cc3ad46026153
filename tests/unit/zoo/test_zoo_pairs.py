"""Every method trains every network: one loss, finite gradients, the same again from the same seed."""

import pytest
import torch

from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Debias
from eyechart.zoo.methods import METHODS, make_method
from eyechart.zoo.methods.css import CSS
from eyechart.zoo.network import Network, NetworkSizes
from eyechart.zoo.networks import NETWORKS, make_network
from unit.zoo.toy import LARGE, SMALL, in_double

PUT_TOGETHER = ("lmh+css", "lmh+rmfe", "rubi+ssl", "plain-ce+hint", "plain@1,ssl")
AT_REGIONS = ("ssl", "hint", "scr", "visfis", "css", "css-labels", "lmh+css", "rmfe")  # they edit them, or look there


def trained_once(
    model: str, method: str, sizes: NetworkSizes, batch: Batch, *, hides_words: bool = True
) -> tuple[Network, Debias, torch.Tensor]:
    """Learn from one step, in the precision of the batch."""
    torch.manual_seed(0)
    network = make_network(model, sizes).to(batch.v.dtype)
    debias = make_method(method, network).to(batch.v.dtype)
    for part in debias.modules():
        if isinstance(part, CSS):
            part.hides_words = hides_words
    loss = debias(network, batch)
    loss.backward()
    return network, debias, loss.detach()


def assert_finite(model: str, method: str, sizes: NetworkSizes, batch: Batch) -> None:
    forms = (True, False) if "css" in method else (True,)  # CSS hides words in some steps, regions in others
    for hides_words in forms:
        network, debias, loss = trained_once(model, method, sizes, batch, hides_words=hides_words)
        parameters = [*network.named_parameters(), *debias.named_parameters()]
        broken = [name for name, each in parameters if each.grad is not None and not each.grad.isfinite().all()]

        assert loss.shape == ()
        assert loss.isfinite()
        assert broken == []
        assert any(each.grad is not None for _, each in parameters)


@pytest.mark.parametrize("method", [*METHODS.names(), *PUT_TOGETHER])
@pytest.mark.parametrize("model", SMALL)
def test_gradients_are_finite(model: str, method: str, sizes: NetworkSizes, batch: Batch) -> None:
    assert_finite(model, method, sizes, batch)


@pytest.mark.parametrize("method", [*METHODS.names(), *PUT_TOGETHER])
@pytest.mark.parametrize("model", LARGE)
def test_gradients_of_pretrained_architectures_are_finite(
    model: str, method: str, sizes: NetworkSizes, batch: Batch
) -> None:
    assert_finite(model, method, sizes, batch)


@pytest.mark.parametrize("method", ["plain", *AT_REGIONS])
@pytest.mark.parametrize("model", SMALL + LARGE)
def test_gradients_are_finite_where_nothing_is_in_sight(
    model: str, method: str, sizes: NetworkSizes, batch: Batch
) -> None:
    nothing = torch.zeros_like(batch.v_mask)
    nothing[0] = True

    assert_finite(model, method, sizes, batch.to(v_mask=nothing))


@pytest.mark.parametrize("method", METHODS.names())
def test_equal_seeds_give_equal_losses_and_gradients(method: str, sizes: NetworkSizes, batch: Batch) -> None:
    network, _, loss = trained_once("updn", method, sizes, batch)
    again, _, same = trained_once("updn", method, sizes, batch)

    assert torch.equal(loss, same)
    for one, other in zip(network.parameters(), again.parameters(), strict=True):
        assert torch.equal(one.grad, other.grad)


@pytest.mark.parametrize("method", METHODS.names())
def test_a_method_names_every_field_it_reads(method: str, sizes: NetworkSizes, batch: Batch) -> None:
    torch.manual_seed(0)
    network = make_network("updn", sizes)
    debias = make_method(method, network)
    unasked = {name: None for name in ("bias", "hints", "qmask", "index", "qtype", "cand") if name not in debias.needs}

    assert debias(network, batch.to(**unasked)).isfinite()
    assert ("bias" in debias.needs) == (debias.bias_from is not None)
    assert debias.bias_from is None or debias.bias_from in NETWORKS.names()


# RMFE treats the spread of its noise as given, and its term is too steep at the start for any step.
@pytest.mark.parametrize("method", [name for name in METHODS.names() if name != "rmfe"])
def test_a_step_lowers_the_loss_of_the_same_draw(method: str, sizes: NetworkSizes, batch: Batch) -> None:
    """So short a step, which single precision would not see, moves no maximum in a loss to another place."""
    batch = in_double(batch)
    network, debias, before = trained_once("updn", method, sizes, batch)
    parameters = [each for each in (*network.parameters(), *debias.parameters()) if each.grad is not None]
    length = torch.cat([each.grad.flatten() for each in parameters]).norm()
    with torch.no_grad():
        for each in parameters:
            each.sub_(1e-6 / length * each.grad)
    torch.manual_seed(0)
    make_method(method, make_network("updn", sizes))  # bring the seed to where the first loss was drawn
    after = debias(network, batch).detach()

    assert after < before
