"""Layers that several networks share: weight-normalised maps, attention that ignores masked regions, a GRU."""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from eyechart.zoo.batch import Batch

HEAD_WIDTH = 64


class RepeatedBlock(nn.Module):
    """A part that a network runs several times, with only tensors as input and output so that it can be compiled."""


class NormLinear(nn.Module):
    """Map x to g (v / ||v||) x + c, with one norm g for the whole matrix."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        plain = nn.Linear(inputs, outputs)
        self.direction = plain.weight
        self.offset = plain.bias
        self.norm = nn.Parameter(plain.weight.detach().norm())

    def forward(self, x: Tensor) -> Tensor:
        """Apply the map to the last axis."""
        return nn.functional.linear(x, self.direction * (self.norm / self.direction.norm()), self.offset)


def relu_map(inputs: int, outputs: int) -> nn.Sequential:
    """Make a weight-normalised map with ReLU."""
    return nn.Sequential(NormLinear(inputs, outputs), nn.ReLU())


def classifier(inputs: int, answers: int, dropout: float = 0.5) -> nn.Sequential:
    """Make UpDn's head: a hidden layer twice as wide as the input, ReLU, dropout."""
    wide = 2 * inputs
    return nn.Sequential(NormLinear(inputs, wide), nn.ReLU(), nn.Dropout(dropout), NormLinear(wide, answers))


def perceptron(inputs: int, hidden: int, answers: int) -> nn.Sequential:
    """Make RUBi's classifier, with two hidden layers."""
    layers = (nn.Linear(inputs, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, answers))
    return nn.Sequential(*layers)


def masked_softmax(logits: Tensor, seen: Tensor, dim: int = -1) -> Tensor:
    """Distribute attention over visible places; if none is visible, all shares are 0 and no masked content leaks."""
    shares = logits.masked_fill(~seen, torch.finfo(logits.dtype).min).softmax(dim)
    return shares * seen


def masked_mean(v: Tensor, seen: Tensor) -> Tensor:
    """Average over visible regions, [B, N, D] -> [B, D]; 0 if there are none."""
    total = hide(v, seen).sum(1)
    return total / seen.sum(1, keepdim=True).clamp(min=1)


def masked_max(v: Tensor, seen: Tensor) -> Tensor:
    """Take the maximum over visible regions in each dimension, [B, N, D] -> [B, D]; 0 if there are none."""
    highest = hide(v, seen, torch.finfo(v.dtype).min).amax(1)
    return highest * seen.any(1, keepdim=True)


def weigh(att: Tensor, v: Tensor) -> Tensor:
    """Sum regions weighted by their shares, [B, N] and [B, N, D] -> [B, D]."""
    return torch.einsum("bn,bnd->bd", att, v)


def hide(v: Tensor, seen: Tensor, value: float = 0) -> Tensor:
    """Overwrite masked regions with a value, so that their contents (even NaN) have no effect."""
    return v.masked_fill(~seen.unsqueeze(-1), value)


def count_heads(hidden: int) -> int:
    """Return the largest number of equal heads, at least 64 wide where possible, that a width divides into."""
    return next(heads for heads in range(max(1, hidden // HEAD_WIDTH), 0, -1) if hidden % heads == 0)


class EncodedQuestion(NamedTuple):
    """Hold the states of a question read word by word."""

    states: Tensor  # [B, T, H]
    last: Tensor  # [B, H] after the last word
    is_word: Tensor  # [B, T] bool


class QuestionReader(nn.Module):
    """Read a question with a GRU or LSTM; padding after it does not affect the state of its last word."""

    def __init__(self, embedding: int, hidden: int, cell: type[nn.GRU | nn.LSTM] = nn.GRU) -> None:
        super().__init__()
        self.cell = cell(embedding, hidden, batch_first=True)

    def forward(self, words: Tensor, batch: Batch) -> EncodedQuestion:
        """Read word vectors, [B, T, E]."""
        is_word = batch.q != 0
        states: Tensor = self.cell(words)[0]  # [B, T, H]
        end = last_place(is_word)[:, None, None].expand(-1, 1, states.shape[-1])
        return EncodedQuestion(states, states.gather(1, end).squeeze(1), is_word)


def last_place(is_word: Tensor) -> Tensor:
    """Find the index of each question's last word, [B]; 0 if it has no words."""
    return (torch.arange(is_word.shape[1], device=is_word.device) * is_word).amax(1)


class BidirectionalReader(nn.Module):
    """Read a question with two LSTMs of half the size, the second one backwards from the last word."""

    def __init__(self, embedding: int, hidden: int) -> None:
        super().__init__()
        self.forth = QuestionReader(embedding, hidden - hidden // 2, nn.LSTM)
        self.back = QuestionReader(embedding, hidden // 2, nn.LSTM)

    def forward(self, words: Tensor, batch: Batch) -> EncodedQuestion:
        """Read word vectors, [B, T, E]; the state of a word joins those of both readers."""
        forth = self.forth(words, batch)
        order = turned(forth.is_word)  # [B, T]
        back = self.back(words.gather(1, order.unsqueeze(-1).expand_as(words)), batch.to(q=batch.q.gather(1, order)))
        states = back.states.gather(1, order.unsqueeze(-1).expand_as(back.states))
        return EncodedQuestion(
            torch.cat([forth.states, states], -1), torch.cat([forth.last, back.last], -1), forth.is_word
        )


def turned(is_word: Tensor) -> Tensor:
    """Return the indices that reverse each question within its length, [B, T]; padding stays in place."""
    places = torch.arange(is_word.shape[1], device=is_word.device).expand(is_word.shape)
    back = last_place(is_word).unsqueeze(1) - places
    return torch.where(back >= 0, back, places)
