"""Pictures show what the scene says, pixel by pixel."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from eyechart.world import read_world
from eyechart.world.render import (
    BACKGROUND,
    MARK_DARK,
    MARK_LIGHT,
    MARKS,
    OUTLINE,
    SHAPES,
    draw_mark,
    draw_scene,
    silhouette,
)
from eyechart.world.vocabulary import ACTIONS, COLORS, LABELS, SIZES


@pytest.fixture(scope="module")
def rendered(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, dict]:
    """Render a small world: rows of the images table and pixels, by image."""
    data = read_world(tmp_path_factory.mktemp("pictures"), seed=2, images=60, questions=8, render=True)
    rows = {row["image"]: row for row in data.images.table.to_dicts()}
    assert data.images.root is not None
    pixels = {name: np.asarray(Image.open(data.images.root / row["path"])) for name, row in rows.items()}
    return rows, pixels


def count(pixels: np.ndarray, color: tuple[int, int, int]) -> int:
    return int((pixels == color).all(axis=2).sum())


def test_each_object_has_its_colour_in_its_box_and_no_other(rendered: tuple[dict, dict]) -> None:
    rows, pixels = rendered
    for name, row in rows.items():
        for thing, color in zip(row["objects"], row["colors"], strict=True):
            left, top, right, bottom = map(int, thing["box"])
            inside = pixels[name][top:bottom, left:right]
            assert count(inside, COLORS[color]) > 0.1 * inside[:, :, 0].size
            assert not any(count(inside, rgb) for other, rgb in COLORS.items() if other != color)


def test_nothing_is_drawn_outside_the_boxes(rendered: tuple[dict, dict]) -> None:
    rows, pixels = rendered
    for name, row in rows.items():
        assert pixels[name].shape == (row["height"], row["width"], 3)
        outside = pixels[name].copy()
        for thing in row["objects"]:
            left, top, right, bottom = map(int, thing["box"])
            outside[top:bottom, left:right] = BACKGROUND
        assert (outside == BACKGROUND).all()


def test_a_picture_without_a_colour_has_no_such_pixel(rendered: tuple[dict, dict]) -> None:
    rows, pixels = rendered
    absent = [
        count(pixels[name], rgb)
        for name, row in rows.items()
        for color, rgb in COLORS.items()
        if color not in row["colors"]
    ]

    assert len(absent) > 20
    assert not any(absent)


def test_marks_stand_in_the_corner_of_actors_alone(rendered: tuple[dict, dict]) -> None:
    rows, pixels = rendered
    for name, row in rows.items():
        for thing, action in zip(row["objects"], row["actions"], strict=True):
            left, top, right, bottom = map(int, thing["box"])
            if action is not None:
                assert (pixels[name][bottom - 12 : bottom, right - 12 : right] == draw_mark(action)).all()
            else:
                assert not count(pixels[name][top:bottom, left:right], MARK_LIGHT)


def test_two_renders_give_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        read_world(tmp_path / folder, images=5, render=True)
    files = [sorted((tmp_path / folder).iterdir()) for folder in ("one", "two")]

    assert [path.name for path in files[0]] == [f"w0-00000{at}.png" for at in range(5)]
    assert [path.read_bytes() for path in files[0]] == [path.read_bytes() for path in files[1]]


def test_an_empty_scene_is_an_empty_picture() -> None:
    assert (draw_scene(None) == BACKGROUND).all()


def test_every_label_and_action_can_be_drawn_and_told_apart() -> None:
    assert set(SHAPES) == set(LABELS)
    assert set(MARKS) == set(ACTIONS)
    for one, two in combinations(ACTIONS, 2):
        assert (draw_mark(one) != draw_mark(two)).any(axis=2).sum() >= 8
    for side in SIZES.values():
        drawn = {label: np.where(top, 2, body) for label in LABELS for body, top in [silhouette(label, side)]}
        for one, two in combinations(LABELS, 2):
            assert (drawn[one] != drawn[two]).mean() > 0.05, (one, two, side)


def test_colours_of_the_picture_differ_clearly() -> None:
    palette = [*COLORS.values(), BACKGROUND, OUTLINE, MARK_DARK, MARK_LIGHT]
    gaps = [np.abs(np.subtract(one, two)).max() for one, two in combinations(palette, 2)]

    assert min(gaps) >= 18
