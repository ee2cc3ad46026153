"""Who says what the bias is: the mean score of each answer by question type, or a frozen network."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from eyechart.zoo.batch import Batch
from eyechart.zoo.network import Network
from eyechart.zoo.shelf import Deck

Bias = Callable[[Batch], Tensor]
PRIOR = "prior"


def prior_bias(deck: Deck, types: int, size: int) -> Bias:
    """Take the mean target of each question type over a split, as a function of a batch."""
    totals = torch.zeros(types, deck.answers, dtype=torch.float64, device=deck.shelf.device)
    for rows in torch.split(torch.arange(len(deck), device=deck.shelf.device), size):
        of_type = nn.functional.one_hot(deck.held["qtype"][rows], types).double()  # [B, types]
        totals += of_type.T @ deck.targets(rows).double()  # a product: adding by index has no order on a GPU
    counts = torch.bincount(deck.held["qtype"], minlength=types).unsqueeze(1)
    mean = (totals / counts.clamp(min=1)).float()

    def bias(batch: Batch) -> Tensor:
        return mean[batch.need("qtype")]

    return bias


def frozen_bias(network: Network) -> Bias:
    """Take what a trained network says, which learns nothing more."""
    network.requires_grad_(requires_grad=False)
    return network.chances
