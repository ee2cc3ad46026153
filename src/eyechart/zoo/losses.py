"""Losses and attributions that the methods share; `y` is the answer with the highest score."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from eyechart.zoo.batch import Batch, Out
from eyechart.zoo.network import Network


def bce(s: Tensor, a: Tensor) -> Tensor:
    """Take the binary cross-entropy summed over answers, mean over the batch: the convention of UpDn."""
    return nn.functional.binary_cross_entropy_with_logits(s, a, reduction="sum") / len(s)


def ce_each(s: Tensor, a: Tensor) -> Tensor:
    """Take the cross-entropy of softmax(s) against y for each example, [B]."""
    return nn.functional.cross_entropy(s, a.argmax(1), reduction="none")


def ce(s: Tensor, a: Tensor) -> Tensor:
    """Take the cross-entropy of softmax(s) against y, mean over the batch."""
    return ce_each(s, a).mean()


def chance_of_answer(s: Tensor, a: Tensor) -> Tensor:
    """Give softmax(s)_y for each example, [B]."""
    return s.softmax(1).gather(1, a.argmax(1, keepdim=True)).squeeze(1)


def gradient(score: Tensor, at: Tensor, *, keep: bool) -> Tensor:
    """Differentiate a score, with zeros where it does not depend; `keep` lets the gradient be differentiated again."""
    return gradients(score, (at,), keep=keep)[0]


def gradients(score: Tensor, at: Sequence[Tensor], *, keep: bool) -> tuple[Tensor, ...]:
    """Differentiate a score by several things at once, which spares what their gradients share."""
    return torch.autograd.grad(score, at, create_graph=keep, allow_unused=True, materialize_grads=True)


def region_saliency(model: Network, batch: Batch) -> tuple[Out, Tensor, Tensor]:
    """Give the answer, the regions it was given for, and g_n = sum_d d(sum of logits with a_k > 0) / d v_nd, [B, N].

    Dropout is on while training, as in the originals; the gradient can be differentiated again.
    """
    v = batch.v.detach().requires_grad_()
    out = model(batch.to(v=v))
    return out, v, gradient(wanted(out.logits, batch), v, keep=True).sum(-1)


def wanted(logits: Tensor, batch: Batch) -> Tensor:
    """Add up the logits of all answers with a score."""
    return (logits * (batch.need("a") > 0)).sum()
