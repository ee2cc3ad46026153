"""Question-only: the trunk and head of UpDn without the image, the anchor of every audit and the bias of LMH-L."""

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.layers import Reader, classifier
from eyechart.zoo.network import Network, Sizes


class QuestionOnly(Network):
    """Say s = head(GRU(words) after the last word)."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.q_size = self.h_size = sizes.hidden
        self.reader = Reader(sizes.embedding, sizes.hidden)
        self.head = classifier(sizes.hidden, sizes.answers)

    def forward(self, batch: Batch) -> Out:
        """Answer from the words alone."""
        q = self.reader(self.words(batch), batch).last  # [B, H]
        return Out(self.head(q), q=q, h=q)
