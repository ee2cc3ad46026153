"""VisualBERT (Li et al. 2019) through transformers: words and regions in one row of a BERT, without boxes."""

from typing import ClassVar

from torch import nn

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.layers import hide
from eyechart.zoo.models.pretrained import Pretrained
from eyechart.zoo.network import Recipe, Sizes


class VisualBERT(Pretrained):
    """Answer from the pooled vector of VisualBertModel."""

    recipe: ClassVar[Recipe] = Recipe("adam", 2e-5, 32, 10, 768)
    released_on: ClassVar[tuple[str, ...]] = ("COCO captions",)
    kind: ClassVar[str] = "visual_bert"
    feature_option: ClassVar[str] = "visual_embedding_dim"

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(sizes.hidden, sizes.answers))

    def forward(self, batch: Batch) -> Out:
        """Show words and regions to the body."""
        seen = batch.visible()  # [B, N]
        out = self.body(
            inputs_embeds=self.words(batch),
            attention_mask=(batch.q != 0).float(),
            visual_embeds=hide(batch.v, seen),
            visual_attention_mask=seen.float(),
        )
        return Out(self.head(out.pooler_output), h=out.pooler_output)
