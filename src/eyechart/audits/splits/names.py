"""The nine shortcuts of the paper, and the names of their parts."""

NINE = ("QT", "KW", "KWP", "QT+KW", "KO", "KOP", "QT+KO", "KW+KO", "QT+KW+KO")
WORDS, OBJECTS = ("KW", "KWP"), ("KO", "KOP")
FAMILIES = {
    "language": ("QT", "KW", "KWP", "QT+KW"),
    "visual": ("KO", "KOP"),
    "multimodal": ("QT+KO", "KW+KO", "QT+KW+KO"),
}
FAMILY = {concept: family for family, concepts in FAMILIES.items() for concept in concepts}
# Longer names of the parts, and those that GQA's own files use.
ALIASES = {
    "question_type": "QT",
    "keyword": "KW",
    "keyword_pair": "KWP",
    "object": "KO",
    "object_pair": "KOP",
    "groups.local": "group_local",
    "groups.global": "group_global",
}
PARTS = ("QT", *WORDS, *OBJECTS)
HEAD, TAIL = "head", "tail"
VAL = "val "  # before the name of a concept or score: the same on the validation split


def parts_of(concept: str) -> tuple[str, ...]:
    """Name the parts that a concept is put together from, in their order."""
    return tuple(ALIASES.get(part, part) for part in concept.split("+"))
