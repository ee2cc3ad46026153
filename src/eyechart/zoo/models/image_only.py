"""Image-only: the mean of the regions in sight and UpDn's head, the bias of LMH-V."""

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.layers import classifier, masked_mean, relu_map
from eyechart.zoo.network import Network, Sizes


class ImageOnly(Network):
    """Say s = head(relu(W mean v))."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.q_size, self.h_size = None, sizes.hidden
        self.see = relu_map(sizes.features, sizes.hidden)
        self.head = classifier(sizes.hidden, sizes.answers)

    def forward(self, batch: Batch) -> Out:
        """Answer from the regions alone."""
        h = self.see(masked_mean(batch.v, batch.visible()))  # [B, H]
        return Out(self.head(h), h=h)
