"""BAN (Kim et al. 2018): bilinear attention over all pairs of a region and a word, several glimpses with residuals.

    L_g[n,t] = sum_k p_gk relu(U v_n)_k relu(V Q_t)_k;  att_g = softmax over all n, t
    e_g = sum_{n,t} att_g[n,t] relu(U_g v_n) * relu(V_g Q_t);  Q <- Q + W_g e_g;  s = head(sum_t Q_t)

Left out of the released model: its counting module, which matters little outside number questions, and its second set
of word vectors; the dropout of 0.2 before the attention's own maps and before each glimpse's last map (`Glimpse.out`);
the weight normalisation of the glimpse weights p. The released code also attends to padding, which is masked here.
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.layers import NormLinear, QuestionReader, RepeatedBlock, classifier, hide, masked_softmax, relu_map
from eyechart.zoo.network import Network, NetworkSizes, TrainingRecipe

GLIMPSES, RANK = 4, 3


class Glimpse(RepeatedBlock):
    """Pool the pairs of one attention map into a vector."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        self.region, self.word = relu_map(features, hidden), relu_map(hidden, hidden)
        self.dropout, self.out = nn.Dropout(0.2), NormLinear(hidden, hidden)

    def forward(self, v: Tensor, states: Tensor, att: Tensor) -> Tensor:
        """Return the vector to add to every word, [B, 1, H]."""
        regions, words = self.region(self.dropout(v)), self.word(self.dropout(states))
        pooled = torch.einsum("bnt,bnh,bth->bh", att, regions, words)  # [B, H]
        added: Tensor = self.out(pooled).unsqueeze(1)
        return added


class BAN(Network):
    """Attend to region-word pairs in four glimpses."""

    recipe: ClassVar[TrainingRecipe] = TrainingRecipe("adamax", 2e-3, 256, 13, 1024, 3)

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__(sizes)
        hidden, wide = sizes.hidden, RANK * sizes.hidden
        self.q_size = self.h_size = hidden
        self.reader = QuestionReader(sizes.embedding, hidden)
        self.region, self.word = relu_map(sizes.features, wide), relu_map(hidden, wide)
        self.dropout = nn.Dropout(0.5)
        self.weights = nn.Parameter(torch.randn(GLIMPSES, wide) / wide**0.5)
        self.offsets = nn.Parameter(torch.zeros(GLIMPSES, 1, 1))
        self.glimpses = nn.ModuleList(Glimpse(sizes.features, hidden) for _ in range(GLIMPSES))
        self.head = classifier(hidden, sizes.answers)

    def forward(self, batch: Batch) -> Out:
        """Add the glimpses to the words, then answer from their sum."""
        seen = batch.visible()  # [B, N]
        v = hide(batch.v, seen)  # [B, N, D]
        read = self.reader(self.words(batch), batch)
        maps = self.attend(v, read.states, seen.unsqueeze(2) & read.is_word.unsqueeze(1))  # [B, G, N, T]
        states = read.states  # [B, T, H]
        for index, glimpse in enumerate(self.glimpses):
            states = states + glimpse(v, states, maps[:, index])
        h = (states * read.is_word.unsqueeze(-1)).sum(1)  # [B, H]
        return Out(self.head(h), maps.sum(3).mean(1), read.last, h)

    def attend(self, v: Tensor, states: Tensor, seen: Tensor) -> Tensor:
        """Compute each glimpse's attention over all pairs, [B, G, N, T]."""
        regions, words = self.dropout(self.region(v)), self.word(states)  # [B, N, 3H], [B, T, 3H]
        logits = torch.einsum("gk,btk,bnk->bgnt", self.weights, words, regions) + self.offsets  # words are the fewer
        flat = masked_softmax(logits.flatten(2), seen.flatten(1).unsqueeze(1))
        return flat.view_as(logits)
