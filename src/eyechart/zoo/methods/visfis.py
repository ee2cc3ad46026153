"""VisFIS (Ying et al. 2022): right on important regions, uncertain on the others, and gradients that match hints.

L = base + ce(s_imp) + KL(u || softmax s_non) / A + l1(g / ||g|| on unimportant) + (1 - cos(g, h))

For s_imp and s_non the other regions are overwritten with -1, not masked; a region is important if its hint exceeds
0.3. The divergence is divided by A because the authors' code takes torch's mean. Training on s_imp makes FPVG's test
condition familiar, which explains part of its FPVG. Examples without an important region count only in the base.
"""

from typing import ClassVar

from torch import Tensor, nn

from eyechart.zoo.batch import Batch, drop
from eyechart.zoo.debias import Debias, Decorator, PlainCE
from eyechart.zoo.losses import ask_of_regions, ce_each, region_saliency
from eyechart.zoo.network import Network

THRESHOLD = 0.3


class VisFIS(Decorator):
    """Add all four terms with weight 1, to ce if no base is given."""

    needs = ("hints",)
    trained_on_the_metric = ("grounding",)
    twice = True
    threshold: ClassVar[float] = THRESHOLD

    def __init__(self, model: Network, base: Debias | None = None) -> None:
        super().__init__(model, base or PlainCE(model))

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Compute L."""
        model, shown = ask_of_regions(model, batch)
        loss: Tensor = self.base(model, shown)
        hints, seen = batch.need("hints"), batch.visible()
        important = seen & (hints > self.threshold)
        has_important = important.any(1).to(loss.dtype)  # [B]
        right = ce_each(model(drop(batch, important, "value")).logits, batch.need("a"))
        unsure = divergence_from_uniform(model(drop(batch, ~important, "value")).logits)
        g = region_saliency(model, shown)
        stray = (nn.functional.normalize(g, dim=1).abs() * (seen & ~important)).mean(1)
        apart = 1 - nn.functional.cosine_similarity(g, hints * seen, dim=1)
        return loss + (has_important * (right + unsure + stray + apart)).mean()


def divergence_from_uniform(s: Tensor) -> Tensor:
    """Return KL(u || softmax s) / A for each example, [B]."""
    answers = s.shape[1]
    uniform = s.new_full((), 1 / answers)
    return (uniform * (uniform.log() - s.log_softmax(1))).mean(1)
