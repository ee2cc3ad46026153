"""Losses and attributions that the methods share; `y` is the answer with the highest score.

An example whose answers all score 0 has no y: CSS makes such examples, and answers may be too rare to be learned.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from eyechart.zoo.batch import Batch
from eyechart.zoo.network import CachedNetwork, Network


def bce(s: Tensor, a: Tensor) -> Tensor:
    """Compute the binary cross-entropy, summed over answers and averaged over the batch: the convention of UpDn."""
    return nn.functional.binary_cross_entropy_with_logits(s, a, reduction="sum") / len(s)


def ce_each(s: Tensor, a: Tensor) -> Tensor:
    """Compute the cross-entropy of softmax(s) against y for each example, 0 without y, [B]."""
    return nn.functional.cross_entropy(s, a.argmax(1), reduction="none") * has_answer(a)


def ce(s: Tensor, a: Tensor) -> Tensor:
    """Compute the cross-entropy of softmax(s) against y, averaged over the batch."""
    return ce_each(s, a).mean()


def chance_of_answer(s: Tensor, a: Tensor) -> Tensor:
    """Return softmax(s)_y for each example, 0 without y, [B]."""
    return s.softmax(1).gather(1, a.argmax(1, keepdim=True)).squeeze(1) * has_answer(a)


def has_answer(a: Tensor) -> Tensor:
    """Return which examples have an answer with a score, [B]."""
    return (a > 0).any(1)


def gradient(score: Tensor, inputs: Tensor, *, keep: bool, weight: Tensor | None = None) -> Tensor:
    """Differentiate a score, with zeros where it has no dependence; `keep` allows differentiating the gradient again.

    Several scores are summed with a `weight`, which is treated as constant.
    """
    return gradients(score, (inputs,), keep=keep, weight=weight)[0]


def gradients(
    score: Tensor, inputs: Sequence[Tensor], *, keep: bool, weight: Tensor | None = None
) -> tuple[Tensor, ...]:
    """Differentiate a score by several tensors at once, sharing the common work.

    The graph is retained, because the loss of the base method uses the same forward pass.
    """
    return torch.autograd.grad(
        score, inputs, weight, retain_graph=True, create_graph=keep, allow_unused=True, materialize_grads=True
    )


def ask_of_regions(model: Network, batch: Batch) -> tuple[Network, Batch]:
    """Run a network on a batch whose regions require gradients; return it with cached output, and the batch."""
    batch = batch.to(v=batch.v.detach().requires_grad_())
    return CachedNetwork(model, batch), batch


def ask_of_words(model: Network, batch: Batch) -> tuple[Network, Batch]:
    """Run a network on a batch whose word vectors require gradients, likewise."""
    w = model.words(batch)
    batch = batch.to(w=w if w.requires_grad else w.detach().requires_grad_())  # from the embedding, or fixed inputs
    return CachedNetwork(model, batch), batch


def region_saliency(model: Network, batch: Batch, *, keep: bool = True) -> Tensor:
    """Compute g_n = sum_d d(sum of logits with a_k > 0) / d v_nd, [B, N], from the results of `ask_of_regions`."""
    return gradient(scored_logits(model(batch).logits, batch), batch.v, keep=keep).sum(-1)


def word_saliency(model: Network, batch: Batch) -> Tensor:
    """Compute the same for words, [B, T], from the results of `ask_of_words`; it cannot be differentiated again."""
    return gradient(scored_logits(model(batch).logits, batch), batch.need("w"), keep=False).sum(-1)


def scored_logits(logits: Tensor, batch: Batch) -> Tensor:
    """Sum the logits of all answers with a score."""
    return (logits * (batch.need("a") > 0)).sum()
