"""MLP-A, -QA, -IA, -IQA (Jabri et al. 2016, as in Chao et al. 2018, Eq. 1): score each option by itself.

    f(c, i, q) = U relu(W [mean word vector of c; of q; image]) + b, trained as a logistic choice over all options

Here the image is the mean of the visible regions, scaled to length 1, in place of a pooled ResNet-200 feature. If a
question has fewer options than others, the missing ones have the lowest possible score and no gradient.
"""

from typing import ClassVar

import torch
from torch import Tensor, nn

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.layers import masked_mean
from eyechart.zoo.network import Network, NetworkSizes, TrainingRecipe

ABSENT = -1e4  # a logit whose sigmoid is 0 in any precision


class ImageQuestionAnswer(Network):
    """Score options from image, question and option."""

    recipe: ClassVar[TrainingRecipe] = TrainingRecipe("adam", 1e-3, 256, 30, 8192)
    needs: ClassVar[tuple[str, ...]] = ("cand",)
    use: ClassVar[str] = "iqa"

    def __init__(self, sizes: NetworkSizes) -> None:
        super().__init__(sizes)
        widths = {"i": sizes.features, "q": sizes.embedding, "a": sizes.embedding}
        self.q_size, self.h_size = (sizes.embedding if "q" in self.use else None), sizes.hidden
        self.join = nn.Linear(sum(widths[part] for part in self.use), sizes.hidden)
        self.rate = nn.Linear(sizes.hidden, 1)

    def forward(self, batch: Batch) -> Out:
        """Score every option, [B, K]; `h` is the mean over the options."""
        options = batch.need("cand")  # [B, K, L]
        words = masked_mean(self.embedding(options).flatten(0, 1), options.flatten(0, 1) != 0)  # [B * K, E]
        parts = {"a": words.view(*options.shape[:2], -1)}  # [B, K, E]
        if "q" in self.use:
            parts["q"] = masked_mean(self.words(batch), batch.q != 0)  # [B, E]
        if "i" in self.use:
            parts["i"] = nn.functional.normalize(masked_mean(batch.v, batch.visible()), dim=-1)  # [B, D]
        h = self.join(torch.cat([self._spread(parts[part], options) for part in self.use], -1)).relu()  # [B, K, H]
        logits = self.rate(h).squeeze(-1).masked_fill((options == 0).all(-1), ABSENT)  # [B, K]
        return Out(logits, q=parts.get("q"), h=h.mean(1))

    @staticmethod
    def _spread(part: Tensor, options: Tensor) -> Tensor:
        """Repeat a part that all options share, [B, E] -> [B, K, E]."""
        return part if part.dim() == 3 else part.unsqueeze(1).expand(-1, options.shape[1], -1)


class AnswerOnly(ImageQuestionAnswer):
    """Score options from the option alone."""

    use: ClassVar[str] = "a"


class QuestionAnswer(ImageQuestionAnswer):
    """Score options from question and option."""

    use: ClassVar[str] = "qa"


class ImageAnswer(ImageQuestionAnswer):
    """Score options from image and option."""

    use: ClassVar[str] = "ia"
