"""The input and output of a network, and edits of the input.

B examples, N regions of D numbers, T words, A answers, K options. A batch is edited by hiding regions, by exchanging
the pictures of questions, and by drawing one answer from several.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, Literal, NamedTuple, Self

import torch
from torch import Tensor

from eyechart.base.errors import DataError


@dataclass
class Batch:
    """Hold a batch of examples; methods edit copies made by `to`, leaving the original unchanged."""

    q: Tensor  # [B, T] long, padded at the end; 0 is no word: padding, or a hidden word
    v: Tensor  # [B, N, D] features of regions
    boxes: Tensor | None = None  # [B, N, 4] corners as shares of width and height
    v_mask: Tensor | None = None  # [B, N] bool, the visible regions; None means all
    a: Tensor | None = None  # [B, A] or [B, K] soft scores of answers, 0..1
    cand: Tensor | None = None  # [B, K, L] long, the words of each option
    w: Tensor | None = None  # [B, T, E] word vectors, used instead of looking up q
    bias: Tensor | None = None  # [B, A] the output of a bias model, 0..1
    hints: Tensor | None = None  # [B, N] how important people find each region, 0..1
    qmask: Tensor | None = None  # [B, T] bool, the words that may be critical: no padding, not in the question's type
    index: Tensor | None = None  # [B] long, the index of each example in the training set
    qtype: Tensor | None = None  # [B] long, the type of each question
    program: Tensor | None = None  # [B, 3] long, for a symbolic network: operation, first and second word

    def to(self, **changes: Any) -> Self:  # noqa: ANN401 - a field of any kind
        """Copy the batch with some fields replaced."""
        return replace(self, **changes)

    def on(self, device: torch.device | str) -> Self:
        """Move all fields to a device."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(self, **{name: value.to(device) for name, value in values.items() if value is not None})

    def need(self, name: str) -> Tensor:
        """Return a required field, or raise an error that names it."""
        value = getattr(self, name)
        if not isinstance(value, Tensor):
            raise DataError(f"a batch with {name!r}", "none", "provide it, or choose a model or method without it")
        return value

    def shows_the_same(self, other: "Batch") -> bool:
        """Return whether a network sees exactly the same tensors, disregarding the answers, which it does not see."""
        shown = (field.name for field in fields(self) if field.name != "a")
        return all(getattr(self, name) is getattr(other, name) for name in shown)

    def visible(self) -> Tensor:
        """Return the mask of visible regions, [B, N] bool."""
        return torch.ones_like(self.v[..., 0], dtype=torch.bool) if self.v_mask is None else self.v_mask


class Out(NamedTuple):
    """Hold the outputs of a network for a batch."""

    logits: Tensor  # [B, A] or [B, K]
    att: Tensor | None = None  # [B, N] share of attention on each region, only for reporting
    q: Tensor | None = None  # [B, Hq] the question alone, if the network has such a vector
    h: Tensor | None = None  # [B, H] the joint vector before the classifier


Removal = Literal["mask", "zero", "value"]
VALUE = -1.0  # what VisFIS writes over a region


def drop(batch: Batch, keep: Tensor, how: Removal = "mask") -> Batch:
    """Show only the regions to keep, [B, N] bool: mask the others, or overwrite their features with 0 or -1.

    These are three different tests: FPVG and CSS mask, papers on erasure write 0, VisFIS writes -1.
    """
    if how == "mask":
        return batch.to(v_mask=batch.visible() & keep)
    return batch.to(v=batch.v.masked_fill(~keep.unsqueeze(-1), 0.0 if how == "zero" else VALUE))


def swap_pictures(batch: Batch) -> Batch:
    """Permute the pictures of a batch at random, together with their boxes and masks."""
    order = torch.rand(len(batch.v), device=batch.v.device).argsort()  # torch's compiler cannot handle `randperm`
    values = {name: getattr(batch, name) for name in ("v", "boxes", "v_mask")}
    return batch.to(**{name: value[order] for name, value in values.items() if value is not None})


def sample_answers(batch: Batch) -> Batch:
    """Draw one answer per example by the scores and score it 1, the others 0; an example without scores stays at 0."""
    a = batch.need("a")
    has_answer = a.any(1, keepdim=True)
    drawn = torch.multinomial(torch.where(has_answer, a, 1.0), 1)  # [B, 1]
    return batch.to(a=torch.zeros_like(a).scatter(1, drawn, 1.0) * has_answer)
