"""A batch is edited without being changed, and says what it lacks."""

import pytest
import torch

from eyechart.base.errors import DataError
from eyechart.zoo.batch import Batch, drop, sample_answers, swap_pictures


def test_an_edit_leaves_the_original_as_it_was(batch: Batch) -> None:
    before = batch.q.clone()
    edited = batch.to(q=torch.zeros_like(batch.q))

    assert torch.equal(batch.q, before)
    assert not edited.q.any()
    assert edited.v is batch.v


def test_a_missing_field_is_named(batch: Batch) -> None:
    with pytest.raises(DataError, match="'bias'"):
        batch.to(bias=None).need("bias")


def test_all_regions_are_in_sight_unless_a_mask_says_otherwise(batch: Batch) -> None:
    assert batch.to(v_mask=None).visible().all()
    assert torch.equal(batch.visible(), batch.v_mask)


def test_every_field_moves_to_the_device(batch: Batch) -> None:
    moved = batch.to(w=None).on("meta")

    assert moved.q.device.type == moved.v.device.type == moved.hints.device.type == "meta"
    assert moved.w is None


def test_dropped_regions_are_masked_or_overwritten(batch: Batch) -> None:
    keep = torch.zeros(4, 5, dtype=torch.bool)
    keep[:, 2] = True

    assert torch.equal(drop(batch, keep).v_mask, keep & batch.v_mask)
    assert torch.equal(drop(batch, keep).v, batch.v)
    for how, value in (("zero", 0.0), ("value", -1.0)):
        overwritten = drop(batch, keep, how)
        assert torch.equal(overwritten.v_mask, batch.v_mask)
        assert torch.equal(overwritten.v[:, 2], batch.v[:, 2])
        assert (overwritten.v[:, [0, 1, 3, 4]] == value).all()


def test_swapped_pictures_bring_their_boxes_and_masks_along(batch: Batch) -> None:
    torch.manual_seed(0)
    swapped = swap_pictures(batch)
    order = [int((batch.v == picture).flatten(1).all(1).nonzero()) for picture in swapped.v]

    assert sorted(order) == [0, 1, 2, 3]
    assert order != [0, 1, 2, 3]
    assert torch.equal(swapped.boxes, batch.boxes[order])
    assert torch.equal(swapped.v_mask, batch.v_mask[order])
    assert torch.equal(swapped.q, batch.q)


def test_answers_are_drawn_as_often_as_their_scores_say(batch: Batch) -> None:
    torch.manual_seed(0)
    a = torch.tensor([0.0, 0.9, 0.3]).expand(4000, 3)
    drawn = sample_answers(batch.to(a=a)).a

    assert torch.equal(drawn.sum(1), torch.ones(4000))
    assert not drawn[:, 0].any()
    assert float(drawn[:, 1].mean()) == pytest.approx(0.75, abs=0.03)


def test_no_answer_is_drawn_where_none_has_a_score(batch: Batch) -> None:
    assert not sample_answers(batch.to(a=torch.zeros(4, 7))).a.any()
