"""CF-VQA (Niu et al. 2021), SUM form: subtract what the question alone would have made of the answer.

z_q = q1(sg[q]);  z_v = v1(sg[mean v]);  F(k, q, v) = log sigma(k + q + v)
TE = F(s, z_q, z_v);  NDE = F(c, z_q, c) with one learned number c
L = ce(TE) + ce(q2 z_q) + ce(v2 z_v) + CE(sg[softmax TE], softmax F(c, sg[z_q], c));  test: TE - NDE
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn

from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Debias
from eyechart.zoo.layers import masked_mean, perceptron
from eyechart.zoo.losses import ce
from eyechart.zoo.methods.branch import QuestionBranch
from eyechart.zoo.network import Network


class Effects(NamedTuple):
    """Hold the scores of the branches and of all together, each [B, A]."""

    question: Tensor
    image: Tensor
    total: Tensor


class CFVQA(Debias):
    """Answer by the total effect less the natural direct effect of the question."""

    def __init__(self, model: Network) -> None:
        super().__init__(model)
        sizes = model.sizes
        self.of_question = QuestionBranch(model)
        self.of_image = perceptron(sizes.features, sizes.hidden, sizes.answers)
        self.question_head = nn.Linear(sizes.answers, sizes.answers)
        self.image_head = nn.Linear(sizes.answers, sizes.answers)
        self.constant = nn.Parameter(torch.zeros(()))

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Give L; its last term trains c only."""
        a, effects = batch.need("a"), self._effects(model, batch)
        direct = self._direct(effects.question.detach())
        branches = ce(self.question_head(effects.question), a) + ce(self.image_head(effects.image), a)
        matching = nn.functional.cross_entropy(direct, effects.total.detach().softmax(1))
        return ce(effects.total, a) + branches + matching

    def predict(self, model: Network, batch: Batch) -> Tensor:
        """Give TE - NDE."""
        effects = self._effects(model, batch)
        return effects.total - self._direct(effects.question)

    def _effects(self, model: Network, batch: Batch) -> Effects:
        out = model(batch)
        question = self.of_question(out, batch)
        image = self.of_image(masked_mean(batch.v.detach(), batch.visible()))
        return Effects(question, image, nn.functional.logsigmoid(out.logits + question + image))

    def _direct(self, question: Tensor) -> Tensor:
        return nn.functional.logsigmoid(question + 2 * self.constant)
