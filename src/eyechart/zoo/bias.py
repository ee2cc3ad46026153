"""Who says what the bias is: the mean score of each answer by question type, or a frozen network."""

import torch
from torch import Tensor, nn

from eyechart.zoo.batch import Batch
from eyechart.zoo.network import Network
from eyechart.zoo.shelf import Deck

PRIOR = "prior"


class Bias(nn.Module):
    """Say how likely each answer is by what a batch has in common with others, [B, A]."""


class PriorBias(Bias):
    """Take the mean target of each question type over a split."""

    mean: Tensor  # [types, A]

    def __init__(self, deck: Deck, types: int, size: int) -> None:
        super().__init__()
        totals = torch.zeros(types, deck.answers, dtype=torch.float64, device=deck.shelf.device)
        for rows in torch.split(torch.arange(len(deck), device=deck.shelf.device), size):
            of_type = nn.functional.one_hot(deck.held["qtype"][rows], types).double()  # [B, types]
            totals += of_type.T @ deck.targets(rows).double()  # a product: adding by index has no order on a GPU
        counts = torch.bincount(deck.held["qtype"], minlength=types).unsqueeze(1)
        self.register_buffer("mean", (totals / counts.clamp(min=1)).float())

    def forward(self, batch: Batch) -> Tensor:
        """Look the types of a batch up."""
        return self.mean[batch.need("qtype")]


class FrozenBias(Bias):
    """Take what a trained network says, which learns nothing more."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network.requires_grad_(requires_grad=False)

    def forward(self, batch: Batch) -> Tensor:
        """Ask the network."""
        return self.network.chances(batch)
