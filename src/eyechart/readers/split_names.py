"""Tell which split a file holds by its name."""

import re
from pathlib import PurePosixPath

_PATTERNS = (
    r"_([a-z]+(?:-[a-z]+)*)20\d\d_",  # v2_mscoco_test-dev2015_questions
    r"^(.+)-(?:ques|ans)$",  # OOD-Test-QT-Ques
    r"(?<![a-z])(train|training|val|valid|validation|test|testdev|trainval|minival|nominival)(?![a-z])",
)
_SHORT = {"training": "train", "valid": "val", "validation": "val"}


def split_name(name: str) -> str | None:
    """Take the split from a file's name: Val-Ques.json and v2_mscoco_val2014_annotations.json are val."""
    plain = PurePosixPath(PurePosixPath(name).name.lower().removesuffix(".gz")).stem
    matches = (re.search(pattern, plain) for pattern in _PATTERNS)
    found = next((match[1] for match in matches if match), None)
    return None if found is None else shorten_split(found)


def shorten_split(name: str) -> str:
    """Give a split the one of its names that we use: training is train."""
    return _SHORT.get(name, name)
