"""Layers, and networks without any, against their equations, written out in NumPy or taken from torch."""

import numpy as np
import pytest
import torch
from torch import nn

from eyechart.base.errors import DataError
from eyechart.zoo.batch import Batch
from eyechart.zoo.layers import BidirectionalReader, NormLinear, QuestionReader, turned
from eyechart.zoo.network import NetworkSizes
from eyechart.zoo.networks import NETWORKS, make_network
from eyechart.zoo.networks.block import RANK, Fusion, signed_root
from eyechart.zoo.networks.mcan import Attention
from unit.zoo.toy import array, assert_equal_in_double, in_double


def test_weight_normalisation_is_torchs_with_one_norm() -> None:
    torch.manual_seed(0)
    ours = NormLinear(4, 3).double()
    theirs = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3).double(), dim=None)
    theirs.parametrizations.weight.original1.data = ours.direction.data
    theirs.parametrizations.weight.original0.data.fill_(2.5)
    ours.norm.data.fill_(2.5)
    theirs.bias.data = ours.offset.data
    x = torch.randn(2, 4).double()

    assert_equal_in_double(ours(x), theirs(x))


def test_the_fusion_is_its_equation_block_by_block() -> None:
    """One x meets five y, as a question meets regions."""
    torch.manual_seed(0)
    fusion = Fusion(3, 4, 17).double()
    for offset in (fusion.left_offset, fusion.right_offset):
        nn.init.normal_(offset)
    x, y = torch.randn(2, 1, 3).double(), torch.randn(2, 5, 4).double()
    p, r = array(fusion.of_first(x)), array(fusion.of_second(y))
    width, parts = fusion.width, []
    for c in range(fusion.blocks):
        cut = slice(c * width, (c + 1) * width)
        left = p[..., cut] @ array(fusion.left[c]) + array(fusion.left_offset[c])
        right = r[..., cut] @ array(fusion.right[c]) + array(fusion.right_offset[c])
        z = (left * right).reshape(2, 5, RANK, width).sum(2)
        z = np.sign(z) * (np.sqrt(np.abs(z) + 0.01) - 0.1)
        parts.append(z / np.linalg.norm(z, axis=-1, keepdims=True))

    assert fusion.blocks == 2
    np.testing.assert_allclose(array(fusion(x, y)), np.concatenate(parts, -1), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(array(fusion(x[:, 0], y[:, 2])), np.concatenate(parts, -1)[:, 2], rtol=1e-10, atol=1e-12)


def test_the_signed_root_is_odd_and_a_root_and_has_mild_slopes_at_0() -> None:
    z = torch.tensor([-9.0, -1e-4, 1e-4, 9.0], requires_grad=True)
    root = signed_root(z)
    (slope,) = torch.autograd.grad(root.sum(), z, create_graph=True)
    (bend,) = torch.autograd.grad(slope.sum(), z)

    np.testing.assert_allclose(array(root), [-2.9, -5e-4, 5e-4, 2.9], rtol=5e-3)
    assert root[0] == -root[3]
    assert slope.max() < 5
    assert bend.abs().max() < 250


def test_attention_is_torchs_scaled_dot_product_attention() -> None:
    torch.manual_seed(0)
    ours = Attention(128).double().eval()  # two heads
    x, y, seen = torch.randn(3, 4, 128).double(), torch.randn(3, 5, 128).double(), torch.rand(3, 5) > 0.3
    seen[:, 0] = True
    key, value = ours.key_value(y).chunk(2, -1)
    split = [part.unflatten(2, (2, 64)).transpose(1, 2) for part in (ours.query(x), key, value)]
    found = nn.functional.scaled_dot_product_attention(*split, attn_mask=seen[:, None, None])
    expected = ours.norm(x + ours.out(found.transpose(1, 2).flatten(2)))

    assert_equal_in_double(ours(x, y, seen), expected)


def test_a_question_is_read_as_if_it_had_no_padding(batch: Batch) -> None:
    torch.manual_seed(0)
    reader, words = QuestionReader(6, 8).double(), torch.randn(4, 6, 6).double()
    read = reader(words, batch)

    assert_equal_in_double(read.last[0], reader.cell(words[:1, :4])[1][0, 0])
    assert_equal_in_double(read.last[1], reader.cell(words[1:2])[1][0, 0])


def test_a_question_is_read_backwards_from_its_last_word(batch: Batch) -> None:
    torch.manual_seed(0)
    both, words = BidirectionalReader(6, 8).double(), torch.randn(4, 6, 6).double()
    read = both(words, batch)
    backwards = both.back.cell(words[:1, :4].flip(1))[0][0]

    assert_equal_in_double(read.states[0, :4, 4:], backwards.flip(0))
    assert_equal_in_double(read.last[0, 4:], backwards[-1])


def test_turning_round_keeps_padding_in_its_place() -> None:
    is_word = torch.tensor([[True, True, True, False], [False] * 4, [True, False, True, True]])

    assert turned(is_word).tolist() == [[2, 1, 0, 3], [0, 1, 2, 3], [3, 2, 1, 0]]


def test_the_prior_is_the_mean_score_by_question_type(sizes: NetworkSizes, batch: Batch) -> None:
    network, batch = make_network("prior", sizes).double(), in_double(batch)
    for _ in range(2):  # a second epoch changes nothing
        network.train()(batch)
    means = np.stack([array(batch.a)[batch.qtype.numpy() == kind].mean(0) for kind in range(3)])

    np.testing.assert_allclose(array(network.chances(batch)), means[batch.qtype.numpy()], rtol=1e-12)
    logits = array(network.eval()(batch).logits)
    np.testing.assert_allclose(np.exp(logits), np.maximum(means, 1e-6)[batch.qtype.numpy()], rtol=1e-12)


def test_the_majority_knows_no_types(sizes: NetworkSizes, batch: Batch) -> None:
    network, batch = make_network("majority", sizes).double(), in_double(batch)
    network.train()(batch)

    np.testing.assert_allclose(array(network.chances(batch))[3], array(batch.a).mean(0), rtol=1e-12)


def test_the_mlp_is_its_equation(sizes: NetworkSizes, batch: Batch) -> None:
    torch.manual_seed(0)
    network, batch = make_network("mlp-iqa", sizes).double(), in_double(batch)
    vectors, out = array(network.embedding.weight), array(network(batch).logits)
    for row in range(4):
        image = array(batch.v[row][batch.v_mask[row]]).mean(0)
        words = [word for word in batch.q[row].tolist() if word]
        for option in range(sizes.answers):
            parts = [image / np.linalg.norm(image), vectors[words].mean(0), vectors[batch.cand[row, option]].mean(0)]
            hidden = np.maximum(array(network.join.weight) @ np.concatenate(parts) + array(network.join.bias), 0)
            expected = float(array(network.rate.weight)[0] @ hidden + array(network.rate.bias)[0])
            assert out[row, option] == pytest.approx(expected, rel=1e-10)


def test_a_network_over_options_asks_for_them(sizes: NetworkSizes, batch: Batch) -> None:
    with pytest.raises(DataError, match="'cand'"):
        make_network("mlp-qa", sizes)(batch.to(cand=None))


@pytest.mark.parametrize(
    ("name", "millions"),
    [
        ("question-only", 12.6),
        ("updn", 18.9),
        ("san", 12.8),
        ("ban", 38.8),
        ("mcan", 51.6),
        ("mac", 8.3),
        ("block", 35.9),
        ("s-mrl", 17.4),  # our own count: a GRU's last state stands for its authors' two glimpses, 4800 numbers
    ],
)
def test_networks_at_their_authors_sizes_have_their_authors_parameters(name: str, millions: float) -> None:
    """Counted without word vectors in a prototype that gave the original modules' outputs."""
    with torch.device("meta"):
        network = make_network(name, NetworkSizes(2, 3129, 2048, NETWORKS.get(name).recipe.hidden))
    ours = sum(each.numel() for key, each in network.named_parameters() if not key.startswith("embedding"))

    assert round(ours / 1e6, 1) == millions
