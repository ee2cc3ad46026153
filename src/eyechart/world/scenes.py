"""Compose scenes that make the planned answers true.

The object left of another stands in the cell beside it. Props and controls are drawn whatever is asked.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from eyechart.world.cast import (
    ANCHOR,
    COLORED,
    COUNTED,
    FIRST,
    JUDGED,
    SECOND,
    SOUGHT,
    SPARE,
    SPARE_THINGS,
    Cast,
    other,
)
from eyechart.world.cells import boxes_in, draw_cells
from eyechart.world.plan import Flags, Ints, Plan
from eyechart.world.shortcuts import NEITHER, OWN, RULE_TYPES, rule
from eyechart.world.vocabulary import (
    ACTIONS,
    ACTORS,
    BIGGER,
    COLOR,
    COLORS,
    CONTROL_OBJECTS,
    DOING,
    FURNITURE,
    IS,
    LABELS,
    LEFT,
    MANY,
    QUESTION_TYPES,
    SIZES,
    THERE,
    THINGS,
    TOOLS,
    USED,
)

NONE = -1
SMALL, LARGE = range(2)
_TYPES = tuple(QUESTION_TYPES)
_MOST = 4  # of a counted thing
_SPARE_FURNITURE = 3
_SPARE_SHARE = 0.5


@dataclass(frozen=True)
class Roles:
    """All objects that may stand in an image, one column each; `cell` is meaningless where not `present`."""

    label: Ints
    color: Ints
    size: Ints
    action: Ints
    present: Flags
    cell: Ints


def draw_roles(plan: Plan, cast: Cast, rng: np.random.Generator) -> Roles:
    """Give every possible object its label, looks, presence and cell."""
    labels, present = _labels_and_presence(plan, cast, rng)
    color = rng.integers(len(COLORS), size=labels.shape)
    size = rng.integers(len(SIZES), size=labels.shape)
    action = np.full(labels.shape, NONE)
    _make_true(plan, cast, (color, size, action), rng)
    return Roles(labels, color, size, action, present, draw_cells(len(labels), labels.shape[1], rng))


# Columns of Roles, in this order; the first two stand in neighbouring cells.
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


def _labels_and_presence(plan: Plan, cast: Cast, rng: np.random.Generator) -> tuple[Ints, Flags]:
    n = len(plan.split)
    asked = {name: (plan.asked == at).any(axis=1) for at, name in enumerate(_TYPES)}
    answer = {name: plan.answers[:, at] for at, name in enumerate(_TYPES)}
    thing = {part: cast.things[:, part] + LABELS.index(THINGS[0]) for part in range(JUDGED + 1)}
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
        "actors": (cast.actors + LABELS.index(ACTORS[0]), np.stack([asked[DOING], chance[:, 0]], axis=1)),
        "tools": (cast.tools + LABELS.index(next(iter(TOOLS))), np.stack([asked[USED], chance[:, 1]], axis=1)),
        "spare things": (cast.things[:, SPARE] + LABELS.index(THINGS[0]), chance[:, 2 : 2 + SPARE_THINGS]),
        "spare furniture": (furniture + LABELS.index(FURNITURE[0]), chance[:, 2 + SPARE_THINGS :]),
        "props": _props(plan),
        "controls": (
            np.tile(LABELS.index(CONTROL_OBJECTS[0]) + np.arange(len(CONTROL_OBJECTS)), (n, 1)),
            plan.control_objects,
        ),
    }
    labels, flags = zip(*(parts[name] for name in _PARTS), strict=True)
    return np.column_stack(labels), np.column_stack(flags)


def _props(plan: Plan) -> tuple[Ints, Flags]:
    own = np.array([LABELS.index(rule("object", name).objects[0]) for name in RULE_TYPES])
    paired = np.array([LABELS.index(rule("pair", name).objects[0]) for name in RULE_TYPES])
    return np.where(plan.props == OWN, own, paired), plan.props != NEITHER


def _make_true(plan: Plan, cast: Cast, looks: tuple[Ints, Ints, Ints], rng: np.random.Generator) -> None:
    """Overwrite the looks on which planned answers rest."""
    color, size, action = looks
    n = len(color)
    color[:, _STARTS["colored"]] = plan.answers[:, _TYPES.index(COLOR)]
    color[:, _STARTS["tools"] : _STARTS["tools"] + 2] = cast.tool_colors
    action[:, _STARTS["actors"]] = plan.answers[:, _TYPES.index(DOING)]
    action[:, _STARTS["actors"] + 1] = rng.integers(len(ACTIONS), size=n)
    size[:, _STARTS["first"]] = np.where(cast.first_is_bigger, LARGE, SMALL)
    size[:, _STARTS["second"]] = np.where(cast.first_is_bigger, SMALL, LARGE)
    judged, yes = _STARTS["judged"], plan.answers[:, _TYPES.index(IS)] == 0
    of_color = cast.attribute < len(COLORS)
    asked_color = np.where(of_color, cast.attribute, 0)
    right_color = np.where(yes, asked_color, other(asked_color, len(COLORS), rng))
    asked_size = np.where(of_color, 0, cast.attribute - len(COLORS))
    color[:, judged] = np.where(of_color, right_color, color[:, judged])
    size[:, judged] = np.where(of_color, size[:, judged], np.where(yes, asked_size, 1 - asked_size))


def objects_table(roles: Roles, names: pl.Series, rng: np.random.Generator) -> pl.DataFrame:
    """List the objects that are present, image by image in reading order, with their boxes."""
    image, role = np.nonzero(roles.present)
    order = np.lexsort((roles.cell[image, role], image))
    image, role = image[order], role[order]
    cell, size = roles.cell[image, role], roles.size[image, role]
    jitter = rng.random((*roles.cell.shape, 2))[image, role]  # drawn for all, so that an absent object shifts no other
    index = np.arange(len(image)) - np.searchsorted(image, image)
    action = pl.Series(roles.action[image, role]).replace(NONE, None)
    return pl.DataFrame(
        {
            "image": names.gather(image),
            "index": index,
            "label": pl.Series(LABELS).gather(roles.label[image, role]),
            "box": pl.Series(boxes_in(cell, np.array(list(SIZES.values()))[size], jitter)),
            "color": pl.Series(list(COLORS)).gather(roles.color[image, role]),
            "size": pl.Series(list(SIZES)).gather(size),
            "action": pl.Series(ACTIONS).gather(action),
        }
    )
