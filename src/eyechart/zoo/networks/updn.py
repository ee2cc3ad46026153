"""UpDn (Anderson et al. 2018, in the form of hengyuan-hu's code) in two forms, and its halves for question and image.

    l_n = w . dropout(relu(W_v v_n) * relu(W_q q));  att = softmax_n l;  h = relu(W q) * relu(W' sum_n att_n v_n)

Most bias-reduction work builds on this form. The original pads questions in front; here they are padded at the end and
read up to their last word. `QuestionOnly` is its trunk and head without the image, the anchor of every audit and the
bias of LMH-L; `ImageOnly` is its head over the mean of the visible regions, the bias of LMH-V.

`UpDn2` is UpDn as used by SCR, SSL and the analysis of grounding by Shrestha et al.: two attention maps, added.
Differences from `UpDn`: two maps, each with one more layer (so att sums to 2 before it is reported as a share); dropout
on question, map and head; hidden 1280; SSL's batch normalisation of the joint vector.

Dropout differs from SSL's and SCR's released code, which has 0.4 on word vectors, 0.2 after each of three layers of
attention, 0.1 after the two joint layers and 0.5 in the head; here it is 0.4 on the question vector that guides
attention, 0.2 after one layer of attention, none after the joint layers and 0.1 in the head. SSL's batch
normalisation has no weights of its own; here it has a learned scale and offset.
"""

from typing import ClassVar

from torch import Tensor, nn

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.layers import (
    NormLinear,
    QuestionReader,
    classifier,
    hide,
    masked_mean,
    masked_softmax,
    relu_map,
    weigh,
)
from eyechart.zoo.network import Network, NetworkSizes, TrainingRecipe


class UpDn(Network):
    """Attend to regions once, guided by the question; Adamax 2e-3, batch 512."""

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__(sizes)
        hidden = self.q_size = self.h_size = sizes.hidden
        self.reader = QuestionReader(sizes.embedding, hidden)
        self.region, self.guide = relu_map(sizes.features, hidden), relu_map(hidden, hidden)
        self.dropout, self.rate = nn.Dropout(0.2), NormLinear(hidden, 1)
        self.ask, self.see = relu_map(hidden, hidden), relu_map(sizes.features, hidden)
        self.head = classifier(hidden, sizes.answers)

    def forward(self, batch: Batch) -> Out:
        """Attend to regions guided by the question, then answer."""
        seen = batch.visible()  # [B, N]
        v = hide(batch.v, seen)  # [B, N, D]
        q = self.reader(self.words(batch), batch).last  # [B, H]
        att = self.attend(v, q, seen)  # [B, N]
        h = self.ask(q) * self.see(weigh(att, v))  # [B, H]
        return Out(self.head(h), att, q, h)

    def attend(self, v: Tensor, q: Tensor, seen: Tensor) -> Tensor:
        """Compute the attention over the regions, [B, N]."""
        joint = self.region(v) * self.guide(q).unsqueeze(1)  # [B, N, H]
        return masked_softmax(self.rate(self.dropout(joint)).squeeze(-1), seen)


class RegionAttention(nn.Module):
    """Rate each region by w . relu(W (relu(W_v v_n) * relu(W_q q)))."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        self.region, self.guide = relu_map(features, hidden), relu_map(hidden, hidden)
        self.rate = nn.Sequential(relu_map(hidden, hidden), nn.Dropout(0.2), NormLinear(hidden, 1))

    def forward(self, v: Tensor, q: Tensor, seen: Tensor) -> Tensor:
        """Compute the attention over the regions, [B, N]."""
        joint = self.region(v) * self.guide(q).unsqueeze(1)  # [B, N, H]
        return masked_softmax(self.rate(joint).squeeze(-1), seen)


class UpDn2(Network):
    """Attend to regions twice, guided by the question, and add the two maps, as SCR and SSL do."""

    recipe: ClassVar[TrainingRecipe] = TrainingRecipe("adam", 1e-3, 256, 40, 1280)

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__(sizes)
        hidden = self.q_size = self.h_size = sizes.hidden
        self.reader, self.dropout = QuestionReader(sizes.embedding, hidden), nn.Dropout(0.4)
        self.glances = nn.ModuleList(RegionAttention(sizes.features, hidden) for _ in range(2))
        self.ask, self.see = relu_map(hidden, hidden), relu_map(sizes.features, hidden)
        self.norm = nn.BatchNorm1d(hidden)
        self.head = classifier(hidden, sizes.answers, dropout=0.1)

    def forward(self, batch: Batch) -> Out:
        """Attend twice, then answer."""
        seen = batch.visible()  # [B, N]
        v = hide(batch.v, seen)  # [B, N, D]
        q = self.reader(self.words(batch), batch).last  # [B, H]
        guide = self.dropout(q)
        maps = [glance(v, guide, seen) for glance in self.glances]  # two of [B, N]
        att = maps[0] + maps[1]
        h = self.norm(self.ask(q) * self.see(weigh(att, v)))  # [B, H]
        return Out(self.head(h), att / 2, q, h)


class QuestionOnly(Network):
    """Answer from the question alone: s = head(GRU(words) at the last word)."""

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__(sizes)
        self.q_size = self.h_size = sizes.hidden
        self.reader = QuestionReader(sizes.embedding, sizes.hidden)
        self.head = classifier(sizes.hidden, sizes.answers)

    def forward(self, batch: Batch) -> Out:
        """Answer from the words alone."""
        q = self.reader(self.words(batch), batch).last  # [B, H]
        return Out(self.head(q), q=q, h=q)


class ImageOnly(Network):
    """Answer from the image alone: s = head(relu(W mean v))."""

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__(sizes)
        self.q_size, self.h_size = None, sizes.hidden
        self.see = relu_map(sizes.features, sizes.hidden)
        self.head = classifier(sizes.hidden, sizes.answers)

    def forward(self, batch: Batch) -> Out:
        """Answer from the regions alone."""
        h = self.see(masked_mean(batch.v, batch.visible()))  # [B, H]
        return Out(self.head(h), h=h)
