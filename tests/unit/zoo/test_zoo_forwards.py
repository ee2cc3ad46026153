"""Whole networks against their equations, written out in NumPy for one example of its own words and visible regions."""

from typing import NamedTuple

import numpy as np
import pytest
import torch
from torch import nn

from eyechart.zoo.batch import Batch
from eyechart.zoo.layers import BidirectionalReader, NormLinear
from eyechart.zoo.network import Network, NetworkSizes
from eyechart.zoo.networks import make_network
from unit.zoo.toy import array, sigma


class Said(NamedTuple):
    s: np.ndarray  # [A]
    att: np.ndarray | None = None  # over the regions in sight


def linear(layer: nn.Linear | NormLinear, x: np.ndarray) -> np.ndarray:
    if isinstance(layer, nn.Linear):
        return x @ array(layer.weight).T + (0 if layer.bias is None else array(layer.bias))
    weight = array(layer.direction)
    return x @ (float(layer.norm.detach()) * weight / np.linalg.norm(weight)).T + array(layer.offset)


def relu_of(layers: nn.Sequential, x: np.ndarray) -> np.ndarray:
    return np.maximum(linear(layers[0], x), 0)


def head(layers: nn.Sequential, x: np.ndarray) -> np.ndarray:
    return linear(layers[3], relu_of(layers, x))


def elu(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x, np.exp(x) - 1)


def shares(x: np.ndarray) -> np.ndarray:
    return np.exp(x) / np.exp(x).sum()


def states(cell: nn.RNNBase, words: np.ndarray) -> np.ndarray:
    """Read word by word, [T, H]."""
    held = []
    h = c = np.zeros(cell.hidden_size)
    for word in words:
        x = array(cell.weight_ih_l0) @ word + array(cell.bias_ih_l0)
        y = array(cell.weight_hh_l0) @ h + array(cell.bias_hh_l0)
        if isinstance(cell, nn.GRU):
            (x_r, x_z, x_n), (y_r, y_z, y_n) = np.split(x, 3), np.split(y, 3)
            z = sigma(x_z + y_z)
            h = (1 - z) * np.tanh(x_n + sigma(x_r + y_r) * y_n) + z * h
        else:
            i, f, g, o = np.split(x + y, 4)
            c = sigma(f) * c + sigma(i) * np.tanh(g)
            h = sigma(o) * np.tanh(c)
        held.append(h)
    return np.stack(held)


def question_only(network: Network, w: np.ndarray, v: np.ndarray) -> Said:
    return Said(head(network.head, states(network.reader.cell, w)[-1]))


def image_only(network: Network, w: np.ndarray, v: np.ndarray) -> Said:
    return Said(head(network.head, relu_of(network.see, v.mean(0))))


def updn(network: Network, w: np.ndarray, v: np.ndarray) -> Said:
    q = states(network.reader.cell, w)[-1]
    att = shares(linear(network.rate, relu_of(network.region, v) * relu_of(network.guide, q))[:, 0])
    return Said(head(network.head, relu_of(network.ask, q) * relu_of(network.see, att @ v)), att)


def updn2(network: Network, w: np.ndarray, v: np.ndarray) -> Said:
    q, att = states(network.reader.cell, w)[-1], np.zeros(len(v))
    for glance in network.glances:
        joint = relu_of(glance.region, v) * relu_of(glance.guide, q)
        att += shares(linear(glance.rate[2], relu_of(glance.rate[0], joint))[:, 0])
    h, norm = relu_of(network.ask, q) * relu_of(network.see, att @ v), network.norm
    h = (h - array(norm.running_mean)) / np.sqrt(array(norm.running_var) + 1e-5)
    return Said(head(network.head, h * array(norm.weight) + array(norm.bias)), att / 2)


def san(network: Network, w: np.ndarray, v: np.ndarray) -> Said:
    u, att = states(network.reader.cell, w)[-1], None
    v = np.tanh(linear(network.see[0], v))
    for hop in network.hops:
        att = shares(linear(hop.rate, np.tanh(linear(hop.of_region, v) + linear(hop.of_query, u)))[:, 0])
        u = u + att @ v
    return Said(linear(network.head[1], u), att)


def smrl(network: Network, w: np.ndarray, v: np.ndarray) -> Said:
    q = torch.tensor(states(network.reader.cell, w)[-1])
    fused = array(network.fuse(q.expand(len(v), -1), torch.tensor(v)))  # the fusion has a test of its own
    h = linear(network.out, fused).max(0)
    for place in (0, 2):
        h = np.maximum(linear(network.head[place], h), 0)
    return Said(linear(network.head[4], h))


def ban(network: Network, w: np.ndarray, v: np.ndarray) -> Said:
    words = states(network.reader.cell, w)
    regions, asked, att = relu_of(network.region, v), relu_of(network.word, words), np.zeros(len(v))
    for p, offset, glimpse in zip(array(network.weights), array(network.offsets), network.glimpses, strict=True):
        pairs = shares((regions * p) @ asked.T + offset)  # [N, T]
        pooled = (relu_of(glimpse.region, v) * (pairs @ relu_of(glimpse.word, words))).sum(0)
        words = words + linear(glimpse.out, pooled)
        att += pairs.sum(1) / 4
    return Said(head(network.head, words.sum(0)), att)


def mac(network: Network, w: np.ndarray, v: np.ndarray) -> Said:
    reader: BidirectionalReader = network.reader
    forth, back = states(reader.forth.cell, w), states(reader.back.cell, w[::-1])
    words, q = np.concatenate([forth, back[::-1]], 1), np.concatenate([forth[-1], back[-1]])
    known = v / np.linalg.norm(v, axis=1, keepdims=True)
    for place in (1, 4):
        known = elu(linear(network.stem[place], known))
    m, look, att = array(network.start), network.look, None
    for ask in network.asks:
        control = (
            shares(linear(network.rate_words, linear(ask, elu(linear(network.question, q))) * words)[:, 0]) @ words
        )
        k = linear(look.of_region, known)
        inter = linear(look.join, np.concatenate([linear(look.of_memory, m) * k, k], 1))
        att = shares(linear(look.rate, elu(linear(look.again, inter) * control))[:, 0])
        m = linear(network.write, np.concatenate([m, att @ known]))
    asked = linear(network.of_question, q)
    return Said(linear(network.head[2], elu(linear(network.head[0], np.concatenate([m, asked, m * asked])))), att)


FORWARDS = {
    "question-only": question_only,
    "image-only": image_only,
    "updn": updn,
    "updn2": updn2,
    "san": san,
    "s-mrl": smrl,
    "ban": ban,
    "mac": mac,
}


@pytest.mark.parametrize("name", FORWARDS)
def test_a_network_is_its_equation(name: str, sizes: NetworkSizes, batch: Batch) -> None:
    torch.manual_seed(0)
    network, batch = make_network(name, sizes).double().eval(), batch.to(v=batch.v.double())
    for each in network.parameters():
        each.data += 0.3 * torch.randn_like(each)  # so that norms and offsets are not as they start
    for each in network.buffers():
        if each.is_floating_point():
            each.uniform_(0.5, 1.5)
    out, vectors = network(batch), array(network.embedding.weight)
    for row in range(4):
        q, seen = batch.q[row].numpy(), batch.v_mask[row]
        said = FORWARDS[name](network, vectors[q[q != 0]], array(batch.v[row][seen]))

        np.testing.assert_allclose(array(out.logits[row]), said.s)
        if said.att is not None:
            np.testing.assert_allclose(array(out.att[row][seen]), said.att)
