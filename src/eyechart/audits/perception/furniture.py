"""What the audit brings along: how its conditions look, and the short option for a setting."""

from collections.abc import Iterator, Mapping

from eyechart.audits.perception.removals import PERMUTE
from eyechart.furniture import Furniture, Look, Option

INSTEAD = {  # what stands in the place of the modality, by the way in which it is removed
    "image": {
        PERMUTE: "another picture",
        "none": "no picture",
        "blank": "a gray picture",
        "mean": "the mean color of the picture",
        "noise": "noise for a picture",
        "guess": "no picture, asked to guess",
        "as-if": "no picture, not told so",
    },
    "question": {PERMUTE: "another question", "none": "no question", "blank": "an empty question"},
    "caption": {PERMUTE: "another caption", "none": "no caption", "blank": "an empty caption"},
    "history": {PERMUTE: "another history", "none": "no history", "blank": "an empty history"},
    "candidate": {PERMUTE: "another candidate", "none": "no candidate", "blank": "an empty candidate"},
    "audio": {PERMUTE: "another sound", "none": "no sound"},
    "video": {PERMUTE: "another video", "none": "no video"},
}
BOTH = {
    PERMUTE: "another picture and question",
    "none": "no picture, no question",
    "blank": "a gray picture, an empty question",
}
COLORS = {"image": "image", "question": "question"}  # of other modalities there is none of their own


def _looks() -> Iterator[Look]:
    for modality, said in INSTEAD.items():
        yield from _each(modality, said, COLORS.get(modality, "other"))
    yield from _each(r"(image\+question|question\+image)", BOTH, "both")
    yield Look(r"emap(#\d+)?", "the first modality of another example", "other")


def _each(modalities: str, said: Mapping[str, str], color: str) -> Iterator[Look]:
    """Match every draw of a permutation, all draws together, and what has no draws."""
    for kind, name in said.items():
        yield Look(modalities + (r"(#\d+)?" if kind == PERMUTE else f"={kind}"), name, color)


PRECISION = Option(
    "--precision",
    "precision",
    "Keep drawing until every interval of perception is at most this wide, in points.",
    metavar="POINTS",
)
FURNITURE = Furniture(looks=tuple(_looks()), options=(PRECISION,))
