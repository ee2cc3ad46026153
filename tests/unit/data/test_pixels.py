"""Edits of pictures, looked at pixel by pixel: inside changed, outside unchanged, sizes equal."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.base.errors import SettingError
from eyechart.data.pictures import GRAY, WAYS, cover, crop, hide

HEIGHT, WIDTH = 40, 60
PHOTO = np.random.default_rng(1).integers(0, 200, (HEIGHT, WIDTH, 3), np.uint8)  # no pixel is its own mean
SIDE = st.integers(-5, 70)
BOXES = st.lists(st.tuples(SIDE, SIDE, SIDE, SIDE), min_size=1, max_size=3)


def inside(boxes: list[tuple[int, ...]]) -> np.ndarray:
    mask = np.zeros((HEIGHT, WIDTH), bool)
    for y in range(HEIGHT):
        for x in range(WIDTH):
            mask[y, x] = any(left <= x < right and top <= y < bottom for left, top, right, bottom in boxes)
    return mask


@settings(deadline=None, max_examples=40)
@given(BOXES, st.sampled_from(sorted(WAYS)))
def test_an_edit_changes_what_is_inside_and_nothing_else(boxes: list[tuple[int, ...]], how: str) -> None:
    edited, hidden = hide(PHOTO, boxes, how), inside(boxes)

    assert edited.shape == PHOTO.shape
    assert edited.dtype == np.uint8
    assert np.array_equal(edited[~hidden], PHOTO[~hidden])
    changed = (edited[hidden] != PHOTO[hidden]).any(axis=1)
    assert changed.mean() > 0.9 if hidden.sum() > 20 else True


def test_a_mask_is_the_mean_colour_and_blank_is_gray() -> None:
    box = [(10, 10, 20, 20)]
    mean = np.round(PHOTO.reshape(-1, 3).mean(axis=0))

    assert (hide(PHOTO, box)[10:20, 10:20] == mean).all()
    assert (hide(PHOTO, box, "blank")[10:20, 10:20] == GRAY).all()


def test_blur_loses_the_detail_and_noise_the_content() -> None:
    box = [(0, 0, WIDTH, HEIGHT)]
    other = 255 - PHOTO

    assert hide(PHOTO, box, "blur").std() < PHOTO.std() / 5
    assert np.array_equal(hide(PHOTO, box, "noise"), hide(other, box, "noise"))


def test_a_feather_fades_outside_of_the_box() -> None:
    """The box is hidden wholly; from its edge the edit loses a quarter a pixel, and the fourth pixel is untouched."""
    white, box = np.full((HEIGHT, WIDTH, 3), 228, np.uint8), [(20, 10, 30, 20)]
    edited = hide(white, box, "blank", feather=3)

    assert edited[15, 30:34, 0].tolist() == [153, 178, 203, 228]
    assert (edited[10:20, 20:30] == GRAY).all()
    assert (edited[:, 34:] == 228).all()


def test_fractions_of_a_pixel_are_hidden_whole() -> None:
    assert np.flatnonzero(cover(PHOTO, [(2.7, 0, 4.1, 1)])[0]).tolist() == [2, 3, 4]


def test_a_crop_holds_what_is_shown_and_masks_the_rest() -> None:
    """Two shown corners of a rectangle: the crop is that rectangle, its other pixels have the mean colour."""
    hidden = [(0, 0, 60, 10), (0, 30, 60, 40), (0, 10, 20, 30), (40, 10, 60, 30), (30, 10, 40, 20), (20, 20, 30, 30)]
    found = crop(PHOTO, hidden)

    assert found.shape == (20, 20, 3)
    assert np.array_equal(found[:10, :10], PHOTO[10:20, 20:30])
    assert np.array_equal(found[10:, 10:], PHOTO[20:30, 30:40])
    assert len(np.unique(found[:10, 10:].reshape(-1, 3), axis=0)) == 1


def test_a_picture_hidden_wholly_is_not_cropped_to_nothing() -> None:
    assert crop(PHOTO, [(0, 0, 60, 40)]).shape == PHOTO.shape


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(SettingError, match="mask, blur"):
        hide(PHOTO, [], "paint")
