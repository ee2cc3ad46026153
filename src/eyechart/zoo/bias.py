"""Who says what the bias is: the mean score of each answer by question type, or a frozen network."""

from collections.abc import Callable

import torch
from torch import Tensor

from eyechart.zoo.batch import Batch
from eyechart.zoo.network import Network
from eyechart.zoo.shelf import Deck

Bias = Callable[[Batch], Tensor]
PRIOR = "prior"


def prior_bias(deck: Deck, types: int, size: int) -> Bias:
    """Take the mean target of each question type over a split, as a function of a batch."""
    totals = torch.zeros(types, deck.answers, device=deck.shelf.device)
    counts = torch.zeros(types, 1, device=deck.shelf.device)
    for rows in torch.split(torch.arange(len(deck), device=deck.shelf.device), size):
        kinds, a = deck.held["qtype"][rows], deck.targets(rows)
        totals.index_add_(0, kinds, a)
        counts.index_add_(0, kinds, torch.ones_like(a[:, :1]))
    mean = totals / counts.clamp(min=1)

    def bias(batch: Batch) -> Tensor:
        return mean[batch.need("qtype")]

    return bias


def frozen_bias(network: Network) -> Bias:
    """Take what a trained network says, which learns nothing more."""
    network.requires_grad_(requires_grad=False)
    return network.chances
