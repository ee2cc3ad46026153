"""The interface of bias-reduction methods: a loss for a network and a batch, and a way to answer."""

from collections.abc import Hashable

import torch
from torch import Tensor, nn

from eyechart.base.errors import SettingError
from eyechart.zoo.batch import Batch, sample_answers
from eyechart.zoo.losses import bce, ce
from eyechart.zoo.network import Network


class Debias(nn.Module):
    """Compute a loss from a network and a batch; the method's own parameters go to the same optimizer.

    `needs` names the fields of the batch it uses; `bias_from` names the source of `bias`: "prior" (the mean score of
    each answer by question type, over the training set), or a network that is trained beforehand and frozen.
    `trained_on_the_metric` names the audits whose intervention the method trains on. `rate` is the learning rate with
    which its authors fine-tune a trained network, None if they train from scratch; it may change with the epoch.
    `twice` says that the loss contains gradients of the network, so that training differentiates it twice.
    """

    needs: tuple[str, ...] = ()
    bias_from: str | None = None
    trained_on_the_metric: tuple[str, ...] = ()
    rate: float | None = None
    twice: bool = False

    def __init__(self, model: Network) -> None:
        super().__init__()
        self.answers = model.sizes.answers

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Compute the loss to minimise, a scalar."""
        raise NotImplementedError

    def predict(self, model: Network, batch: Batch) -> Tensor:
        """Score the answers after training, [B, A]."""
        logits: Tensor = model(batch).logits
        return logits

    def begin_epoch(self, epoch: int) -> None:
        """Prepare for an epoch, counted from 0."""

    def begin_step(self) -> Hashable:
        """Draw and return the kind of the next step; all steps of a kind run the same operations."""
        return None


class Plain(Debias):
    """Minimise bce(s, a) alone."""

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Compute L = bce(s, a)."""
        return bce(model(batch).logits, batch.need("a"))


class PlainCE(Debias):
    """Minimise ce(s) alone."""

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Compute L = ce(s)."""
        return ce(model(batch).logits, batch.need("a"))


class Decorator(Debias):
    """Add a term or edited batches to another method, by default plain training."""

    def __init__(self, model: Network, base: Debias | None = None) -> None:
        super().__init__(model)
        self.base = base = base or Plain(model)
        self.needs = tuple(dict.fromkeys((*base.needs, *type(self).needs)))
        self.bias_from = base.bias_from
        self.twice = base.twice or type(self).twice
        own = type(self).trained_on_the_metric
        self.trained_on_the_metric = tuple(dict.fromkeys((*base.trained_on_the_metric, *own)))

    def predict(self, model: Network, batch: Batch) -> Tensor:
        """Answer as the base method does."""
        return self.base.predict(model, batch)

    def begin_epoch(self, epoch: int) -> None:
        """Prepare the base method too."""
        self.base.begin_epoch(epoch)
        self.rate = self.base.rate if type(self).rate is None else type(self).rate

    def begin_step(self) -> Hashable:
        """Draw the kind of step of the base method."""
        return self.base.begin_step()


class Then(Debias):
    """Train with one method for some epochs and with another from then on."""

    def __init__(self, model: Network, first: Debias, n_epochs: int, second: Debias) -> None:
        super().__init__(model)
        self.first, self.second, self.n_epochs = first, second, n_epochs
        self.needs = tuple(dict.fromkeys((*first.needs, *second.needs)))
        if first.bias_from and second.bias_from and first.bias_from != second.bias_from:
            found = f"{first.bias_from} in the first and {second.bias_from} in the second"
            raise SettingError("stages that take the same bias", found, "train one, and tune it with --init")
        self.bias_from = first.bias_from or second.bias_from
        audits = (*first.trained_on_the_metric, *second.trained_on_the_metric)
        self.trained_on_the_metric = tuple(dict.fromkeys(audits))
        self.epoch, self.twice = 0, first.twice

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Compute the loss of the current method."""
        loss: Tensor = self._current()(model, batch)
        return loss

    def predict(self, model: Network, batch: Batch) -> Tensor:
        """Answer as the current method does."""
        return self._current().predict(model, batch)

    def begin_epoch(self, epoch: int) -> None:
        """Switch methods after the epochs of the first; the second counts its own from 0."""
        self.epoch = epoch
        self._current().begin_epoch(epoch if epoch < self.n_epochs else epoch - self.n_epochs)
        self.rate, self.twice = self._current().rate, self._current().twice

    def begin_step(self) -> Hashable:
        """Draw the kind of step of the current method."""
        return self.epoch < self.n_epochs, self._current().begin_step()

    def get_extra_state(self) -> Tensor:
        """Save the epoch with the weights, so that a loaded method answers by its last stage."""
        return torch.tensor(self.epoch)

    def set_extra_state(self, state: Tensor) -> None:
        """Restore the saved epoch."""
        self.begin_epoch(int(state))

    def _current(self) -> Debias:
        return self.first if self.epoch < self.n_epochs else self.second


def last_stage(debias: Debias) -> int:
    """Return the epoch in which the last of several stages begins."""
    return debias.n_epochs + last_stage(debias.second) if isinstance(debias, Then) else 0


class Sampled(Decorator):
    """Draw one answer by the scores whenever an example is seen, as in the training of RUBi, LPF, CF-VQA and S-MRL.

    L = base with y drawn by the scores a, as in `rubi+sampled`. Their losses are cross-entropies against one answer,
    which is the highest one unless drawn.
    """

    def forward(self, model: Network, batch: Batch) -> Tensor:
        """Compute the base loss for the answers drawn."""
        loss: Tensor = self.base(model, sample_answers(batch))
        return loss
