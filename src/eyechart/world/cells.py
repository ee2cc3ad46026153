"""Place objects: each in a cell of its own, its box inside the cell with a margin, so boxes never overlap or touch."""

import numpy as np

from eyechart.world.plan import Ints
from eyechart.world.shortcuts import Floats

CELL = 64
COLUMNS, ROWS = 6, 5
MARGIN = 2
WIDTH, HEIGHT = COLUMNS * CELL, ROWS * CELL


def draw_cells(n: int, roles: int, rng: np.random.Generator) -> Ints:
    """Put the first two roles into a random pair of neighbouring cells and the others into the rest."""
    cells = COLUMNS * ROWS
    left = 2 * rng.integers(cells // 2, size=n)
    keys = rng.random((n, cells))
    np.put_along_axis(keys, np.stack([left, left + 1], axis=1), 2.0, axis=1)  # last in the order
    free = np.argsort(keys, axis=1)[:, : roles - 2]
    return np.column_stack([left, left + 1, free])


def boxes_in(cell: Ints, side: Ints, chances: Floats) -> Floats:
    """Jitter squares inside their cells, on whole pixels, by two uniform numbers each."""
    corner = np.column_stack([cell % COLUMNS, cell // COLUMNS]) * CELL
    room = (CELL - 2 * MARGIN - side + 1)[:, None]
    corner = corner + MARGIN + np.floor(chances * room)
    return np.column_stack([corner, corner + side[:, None]]).astype(np.float64)
