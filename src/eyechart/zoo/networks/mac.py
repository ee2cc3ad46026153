"""MAC (Hudson and Manning 2018, as its GQA code configures it): a chain of control, read and write steps.

c_i = attention over words by W_i elu(W q);  I_n = W [(W m * W k_n); W k_n];  att = softmax_n w . elu(W I_n * c_i)
m <- W [m; sum_n att_n k_n];  s = MLP [m; W q; m * W q]. No configuration of the code feeds c_i back into c_i+1.
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.layers import BidirectionalReader, RepeatedBlock, hide, masked_softmax, weigh
from eyechart.zoo.network import Network, NetworkSizes, TrainingRecipe

STEPS, DROPOUT = 4, 0.15


class ReadUnit(RepeatedBlock):
    """Read the information that a step needs from the regions."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.of_memory, self.of_region = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.join, self.again = nn.Linear(2 * hidden, hidden), nn.Linear(hidden, hidden)
        self.dropout, self.rate = nn.Dropout(DROPOUT), nn.Linear(hidden, 1)

    def forward(self, memory: Tensor, known: Tensor, control: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        """Return the information read, [B, H], and the attention, [B, N]."""
        regions = self.of_region(known)  # [B, N, H]
        inter = self.join(torch.cat([self.of_memory(memory).unsqueeze(1) * regions, regions], -1))  # [B, N, H]
        asked = nn.functional.elu(self.again(inter) * control.unsqueeze(1))
        att = masked_softmax(self.rate(self.dropout(asked)).squeeze(-1), seen)
        return weigh(att, known), att


class MAC(Network):
    """Reason in four steps."""

    recipe: ClassVar[TrainingRecipe] = TrainingRecipe("adam", 3e-4, 128, 25, 512)

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__(sizes)
        hidden = self.q_size = self.h_size = sizes.hidden
        self.reader = BidirectionalReader(sizes.embedding, hidden)
        self.stem = nn.Sequential(
            *(nn.Dropout(0.2), nn.Linear(sizes.features, hidden), nn.ELU()),
            *(nn.Dropout(0.2), nn.Linear(hidden, hidden), nn.ELU()),
        )
        self.start = nn.Parameter(torch.randn(hidden) / hidden**0.5)
        self.question, self.rate_words = nn.Linear(hidden, hidden), nn.Linear(hidden, 1)
        self.asks = nn.ModuleList(nn.Linear(hidden, hidden) for _ in range(STEPS))
        self.look, self.write = ReadUnit(hidden), nn.Linear(2 * hidden, hidden)
        self.of_question = nn.Linear(hidden, hidden)
        self.head = nn.Sequential(nn.Linear(3 * hidden, hidden), nn.ELU(), nn.Linear(hidden, sizes.answers))

    def forward(self, batch: Batch) -> Out:
        """Run the steps, and return the attention of the last one."""
        seen = batch.visible()  # [B, N]
        known = self.stem(nn.functional.normalize(hide(batch.v, seen), dim=-1))  # [B, N, H]
        words, q, is_word = self.reader(self.words(batch), batch)  # [B, T, H], [B, H]
        memory, att = self.start.expand_as(q), None
        kept = nn.functional.dropout(torch.ones_like(q), DROPOUT, self.training)  # one draw for all steps
        for ask in self.asks:
            query = ask(nn.functional.elu(self.question(q)))
            shares = masked_softmax(self.rate_words(query.unsqueeze(1) * words).squeeze(-1), is_word)
            read, att = self.look(memory * kept, known, weigh(shares, words), seen)
            memory = self.write(torch.cat([memory, read], -1))
        asked = self.of_question(q)
        return Out(self.head(torch.cat([memory, asked, memory * asked], -1)), att, q, memory)
