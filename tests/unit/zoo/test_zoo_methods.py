"""Methods are put together by name, take turns, and say what they were trained on."""

import pytest
import torch

from eyechart.base.errors import SettingError, UnknownNameError
from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Then
from eyechart.zoo.methods import METHODS, make_method
from eyechart.zoo.network import Network, NetworkSizes
from eyechart.zoo.networks import make_network


@pytest.fixture
def network(sizes: NetworkSizes) -> Network:
    torch.manual_seed(0)
    return make_network("question-only", sizes).eval()


def test_methods_take_turns(network: Network, batch: Batch) -> None:
    then = make_method("plain@2,esr", network)
    losses = {name: make_method(name, network)(network, batch) for name in ("plain", "esr")}
    assert isinstance(then, Then)
    for epoch, name in enumerate(("plain", "plain", "esr", "esr")):
        then.begin_epoch(epoch)

        assert torch.equal(then(network, batch), losses[name])
        assert then.rate == make_method(name, network).rate


def test_three_methods_take_turns_and_count_their_own_epochs(network: Network, batch: Batch) -> None:
    then = make_method("plain@2,plain-ce@1,esr", network)
    expected = {2: "plain-ce", 3: "esr", 4: "esr"}
    for epoch, name in expected.items():
        then.begin_epoch(epoch)

        assert torch.equal(then(network, batch), make_method(name, network)(network, batch))


def test_a_stage_answers_by_its_own_rule(sizes: NetworkSizes, batch: Batch) -> None:
    torch.manual_seed(0)
    network = make_network("updn", sizes).eval()
    then = make_method("plain@1,cf-vqa", network).eval()
    then.begin_epoch(0)
    assert torch.equal(then.predict(network, batch), network(batch).logits)

    then.begin_epoch(1)
    assert torch.equal(then.predict(network, batch), then.second.predict(network, batch))
    assert not torch.allclose(then.predict(network, batch), network(batch).logits)


def test_a_loaded_method_answers_by_the_stage_it_ended_in(sizes: NetworkSizes, batch: Batch) -> None:
    torch.manual_seed(0)
    network = make_network("updn", sizes).eval()
    ended, loaded = (make_method("plain@1,cf-vqa", network).eval() for _ in range(2))
    ended.begin_epoch(3)
    loaded.load_state_dict(ended.state_dict())

    assert torch.equal(loaded.predict(network, batch), ended.predict(network, batch))
    assert not torch.allclose(loaded.predict(network, batch), network(batch).logits)


def test_a_decorator_answers_as_what_lies_below(sizes: NetworkSizes, batch: Batch) -> None:
    torch.manual_seed(0)
    network = make_network("updn", sizes).eval()
    method = make_method("cf-vqa+ssl", network).eval()

    assert torch.equal(method.predict(network, batch), method.base.predict(network, batch))
    assert not torch.allclose(method.predict(network, batch), network(batch).logits)


def test_what_lies_below_is_asked_for_too(network: Network) -> None:
    assert make_method("lmh-l+css", network).needs == ("bias", "hints", "qmask")
    assert make_method("lmh-l+css", network).bias_from == "question-only"
    assert make_method("plain@3,lmh", network).needs == ("bias",)


@pytest.mark.parametrize(
    ("name", "audits"),
    [
        ("plain", ()),
        ("ssl", ("perception",)),
        ("randimg", ("perception",)),
        ("lmh+visfis", ("grounding",)),
        ("ssl+visfis", ("perception", "grounding")),
        ("plain@8,ssl", ("perception",)),
    ],
)
def test_methods_say_which_metric_they_train_on(network: Network, name: str, audits: tuple[str, ...]) -> None:
    assert make_method(name, network).trained_on_the_metric == audits


def test_a_method_that_is_no_decorator_cannot_lie_over_another(network: Network) -> None:
    with pytest.raises(SettingError, match="put it first"):
        make_method("css+lmh", network)


@pytest.mark.parametrize("name", ["plain,hint", "plain@,hint", "plain@x,hint"])
def test_a_stage_without_epochs_is_refused(network: Network, name: str) -> None:
    with pytest.raises(SettingError, match="epochs after the first"):
        make_method(name, network)


def test_an_unknown_method_is_answered_by_the_nearest(network: Network) -> None:
    with pytest.raises(UnknownNameError, match="'rubi'"):
        make_method("rubbi", network)


def test_a_branch_of_its_own_reads_where_there_is_no_question_vector(sizes: NetworkSizes, batch: Batch) -> None:
    """An image-only network has no question vector, so that the branch must not see the picture through it."""
    torch.manual_seed(0)
    network = make_network("image-only", sizes)
    branch = make_method("rubi", network).mask
    first, second = (branch(network(each), each) for each in (batch, batch.to(v=batch.v + 1)))

    assert torch.equal(first, second)
    assert not torch.allclose(first[1], first[2])


def test_the_question_branch_does_not_train_the_reader(sizes: NetworkSizes, batch: Batch) -> None:
    torch.manual_seed(0)
    network = make_network("updn", sizes)
    make_method("rubi", network).mask(network(batch), batch).sum().backward()

    assert all(each.grad is None for each in network.parameters())


def test_every_method_has_a_name_of_its_own() -> None:
    kinds = [METHODS.get(name) for name in METHODS.names()]

    assert len(set(kinds)) == len(kinds)
