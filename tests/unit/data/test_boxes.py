"""Boxes against a slow literal version in fractions, with touching, nested, degenerate and out-of-frame boxes."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.data.boxes import BoxLists, areas, around, as_column, from_sizes, gather, on_pixels, overlaps, within

EDGE = st.integers(-4, 24).map(lambda quarter: quarter / 2)  # few values, so that boxes touch, nest and coincide
BOX = st.tuples(EDGE, EDGE, EDGE, EDGE)
LISTS = st.lists(st.lists(BOX, max_size=4), min_size=1, max_size=4)


def lists_of(boxes: list[list[tuple[float, ...]]]) -> BoxLists:
    rows = np.repeat(np.arange(len(boxes)), [len(each) for each in boxes]).astype(np.int64)
    return gather(rows, np.array([box for each in boxes for box in each], np.float64).reshape(-1, 4), len(boxes))


def area(box: tuple[float, ...]) -> Fraction:
    wide, high = Fraction(box[2]) - Fraction(box[0]), Fraction(box[3]) - Fraction(box[1])
    return wide * high if wide > 0 and high > 0 else Fraction(0)


def common(a: tuple[float, ...], b: tuple[float, ...]) -> Fraction:
    if not area(a) or not area(b):
        return Fraction(0)
    return area((max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])))


def iou(a: tuple[float, ...], b: tuple[float, ...]) -> Fraction:
    both = area(a) + area(b) - common(a, b)
    return common(a, b) / both if both else Fraction(0)


def share(a: tuple[float, ...], b: tuple[float, ...], of: str) -> Fraction:
    below = area(a) if of == "marked" else area(b)
    return common(a, b) / below if below else Fraction(0)


@settings(deadline=None, max_examples=200)
@given(LISTS, LISTS, st.data(), st.sampled_from(["marked", "seen"]))
def test_overlaps_are_those_of_the_literal_version(marked, seen, data, of) -> None:  # noqa: ANN001 - drawn
    places = [data.draw(st.integers(0, len(seen) - 1)) for _ in marked]
    found = overlaps(lists_of(marked), lists_of(seen), np.array(places), of)
    at = 0
    for row, (boxes, place) in enumerate(zip(marked, places, strict=True)):
        for other in seen[place]:
            best = max((iou(box, other) for box in boxes), default=Fraction(0))
            most = max((share(box, other, of) for box in boxes), default=Fraction(0))
            assert found.rows[at] == row
            assert found.iou[at] == pytest.approx(float(best), abs=1e-15)
            assert found.share[at] == pytest.approx(float(most), abs=1e-15)
            assert (found.iou[at] > 0.5) == (best > Fraction(1, 2))  # the thresholds are exact
            assert (found.share[at] > 0.25) == (most > Fraction(1, 4))
            at += 1
    assert at == len(found.rows)


def test_large_inputs_are_cut_into_blocks_without_a_seam() -> None:
    rng = np.random.default_rng(0)
    corner = rng.random((40_000, 2)) * 50
    boxes = np.concatenate([corner, corner + rng.random((40_000, 2)) * 20], axis=1)
    marked, seen = BoxLists(np.arange(0, 401), boxes[:400]), BoxLists(np.arange(0, 40_001, 100), boxes)
    whole = overlaps(marked, seen, np.arange(400))
    for row in (0, 163, 164, 399):
        alone = overlaps(BoxLists(np.array([0, 1]), boxes[row : row + 1]), seen, np.array([row]))
        assert np.array_equal(whole.iou[whole.rows == row], alone.iou)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.lists(st.tuples(*[st.integers(-3, 14)] * 4), max_size=5), min_size=1, max_size=3))
def test_what_is_around_boxes_is_every_other_pixel_once(kept) -> None:  # noqa: ANN001 - drawn
    """Paint the boxes around, pixel by pixel: none twice, none inside a kept box, none missing."""
    frames = np.tile([0.0, 0.0, 11.0, 9.0], (len(kept), 1))
    cut = lists_of(kept)
    found = around(cut._replace(boxes=within(cut.boxes, frames[cut.rows])), frames)
    for row, boxes in enumerate(kept):
        painted, wanted = np.zeros((9, 11), int), np.ones((9, 11), int)
        for left, top, right, bottom in found.boxes[found.starts[row] : found.starts[row + 1]].astype(int):
            painted[top:bottom, left:right] += 1
        for left, top, right, bottom in boxes:
            if right > left and bottom > top:
                wanted[max(top, 0) : max(bottom, 0), max(left, 0) : max(right, 0)] = 0
        assert np.array_equal(painted, wanted)


def test_columns_keep_empty_lists() -> None:
    lists = lists_of([[(0, 0, 1, 1)], [], [(1, 1, 2, 2), (0, 0, 3, 3)]])

    assert as_column(lists).to_list() == [[[0, 0, 1, 1]], [], [[1, 1, 2, 2], [0, 0, 3, 3]]]


def test_areas_of_boxes_without_one_are_0() -> None:
    boxes = np.array([[0, 0, 2, 3], [2, 0, 2, 3], [3, 0, 2, 3], [3, 3, 2, 2]], np.float64)

    assert areas(boxes).tolist() == [6, 0, 0, 0]


def test_boxes_are_rounded_outwards_and_widened_about_their_middle() -> None:
    boxes = np.array([[1.2, 1.0, 2.1, 9.0], [10.0, 10.0, 40.0, 12.0]])

    assert on_pixels(boxes).tolist() == [[1, 1, 3, 9], [10, 10, 40, 12]]
    assert on_pixels(boxes, least=4).tolist() == [[-1, 1, 4, 9], [10, 9, 40, 13]]
    assert on_pixels(boxes, margin=2).tolist() == [[-1, -1, 5, 11], [8, 8, 42, 14]]


def test_sizes_become_corners() -> None:
    assert from_sizes(np.array([[5.0, 6.0, 10.0, 20.0]])).tolist() == [[5, 6, 15, 26]]
