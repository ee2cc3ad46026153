"""Compose scenes that make the planned answers true.

Each object has its own cell, with its box inside the cell and a margin, so boxes never overlap or touch. The object to
the left of another is in the neighbouring cell. Cue objects and controls are drawn whatever the questions are.
"""

import numpy as np
import polars as pl

from eyechart.world.plan import (
    ANCHOR,
    COLORED,
    COUNTED,
    FIRST,
    JUDGED,
    SECOND,
    SOUGHT,
    SPARE,
    SPARE_THINGS,
    TYPES,
    Flags,
    Ints,
    WorldPlan,
    other,
)
from eyechart.world.shortcuts import NEITHER, OWN, RULE_TYPES, Floats, rule
from eyechart.world.vocabulary import (
    ACTIONS,
    ACTORS,
    BIGGER,
    CELL,
    COLOR,
    COLORS,
    COLUMNS,
    CONTROL_OBJECTS,
    DOING,
    FURNITURE,
    IS,
    LABELS,
    LEFT,
    MANY,
    ROWS,
    SIZES,
    THERE,
    THINGS,
    TOOLS,
    USED,
)

NONE = -1
MARGIN = 2  # between the box of an object and its cell
SMALL, LARGE = range(2)
_MOST = 4  # of a counted thing
_SPARE_FURNITURE = 3
_SPARE_SHARE = 0.5


# Columns, in this order; the first two are in neighbouring cells.
_PARTS = {
    "neighbour": 1,
    "anchor": 1,
    "colored": 1,
    "counted": _MOST,
    "sought": 1,
    "first": 1,
    "second": 1,
    "judged": 1,
    "actors": 2,
    "tools": 2,
    "spare things": SPARE_THINGS,
    "spare furniture": _SPARE_FURNITURE,
    "props": len(RULE_TYPES),
    "controls": len(CONTROL_OBJECTS),
}
_STARTS = dict(zip(_PARTS, np.cumsum([0, *_PARTS.values()])[:-1].tolist(), strict=True))


def draw_scenes(plan: WorldPlan, names: pl.Series, rng: np.random.Generator) -> pl.DataFrame:
    """Draw the objects of every image, and list those present in reading order, with their boxes.

    The arrays have a column for every object that an image may contain.
    """
    labels, present = _labels_and_presence(plan, rng)
    colors = rng.integers(len(COLORS), size=labels.shape)
    sizes = rng.integers(len(SIZES), size=labels.shape)
    actions = np.full(labels.shape, NONE)
    _make_true(plan, colors, sizes, actions, rng)
    cells = draw_cells(len(labels), labels.shape[1], rng)
    jitter = rng.random((*cells.shape, 2))  # drawn for all, so that absent objects do not shift others
    image, column = np.nonzero(present)
    order = np.lexsort((cells[image, column], image))
    index = image[order], column[order]
    sides = np.array(list(SIZES.values()))[sizes[index]]
    return pl.DataFrame(
        {
            "image": names.gather(index[0]),
            "index": np.arange(len(index[0])) - np.searchsorted(index[0], index[0]),
            "label": pl.Series(LABELS).gather(labels[index]),
            "box": pl.Series(boxes_in(cells[index], sides, jitter[index])),
            "color": pl.Series(list(COLORS)).gather(colors[index]),
            "size": pl.Series(list(SIZES)).gather(sizes[index]),
            "action": pl.Series(ACTIONS).gather(pl.Series(actions[index]).replace(NONE, None)),
        }
    )


def _labels_and_presence(plan: WorldPlan, rng: np.random.Generator) -> tuple[Ints, Flags]:
    n = len(plan.split)
    asked = {name: (plan.asked == column).any(axis=1) for column, name in enumerate(TYPES)}
    answer = {name: plan.answers[:, column] for column, name in enumerate(TYPES)}
    thing = {part: plan.things[:, part] + LABELS.index(THINGS[0]) for part in range(JUDGED + 1)}
    chance = rng.random((n, 2 + SPARE_THINGS + _SPARE_FURNITURE)) < _SPARE_SHARE
    furniture = rng.integers(len(FURNITURE), size=(n, _SPARE_FURNITURE))
    counts = answer[MANY][:, None] >= np.arange(_MOST)  # the first answer is "1"
    parts: dict[str, tuple[Ints, Flags]] = {
        "neighbour": (answer[LEFT] + LABELS.index(FURNITURE[0]), asked[LEFT]),
        "anchor": (thing[ANCHOR], asked[LEFT]),
        "colored": (thing[COLORED], asked[COLOR]),
        "counted": (np.repeat(thing[COUNTED][:, None], _MOST, axis=1), counts & asked[MANY][:, None]),
        "sought": (thing[SOUGHT], asked[THERE] & (answer[THERE] == 0)),
        "first": (thing[FIRST], asked[BIGGER]),
        "second": (thing[SECOND], asked[BIGGER]),
        "judged": (thing[JUDGED], asked[IS]),
        "actors": (plan.actors + LABELS.index(ACTORS[0]), np.stack([asked[DOING], chance[:, 0]], axis=1)),
        "tools": (plan.tools + LABELS.index(next(iter(TOOLS))), np.stack([asked[USED], chance[:, 1]], axis=1)),
        "spare things": (plan.things[:, SPARE] + LABELS.index(THINGS[0]), chance[:, 2 : 2 + SPARE_THINGS]),
        "spare furniture": (furniture + LABELS.index(FURNITURE[0]), chance[:, 2 + SPARE_THINGS :]),
        "props": _props(plan),
        "controls": (
            np.tile(LABELS.index(CONTROL_OBJECTS[0]) + np.arange(len(CONTROL_OBJECTS)), (n, 1)),
            plan.control_objects,
        ),
    }
    labels, flags = zip(*(parts[name] for name in _PARTS), strict=True)
    return np.column_stack(labels), np.column_stack(flags)


def _props(plan: WorldPlan) -> tuple[Ints, Flags]:
    own = np.array([LABELS.index(rule("object", name).objects[0]) for name in RULE_TYPES])
    paired = np.array([LABELS.index(rule("pair", name).objects[0]) for name in RULE_TYPES])
    return np.where(plan.props == OWN, own, paired), plan.props != NEITHER


def _make_true(plan: WorldPlan, color: Ints, size: Ints, action: Ints, rng: np.random.Generator) -> None:
    """Overwrite the colours, sizes and actions that determine planned answers."""
    n = len(color)
    color[:, _STARTS["colored"]] = plan.answers[:, TYPES.index(COLOR)]
    color[:, _STARTS["tools"] : _STARTS["tools"] + 2] = plan.tool_colors
    action[:, _STARTS["actors"]] = plan.answers[:, TYPES.index(DOING)]
    action[:, _STARTS["actors"] + 1] = rng.integers(len(ACTIONS), size=n)
    size[:, _STARTS["first"]] = np.where(plan.first_is_bigger, LARGE, SMALL)
    size[:, _STARTS["second"]] = np.where(plan.first_is_bigger, SMALL, LARGE)
    judged, yes = _STARTS["judged"], plan.answers[:, TYPES.index(IS)] == 0
    of_color = plan.attribute < len(COLORS)
    asked_color = np.where(of_color, plan.attribute, 0)
    right_color = np.where(yes, asked_color, other(asked_color, len(COLORS), rng))
    asked_size = np.where(of_color, 0, plan.attribute - len(COLORS))
    color[:, judged] = np.where(of_color, right_color, color[:, judged])
    size[:, judged] = np.where(of_color, size[:, judged], np.where(yes, asked_size, 1 - asked_size))


def draw_cells(n: int, roles: int, rng: np.random.Generator) -> Ints:
    """Put the first two roles into a random pair of neighbouring cells, and the others into remaining ones."""
    cells = COLUMNS * ROWS
    left = 2 * rng.integers(cells // 2, size=n)
    keys = rng.random((n, cells))
    np.put_along_axis(keys, np.stack([left, left + 1], axis=1), 2.0, axis=1)  # last in the order
    free = np.argsort(keys, axis=1)[:, : roles - 2]
    return np.column_stack([left, left + 1, free])


def boxes_in(cell: Ints, side: Ints, chances: Floats) -> Floats:
    """Place squares at random in their cells, on whole pixels, by two uniform numbers each."""
    corner = np.column_stack([cell % COLUMNS, cell // COLUMNS]) * CELL
    room = (CELL - 2 * MARGIN - side + 1)[:, None]
    corner = corner + MARGIN + np.floor(chances * room)
    return np.column_stack([corner, corner + side[:, None]]).astype(np.float64)
