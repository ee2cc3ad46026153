"""Edits of a batch: regions out of sight, pictures of other examples, one answer drawn from several."""

from typing import Literal

import torch
from torch import Tensor

from eyechart.zoo.batch import Batch

How = Literal["mask", "zero", "value"]
VALUE = -1.0  # what VisFIS writes over a region


def drop(batch: Batch, keep: Tensor, how: How = "mask") -> Batch:
    """Show only the regions to keep, [B, N] bool: the others masked, or in sight but overwritten by 0 or by -1.

    These are three different tests: FPVG and CSS mask, erasure papers write 0, VisFIS writes -1.
    """
    if how == "mask":
        return batch.to(v_mask=batch.visible() & keep)
    return batch.to(v=batch.v.masked_fill(~keep.unsqueeze(-1), 0.0 if how == "zero" else VALUE))


def swap_pictures(batch: Batch) -> Batch:
    """Give each question the picture of an example of the batch drawn by torch's seed, with its boxes and mask."""
    order = torch.rand(len(batch.v), device=batch.v.device).argsort()  # torch's compiler stumbles over `randperm`
    held = {name: getattr(batch, name) for name in ("v", "boxes", "v_mask")}
    return batch.to(**{name: value[order] for name, value in held.items() if value is not None})


def sample_answers(batch: Batch) -> Batch:
    """Score one answer of each example 1 and the others 0, drawn by their scores; all stay 0 where none has one."""
    a = batch.need("a")
    has_answer = a.any(1, keepdim=True)
    drawn = torch.multinomial(torch.where(has_answer, a, 1.0), 1)  # [B, 1]
    return batch.to(a=torch.zeros_like(a).scatter(1, drawn, 1.0) * has_answer)
