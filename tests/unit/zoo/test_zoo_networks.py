"""Every network keeps the promises of the contract: what is masked reaches nothing, padding means nothing."""

import dataclasses

import pytest
import torch

from eyechart.zoo.batch import Batch
from eyechart.zoo.network import NetworkSizes
from eyechart.zoo.networks import make_network
from unit.zoo.toy import LARGE, SMALL, assert_equal_in_double, in_double

NAMES = SMALL + LARGE
ATTENDING = ("updn", "updn2", "san", "ban", "block", "mcan", "mac", "symbolic")
BLIND = ("prior", "majority", "question-only", "answer-only", "mlp-qa")


def made(name: str, sizes: NetworkSizes) -> torch.nn.Module:
    torch.manual_seed(0)
    return make_network(name, sizes).eval()


@pytest.fixture
def double(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> Batch:
    """Give the batch in double, to which what a network does in single precision on purpose is raised as well."""
    monkeypatch.setattr(torch.Tensor, "float", torch.Tensor.double)
    return in_double(batch)


def with_garbage(batch: Batch) -> Batch:
    hidden = ~batch.v_mask.unsqueeze(-1)
    return batch.to(v=batch.v.masked_fill(hidden, float("nan")), boxes=batch.boxes.masked_fill(hidden, 1e6))


@pytest.mark.parametrize("name", NAMES)
def test_garbage_in_masked_regions_changes_no_logit(name: str, sizes: NetworkSizes, batch: Batch) -> None:
    network = made(name, sizes)

    assert torch.equal(network(batch).logits, network(with_garbage(batch)).logits)


@pytest.mark.parametrize("name", NAMES)
def test_a_picture_without_any_region_in_sight_lets_nothing_through(
    name: str, sizes: NetworkSizes, batch: Batch
) -> None:
    network, nothing = made(name, sizes), batch.to(v_mask=torch.zeros_like(batch.v_mask))
    said = network(nothing).logits

    assert said.isfinite().all()
    assert torch.equal(said, network(with_garbage(nothing)).logits)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in BLIND])
def test_a_network_with_eyes_sees_the_regions_in_sight(name: str, sizes: NetworkSizes, batch: Batch) -> None:
    network = made(name, sizes)

    assert not torch.allclose(network(batch).logits, network(batch.to(v=batch.v + 1)).logits)


@pytest.mark.parametrize("name", BLIND)
def test_a_blind_network_does_not(name: str, sizes: NetworkSizes, batch: Batch) -> None:
    network = made(name, sizes)

    assert torch.equal(network(batch).logits, network(batch.to(v=batch.v + 1)).logits)


@pytest.mark.parametrize("name", NAMES)
def test_padding_behind_the_question_means_nothing(name: str, sizes: NetworkSizes, double: Batch) -> None:
    network = made(name, sizes).double()
    longer = double.to(q=torch.nn.functional.pad(double.q, (0, 3)))

    assert_equal_in_double(network(double).logits, network(longer).logits)


@pytest.mark.parametrize("name", NAMES)
def test_vectors_of_words_stand_for_the_words(name: str, sizes: NetworkSizes, batch: Batch) -> None:
    network = made(name, sizes)

    assert torch.equal(network(batch).logits, network(batch.to(w=network.words(batch))).logits)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_does_not_depend_on_the_others_of_its_batch(name: str, sizes: NetworkSizes, double: Batch) -> None:
    network = made(name, sizes).double()
    held = {field.name: getattr(double, field.name) for field in dataclasses.fields(double)}
    alone = Batch(**{key: value[2:3] for key, value in held.items() if value is not None})

    assert_equal_in_double(network(double).logits[2:3], network(alone).logits)


@pytest.mark.parametrize("name", NAMES)
def test_vectors_have_the_sizes_a_network_says(name: str, sizes: NetworkSizes, batch: Batch) -> None:
    network = made(name, sizes)
    out = network(batch)

    assert out.logits.shape == (4, sizes.answers)
    assert out.h.shape == (4, network.h_size)
    assert (None if out.q is None else out.q.shape[1]) == network.q_size


@pytest.mark.parametrize("name", NAMES)
def test_the_question_vector_has_not_seen_the_picture(name: str, sizes: NetworkSizes, batch: Batch) -> None:
    network = made(name, sizes)
    first, second = network(batch).q, network(batch.to(v=batch.v + 1)).q

    assert (first is None and second is None) or torch.equal(first, second)


@pytest.mark.parametrize("name", ATTENDING)
def test_attention_is_shared_out_among_the_regions_in_sight(name: str, sizes: NetworkSizes, double: Batch) -> None:
    att = made(name, sizes).double()(double).att

    assert_equal_in_double(att.sum(1), torch.ones(4).double())
    assert (att[~double.v_mask] == 0).all()


@pytest.mark.parametrize("name", NAMES)
def test_equal_seeds_make_equal_networks(name: str, sizes: NetworkSizes, batch: Batch) -> None:
    assert torch.equal(made(name, sizes)(batch).logits, made(name, sizes)(batch).logits)


def test_a_network_says_how_likely_answers_are_without_leaving_training(sizes: NetworkSizes, batch: Batch) -> None:
    network = made("updn", sizes)
    expected = network(batch).logits.sigmoid()
    network.train()

    assert torch.equal(network.chances(batch), expected)
    assert network.training
