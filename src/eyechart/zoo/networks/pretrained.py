"""LXMERT (Tan and Bansal 2019) and VisualBERT (Li et al. 2019) through transformers, fresh or from released weights.

LXMERT has the two-layer head that VQA-VS adds. Its released weights learned to answer VQA v2 questions in pretraining,
including test questions of later splits. VisualBERT reads words and regions as one sequence of a BERT, without boxes.
The weights of the body are fresh unless released ones are loaded from a folder.
"""

from pathlib import Path
from typing import Any, ClassVar

import torch
from torch import nn

from eyechart.base.errors import MissingExtraError, ModelError
from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.layers import count_heads, hide
from eyechart.zoo.network import Network, NetworkSizes, TrainingRecipe


class Pretrained(Network):
    """Wrap the transformer that `kind` names, which has no vector of the question alone.

    With released weights, q must come from their own tokenizer, whose padding is 0 too (`zoo/vocabulary.py`).
    """

    kind: ClassVar[str]
    released_on: ClassVar[tuple[str, ...]]  # the pretraining data of released weights
    feature_option: ClassVar[str]  # the body's setting for the size of region features
    body: nn.Module

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__(sizes._replace(embedding=sizes.hidden))
        self.q_size, self.h_size = None, sizes.hidden
        auto = _transformers()
        config = auto.AutoConfig.for_model(
            self.kind,
            vocab_size=sizes.words,
            hidden_size=sizes.hidden,
            intermediate_size=4 * sizes.hidden,
            num_attention_heads=count_heads(sizes.hidden),
            **{self.feature_option: sizes.features},
        )
        # Fused attention has no second derivative.
        body = auto.AutoModel.from_config(config, attn_implementation="eager")
        self.body, self.embedding = body, body.get_input_embeddings()

    def load(self, folder: Path) -> None:
        """Load the body's weights from a local folder."""
        sizes = f"{self.sizes.words} words, {self.sizes.features} features and width {self.sizes.hidden}"
        expected = f"weights of {self.kind} with {sizes}"
        try:
            body = _transformers().AutoModel.from_pretrained(folder, local_files_only=True)
            self.body.load_state_dict(body.state_dict())
        except (OSError, ValueError) as error:
            reason = str(error).partition("\n")[0]
            raise ModelError(f"{expected} in {folder}", reason, "save them there with save_pretrained") from None
        except RuntimeError:
            advice = "make the network with the sizes of those weights"
            raise ModelError(expected, f"others in {folder}", advice) from None
        self.pretrained_on = self.released_on


def _transformers() -> Any:  # noqa: ANN401 - a module
    try:
        import transformers
    except ImportError:
        advice = "pip install transformers, or choose another model"
        raise MissingExtraError("the library transformers", "none", advice) from None
    return transformers


class LXMERT(Pretrained):
    """Answer from the pooled vector of LxmertModel, which sees boxes too."""

    recipe: ClassVar[TrainingRecipe] = TrainingRecipe("adam", 5e-5, 32, 4, 768)
    released_on: ClassVar[tuple[str, ...]] = ("VQA v2 train and most of val, with answers", "GQA", "Visual Genome QA")
    kind: ClassVar[str] = "lxmert"
    feature_option: ClassVar[str] = "visual_feat_dim"

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__(sizes)
        wide = 2 * sizes.hidden
        layers = (nn.Linear(sizes.hidden, wide), nn.GELU(), nn.LayerNorm(wide), nn.Linear(wide, sizes.answers))
        self.head = nn.Sequential(*layers)

    def forward(self, batch: Batch) -> Out:
        """Run the body on words, regions and boxes."""
        seen = batch.visible()  # [B, N]
        boxes = torch.zeros_like(batch.v[..., :4]) if batch.boxes is None else batch.boxes
        # Hide with 1: for a picture without visible regions, zeros would make the gradient in LayerNorm explode.
        out = self.body(
            inputs_embeds=self.words(batch),
            attention_mask=(batch.q != 0).float(),
            visual_feats=hide(batch.v, seen, 1.0),
            visual_pos=hide(boxes, seen, 1.0),
            visual_attention_mask=seen.float(),
        )
        return Out(self.head(out.pooled_output), h=out.pooled_output)


class VisualBERT(Pretrained):
    """Answer from the pooled vector of VisualBertModel."""

    recipe: ClassVar[TrainingRecipe] = TrainingRecipe("adam", 2e-5, 32, 10, 768)
    released_on: ClassVar[tuple[str, ...]] = ("COCO captions",)
    kind: ClassVar[str] = "visual_bert"
    feature_option: ClassVar[str] = "visual_embedding_dim"

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__(sizes)
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(sizes.hidden, sizes.answers))

    def forward(self, batch: Batch) -> Out:
        """Run the body on words and regions."""
        seen = batch.visible()  # [B, N]
        out = self.body(
            inputs_embeds=self.words(batch),
            attention_mask=(batch.q != 0).float(),
            visual_embeds=hide(batch.v, seen),
            visual_attention_mask=seen.float(),
        )
        return Out(self.head(out.pooler_output), h=out.pooler_output)
