"""MCAN-small (Yu et al. 2019): six self-attention layers on the words, then six guided ones on the regions.

Differences: torch's LayerNorm (the original divides by the unbiased deviation, a factor sqrt(H / (H - 1))). Attention
is written out, as fused kernels have no second derivative, which HINT, SCR, VisFIS and RMFE need.
"""

from typing import ClassVar

from torch import Tensor, nn

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.layers import QuestionReader, RepeatedBlock, count_heads, hide, masked_softmax
from eyechart.zoo.network import Network, NetworkSizes, TrainingRecipe

LAYERS, DROPOUT = 6, 0.1


class Attention(nn.Module):
    """Attend from x to y with several heads, add, normalise."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.heads = count_heads(hidden)
        self.query, self.key_value = nn.Linear(hidden, hidden), nn.Linear(hidden, 2 * hidden)
        self.out, self.norm, self.dropout = nn.Linear(hidden, hidden), nn.LayerNorm(hidden), nn.Dropout(DROPOUT)

    def forward(self, x: Tensor, y: Tensor, seen: Tensor) -> Tensor:
        """Return x with the result of attending to the visible places of y, [B, X, H]."""
        key, value = self.key_value(y).chunk(2, -1)
        query, key, value = self._split(self.query(x)), self._split(key), self._split(value)  # [B, heads, ., H/heads]
        logits = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5  # [B, heads, X, Y]
        shares = self.dropout(masked_softmax(logits, seen[:, None, None]))
        attended = self.out((shares @ value).transpose(1, 2).flatten(2))  # [B, X, H]
        normed: Tensor = self.norm(x + self.dropout(attended))
        return normed

    def _split(self, x: Tensor) -> Tensor:
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)


class FeedForward(nn.Module):
    """Transform each place by itself, add, normalise."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        inner = (nn.Linear(hidden, 4 * hidden), nn.ReLU(), nn.Dropout(DROPOUT), nn.Linear(4 * hidden, hidden))
        self.inner, self.norm, self.dropout = nn.Sequential(*inner), nn.LayerNorm(hidden), nn.Dropout(DROPOUT)

    def forward(self, x: Tensor) -> Tensor:
        """Return the transformed x, [B, X, H]."""
        normed: Tensor = self.norm(x + self.dropout(self.inner(x)))
        return normed


class SelfAttentionLayer(RepeatedBlock):
    """Attend from words to words."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.itself, self.forth = Attention(hidden), FeedForward(hidden)

    def forward(self, y: Tensor, is_word: Tensor) -> Tensor:
        """Return the updated words, [B, T, H]."""
        again: Tensor = self.forth(self.itself(y, y, is_word))
        return again


class GuidedAttentionLayer(RepeatedBlock):
    """Attend from regions to regions, then to words."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.itself, self.guide, self.forth = Attention(hidden), Attention(hidden), FeedForward(hidden)

    def forward(self, x: Tensor, seen: Tensor, y: Tensor, is_word: Tensor) -> Tensor:
        """Return the updated regions, [B, N, H]."""
        again: Tensor = self.forth(self.guide(self.itself(x, x, seen), y, is_word))
        return again


class AttentionPool(nn.Module):
    """Sum places by a learned attention."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.rate = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(DROPOUT), nn.Linear(hidden, 1))
        self.out = nn.Linear(hidden, 2 * hidden)

    def forward(self, x: Tensor, seen: Tensor) -> tuple[Tensor, Tensor]:
        """Return the sum, [B, 2H], and the attention, [B, X]."""
        att = masked_softmax(self.rate(x).squeeze(-1), seen)
        return self.out((att.unsqueeze(1) @ x).squeeze(1)), att


class MCAN(Network):
    """Compute s = W LN(pooled words + pooled regions)."""

    recipe: ClassVar[TrainingRecipe] = TrainingRecipe("adam", 1e-4, 64, 13, 512, 3)

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__(sizes)
        hidden = sizes.hidden
        self.q_size = self.h_size = 2 * hidden
        self.reader = QuestionReader(sizes.embedding, hidden, nn.LSTM)
        self.see, self.place = nn.Linear(sizes.features, hidden), nn.Linear(4, hidden)
        self.alone = nn.ModuleList(SelfAttentionLayer(hidden) for _ in range(LAYERS))
        self.guided = nn.ModuleList(GuidedAttentionLayer(hidden) for _ in range(LAYERS))
        self.pool_words, self.pool_regions = AttentionPool(hidden), AttentionPool(hidden)
        self.norm, self.head = nn.LayerNorm(2 * hidden), nn.Linear(2 * hidden, sizes.answers)

    def forward(self, batch: Batch) -> Out:
        """Encode the words, then the regions guided by the words, and pool both."""
        seen = batch.visible()  # [B, N]
        y, _, is_word = self.reader(self.words(batch), batch)  # [B, T, H]
        for alone in self.alone:
            y = alone(y, is_word)
        x = self.see(hide(batch.v, seen))  # [B, N, H]
        if batch.boxes is not None:
            x = x + self.place(hide(batch.boxes, seen))
        for guided in self.guided:
            x = guided(x, seen, y, is_word)
        q = self.pool_words(y, is_word)[0]  # [B, 2H]
        looked, att = self.pool_regions(x, seen)  # [B, 2H], [B, N]
        h = self.norm(q + looked)
        return Out(self.head(h), att, q, h)
