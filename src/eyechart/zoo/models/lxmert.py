"""LXMERT (Tan and Bansal 2019) through transformers, with the two-layer head that VQA-VS puts on it.

The released weights learned to answer VQA v2 questions in pretraining, test questions of later splits among them.
"""

from typing import ClassVar

import torch
from torch import nn

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.layers import hide
from eyechart.zoo.models.pretrained import Pretrained
from eyechart.zoo.network import Recipe, Sizes


class LXMERT(Pretrained):
    """Answer from the pooled vector of LxmertModel."""

    recipe: ClassVar[Recipe] = Recipe("adam", 5e-5, 32, 4, 768)
    released_on: ClassVar[tuple[str, ...]] = ("VQA v2 train and most of val, with answers", "GQA", "Visual Genome QA")
    kind: ClassVar[str] = "lxmert"
    feature_option: ClassVar[str] = "visual_feat_dim"

    def __init__(self, sizes: Sizes) -> None:
        super().__init__(sizes)
        wide = 2 * sizes.hidden
        layers = (nn.Linear(sizes.hidden, wide), nn.GELU(), nn.LayerNorm(wide), nn.Linear(wide, sizes.answers))
        self.head = nn.Sequential(*layers)

    def forward(self, batch: Batch) -> Out:
        """Show words, regions and boxes to the body."""
        seen = batch.visible()  # [B, N]
        boxes = torch.zeros_like(batch.v[..., :4]) if batch.boxes is None else batch.boxes
        # Of a picture without any region in sight a vector of zeros would blow up the gradient in LayerNorm.
        out = self.body(
            inputs_embeds=self.words(batch),
            attention_mask=(batch.q != 0).float(),
            visual_feats=hide(batch.v, seen, 1.0),
            visual_pos=hide(boxes, seen, 1.0),
            visual_attention_mask=seen.float(),
        )
        return Out(self.head(out.pooled_output), h=out.pooled_output)
