"""LfF, learning from failure (Nam et al. 2020): a twin trained to be biased shows which examples are hard.

L = mean q p_B^q l_B + mean W l_D, with p_B and W detached, q = 0.7, l the cross-entropies of twin B and network D;
W = l_B / (l_B + l_D), where each l is a running average (first the loss, then 0.7 of the old and 0.3 of the new value)
divided by the largest of its class.
"""

import torch
from torch import Tensor

from eyechart.base.errors import SettingError
from eyechart.zoo.batch import Batch
from eyechart.zoo.debias import Debias
from eyechart.zoo.losses import ce_each, chance_of_answer
from eyechart.zoo.network import Network

MEMORY, SHARPNESS = 0.7, 0.7
TINY = 1e-8


class LfF(Debias):
    """Remember the losses of every training example, by its index."""

    needs = ("index",)
    classes: Tensor
    of_twin: Tensor
    of_model: Tensor

    def __init__(self, model: Network) -> None:
        super().__init__(model)
        examples = model.sizes.examples
        if not examples:
            raise SettingError("the number of training examples in the sizes", "0", "give it when you make the network")
        self.twin = type(model)(model.sizes)
        self.register_buffer("classes", torch.zeros(examples, dtype=torch.long))
        self.register_buffer("of_twin", torch.zeros(examples))
        self.register_buffer("of_model", torch.zeros(examples))

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Compute L."""
        a, index = batch.need("a"), batch.need("index")
        biased, logits = self.twin(batch).logits, model(batch).logits
        twin_losses, losses = ce_each(biased, a), ce_each(logits, a)
        self.classes[index] = a.argmax(1)
        hard = self._remembered(self.of_twin, index, twin_losses)
        known = self._remembered(self.of_model, index, losses)
        weight = hard / (hard + known + TINY)
        easy = SHARPNESS * chance_of_answer(biased, a).detach() ** SHARPNESS
        return (easy * twin_losses).mean() + (weight * losses).mean()

    @torch.no_grad()
    def _remembered(self, memory: Tensor, index: Tensor, losses: Tensor) -> Tensor:
        """Update the averages for a batch, and return them divided by the largest of their class."""
        before, now = memory[index], losses.to(memory.dtype)
        memory[index] = torch.where(before > 0, MEMORY * before + (1 - MEMORY) * now, now)
        largest = memory.new_zeros(self.answers).scatter_reduce(0, self.classes, memory, "amax")
        return memory[index] / largest[self.classes[index]].clamp(min=TINY)
