"""CF-VQA (Niu et al. 2021), SUM form: subtract the effect of the question alone.

z_q = q1(sg[q]);  z_v = v1(sg[mean v]);  F(k, q, v) = log sigma(k + q + v)
TE = F(s, z_q, z_v);  NDE = F(c, z_q, c) with one learned number c
L = ce(TE) + ce(q2 z_q) + ce(v2 z_v) + CE(sg[softmax TE], softmax F(c, sg[z_q], c));  test: TE - NDE
"""

import torch
from torch import Tensor, nn

from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Debias
from eyechart.zoo.layers import masked_mean, perceptron
from eyechart.zoo.losses import ce
from eyechart.zoo.methods.rubi import QuestionBranch
from eyechart.zoo.network import Network


class CFVQA(Debias):
    """Answer by the total effect minus the natural direct effect of the question."""

    def __init__(self, model: Network) -> None:
        super().__init__(model)
        sizes = model.sizes
        self.of_question = QuestionBranch(model)
        self.of_image = perceptron(sizes.features, sizes.hidden, sizes.answers)
        self.question_head = nn.Linear(sizes.answers, sizes.answers)
        self.image_head = nn.Linear(sizes.answers, sizes.answers)
        self.constant = nn.Parameter(torch.zeros(()))

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Compute L, whose last term trains only c."""
        a, (question, image, total) = batch.need("a"), self._effects(model, batch)
        direct = self._direct(question.detach())
        branches = ce(self.question_head(question), a) + ce(self.image_head(image), a)
        matching = nn.functional.cross_entropy(direct, total.detach().softmax(1))
        return ce(total, a) + branches + matching

    def predict(self, model: Network, batch: Batch) -> Tensor:
        """Return TE - NDE."""
        question, _, total = self._effects(model, batch)
        return total - self._direct(question)

    def _effects(self, model: Network, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Compute the scores of both branches and their combination, each [B, A]."""
        out = model(batch)
        question = self.of_question(out, batch)
        image = self.of_image(masked_mean(batch.v.detach(), batch.visible()))
        return question, image, nn.functional.logsigmoid(out.logits + question + image)

    def _direct(self, question: Tensor) -> Tensor:
        return nn.functional.logsigmoid(question + 2 * self.constant)
