"""UpDn (Anderson et al. 2018, in the form of hengyuan-hu's code, which most bias-reduction work builds on).

    l_n = w . dropout(relu(W_v v_n) * relu(W_q q));  att = softmax_n l;  h = relu(W q) * relu(W' sum_n att_n v_n)

The original pads questions in front; here they are padded behind and read up to their last word.
"""

from torch import Tensor, nn

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.layers import NormLinear, Reader, classifier, hide, masked_softmax, relu_map, weigh
from eyechart.zoo.network import Network, Sizes


class UpDn(Network):
    """Attend to regions once, guided by the question; Adamax 2e-3, batch 512."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        hidden = self.q_size = self.h_size = sizes.hidden
        self.reader = Reader(sizes.embedding, hidden)
        self.region, self.guide = relu_map(sizes.features, hidden), relu_map(hidden, hidden)
        self.dropout, self.rate = nn.Dropout(0.2), NormLinear(hidden, 1)
        self.ask, self.see = relu_map(hidden, hidden), relu_map(sizes.features, hidden)
        self.head = classifier(hidden, sizes.answers)

    def forward(self, batch: Batch) -> Out:
        """Look where the question points, then answer."""
        seen = batch.visible()  # [B, N]
        v = hide(batch.v, seen)  # [B, N, D]
        q = self.reader(self.words(batch), batch).last  # [B, H]
        att = self.attend(v, q, seen)  # [B, N]
        h = self.ask(q) * self.see(weigh(att, v))  # [B, H]
        return Out(self.head(h), att, q, h)

    def attend(self, v: Tensor, q: Tensor, seen: Tensor) -> Tensor:
        """Share attention among the regions, [B, N]."""
        joint = self.region(v) * self.guide(q).unsqueeze(1)  # [B, N, H]
        return masked_softmax(self.rate(self.dropout(joint)).squeeze(-1), seen)
