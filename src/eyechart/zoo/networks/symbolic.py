"""A symbolic executor in the manner of DFOL (Amizadeh et al. 2020), which runs a question's program on the regions.

Detectors say p(concept | region); a variable is a probability alpha_n per region, and operations are fuzzy logic:

filter   alpha_n = p(word | n)                          exist   1 - prod_n (1 - alpha_n)
query    score_k = exist(alpha_n p(k | n))              verify  exist(alpha_n p(second word | n))
relate   beta_m = 1 - prod_n (1 - alpha_n p(m beside n)), then query beta; the relation is learned
count    the distribution of how many alpha_n hold      choose  the largest of two filters, then query

The second word of a query is what it asks for ("color"), which determines the possible answers. The program of each
question is given; detectors and relation are learned from answers alone. It replaces DFOL and VLR on the planted
world, where programs are known: a network that must look, and so the upper anchor of the grounding audit.
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from eyechart.zoo.arrays import OPERATIONS
from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.layers import hide, masked_softmax
from eyechart.zoo.network import Network, NetworkSizes, TrainingRecipe

MOST_COUNTED = 5  # or more
RARE = -3.0  # offset of a fresh detector: most regions do not show a given concept
SURE = 1 - 1e-5  # the largest probability, so that logarithms are finite
RELATION_WIDTH = 32


class Detectors(nn.Module):
    """Compute p(concept | region) = sigma(v . d_c + o_c) for concepts given by number."""

    def __init__(self, concepts: int, features: int) -> None:
        super().__init__()
        self.directions, self.offsets = nn.Embedding(concepts, features), nn.Embedding(concepts, 1)
        nn.init.normal_(self.directions.weight, std=features**-0.5)
        nn.init.constant_(self.offsets.weight, RARE)

    def one(self, v: Tensor, concept: Tensor) -> Tensor:
        """Detect one concept per example, [B, N]."""
        logits: Tensor = (v @ self.directions(concept).unsqueeze(-1)).squeeze(-1) + self.offsets(concept)
        return likely(logits)

    def all(self, v: Tensor) -> Tensor:
        """Detect every concept, [B, N, A]."""
        return likely(v @ self.directions.weight.T + self.offsets.weight.squeeze(-1))


class Symbolic(Network):
    """Run all operations, and select the one each question needs."""

    recipe: ClassVar[TrainingRecipe] = TrainingRecipe("adam", 3e-2, 128, 30)
    needs: ClassVar[tuple[str, ...]] = ("program",)

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__(sizes)
        self.q_size, self.h_size = None, sizes.answers
        self.concepts = Detectors(sizes.words, sizes.features)
        self.replies = Detectors(sizes.answers, sizes.features)
        self.relation = nn.Sequential(nn.Linear(8, RELATION_WIDTH), nn.ReLU(), nn.Linear(RELATION_WIDTH, 1))
        self.size = nn.Linear(sizes.features + 4, 1)
        self.counted = nn.Linear(MOST_COUNTED + 1, sizes.answers)
        self.said = nn.ModuleDict({name: nn.Linear(1, sizes.answers) for name in ("exist", "verify")})
        self.usual = nn.Embedding(len(OPERATIONS), sizes.answers)  # which answers an operation can have
        self.asked = nn.Embedding(sizes.words, sizes.answers)  # and a query for something
        nn.init.zeros_(self.usual.weight)
        nn.init.zeros_(self.asked.weight)

    def forward(self, batch: Batch) -> Out:
        """Return the logit of each answer's probability."""
        seen, (operation, first, second) = batch.visible(), batch.need("program").unbind(1)
        v = hide(batch.v, seen)  # [B, N, D]
        boxes = hide(torch.zeros_like(v[..., :4]) if batch.boxes is None else batch.boxes, seen)
        one, two = (self.concepts.one(v, word) * seen for word in (first, second))  # [B, N]
        related = self._beside(one, boxes, seen)
        largest = self._largest(one, two, torch.cat([v, boxes], -1), seen)
        replies = self.replies.all(v)  # [B, N, A]
        by_operation = {
            "none": torch.zeros_like(replies[:, 0]),
            "query": some_logit(one.unsqueeze(-1) * replies),
            "relate": some_logit(related.unsqueeze(-1) * replies),
            "count": self.counted(count(one)),
            "exist": self.said["exist"](some_logit(one).unsqueeze(-1)),
            "choose": some_logit(largest.unsqueeze(-1) * replies),
            "verify": self.said["verify"](some_logit(one * two).unsqueeze(-1)),
        }
        every = torch.stack([by_operation[name] for name in OPERATIONS], 1)  # [B, operations, A]
        scores = every[torch.arange(len(every), device=every.device), operation]  # [B, A]
        of_kind = self.usual(operation) + self.asked(second) * is_one("query", operation)
        attended = one + related * is_one("relate", operation)
        return Out(scores + of_kind, masked_softmax(attended.clamp(min=1e-9).log(), seen), h=scores)

    def _beside(self, one: Tensor, boxes: Tensor, seen: Tensor) -> Tensor:
        """Find the regions in the relation to a region of `one`, [B, N]."""
        here, there = boxes.unsqueeze(2), boxes.unsqueeze(1)
        pair = torch.cat([there - here, (here + there) / 2], -1)  # [B, n, m, 8]
        related = likely(self.relation(pair).squeeze(-1))
        return seen * -torch.expm1(none_log(one.unsqueeze(-1) * related))

    def _largest(self, one: Tensor, two: Tensor, shown: Tensor, seen: Tensor) -> Tensor:
        """Compute attention over the regions of either kind by their learned size, [B, N]."""
        either = (1 - (1 - one) * (1 - two)).clamp(min=1e-9)
        return SURE * masked_softmax(either.log() + self.size(shown).squeeze(-1), seen)


def likely(logits: Tensor) -> Tensor:
    """Return a probability below 1, in full precision, as half precision would round it to 1."""
    return SURE * logits.float().sigmoid()


def is_one(name: str, operation: Tensor) -> Tensor:
    """Return which examples need an operation, [B, 1]."""
    return (operation == OPERATIONS.index(name)).unsqueeze(1)


def none_log(alpha: Tensor) -> Tensor:
    """Return log of prod_n (1 - alpha_n), over axis 1."""
    return torch.log1p(-alpha).sum(1)


def some_logit(alpha: Tensor) -> Tensor:
    """Return the logit of 1 - prod_n (1 - alpha_n), over axis 1."""
    none = none_log(alpha).clamp(max=SURE - 1)  # some is never quite impossible
    return torch.log(-torch.expm1(none)) - none


def count(alpha: Tensor) -> Tensor:
    """Return the distribution of how many alpha_n hold, [B, MOST_COUNTED + 1]; the last means "or more"."""
    chances = nn.functional.pad(torch.ones_like(alpha[:, :1]), (0, MOST_COUNTED))  # none, for sure
    for each in alpha.T.unsqueeze(-1):  # [B, 1], region by region
        risen = chances[:, :-1] * each  # what is full stays full
        chances = chances - nn.functional.pad(risen, (0, 1)) + nn.functional.pad(risen, (1, 0))
    return chances
