"""The words of the planted world: labels, colours, sizes, actions, uses, fillers and question types; and its grid.

The lists of labels are disjoint: an object that is asked about is never a cue object.
"""

from typing import NamedTuple

RGB = tuple[int, int, int]

COLORS: dict[str, RGB] = {
    "white": (255, 255, 255),
    "black": (34, 34, 38),
    "blue": (48, 104, 208),
    "green": (64, 158, 78),
    "gray": (150, 154, 160),
    "brown": (132, 86, 50),
    "orange": (242, 140, 36),
    "pink": (246, 152, 188),
    "yellow": (252, 212, 52),
    "red": (214, 44, 46),
    "purple": (130, 68, 172),
}
SIZES = {"small": 30, "large": 54}  # the side of the box in pixels
CELL = 64  # the side of a cell of the grid in pixels, which holds at most one object
COLUMNS, ROWS = 6, 5
WIDTH, HEIGHT = COLUMNS * CELL, ROWS * CELL

THINGS = (
    *("apple", "banana", "ball", "book", "bottle", "boat", "car", "cup", "drum", "fish"),
    *("flower", "hat", "heart", "house", "key", "leaf", "shirt", "shoe", "star", "tree"),
)
FURNITURE = ("chair", "table", "bench", "mirror", "bed", "shelf", "pot", "lamp", "basket", "vase")
ACTORS = ("cat", "dog", "bird", "rabbit", "bear", "robot")
ACTIONS = ("running", "jumping", "eating", "swimming", "playing", "sleeping", "reading", "dancing")
TOOLS = {
    "hammer": "building",
    "pen": "writing",
    "broom": "sweeping",
    "can": "watering",
    "ladder": "climbing",
    "scissors": "cutting",
    "shovel": "digging",
    "brush": "painting",
}
CUE_OBJECTS = ("umbrella", "clock", "kite", "balloon", "candle", "flag", "bell", "anchor")
CONTROL_OBJECTS = ("crown", "moon", "cloud")
LABELS = (*THINGS, *FURNITURE, *ACTORS, *TOOLS, *CUE_OBJECTS, *CONTROL_OBJECTS)
PLURALS = {label: f"{label}s" for label in THINGS} | {"leaf": "leaves", "fish": "fish"}

CONTROL_WORDS = ("here", "today", "please")
FILLERS = ("exactly", "again", "directly", "now", "usually", "mostly", *CONTROL_WORDS)

UNKNOWN = "unknown"
YES_NO = ("yes", "no")
SYNONYMS = {
    "gray": "grey",
    "purple": "violet",
    "pink": "rose",
    "brown": "tan",
    "1": "one",
    "2": "two",
    "3": "three",
    "4": "four",
    "bench": "seat",
    "pot": "pan",
    "shelf": "rack",
    "bed": "couch",
    "running": "jogging",
    "jumping": "hopping",
    "eating": "chewing",
    "swimming": "floating",
    "sleeping": "napping",
    "building": "hammering",
    "writing": "drawing",
    "sweeping": "cleaning",
    "digging": "gardening",
    "cup": "mug",
    "boat": "ship",
    "bottle": "flask",
    "ball": "sphere",
}
UNSURE = ("not sure", "maybe")


class QuestionType(NamedTuple):
    """The wording and answers of a type; `answers` begins with the answer that is most likely without a cue."""

    template: str
    answer_type: str
    answers: tuple[str, ...]
    foils: tuple[str, ...] = ()  # options that are never a target


QUESTION_TYPES = {
    "what color is the": QuestionType("what color is the {first}", "other", tuple(COLORS)),
    "what is left of the": QuestionType(
        "what is left of the {first}",
        "other",
        FURNITURE,
        ("window", "door", "wall", "curtain", "carpet", "ceiling", "stairs", "pillow"),
    ),
    "what is the": QuestionType(
        "what is the {first} doing",
        "other",
        ACTIONS,
        ("flying", "falling", "crying", "smoking", "fishing", "skiing", "driving", "cooking"),
    ),
    "what do you use the": QuestionType("what do you use the {first} tool for", "other", tuple(TOOLS.values())),
    "how many": QuestionType("how many {first} are there", "number", ("1", "2", "3", "4")),
    "is there a": QuestionType("is there {first}", "yes/no", YES_NO),
    "which is bigger": QuestionType("which is bigger, the {first} or the {second}", "other", THINGS),
    "is the": QuestionType("is the {first} {second}", "yes/no", YES_NO),
}
COLOR, LEFT, DOING, USED, MANY, THERE, BIGGER, IS = QUESTION_TYPES


def with_article(label: str) -> str:
    """Put "a" or "an" before a label."""
    return f"{'an' if label[0] in 'aeiou' else 'a'} {label}"
