"""What decoys are drawn by, and what comes out."""

from typing import NamedTuple

import polars as pl

from eyechart.dataset import Dataset
from eyechart.engines.local import Local
from eyechart.protocols import Engine

QOU, IOU, RANDOM = "qou", "iou", "random"
SOURCES = (QOU, IOU, RANDOM)
NEAREST, NEUTRAL = "nearest", "neutral"
DRAWINGS = (NEAREST, NEUTRAL)
CLEAN, RELEASE = "clean", "release"
COMPATS = (CLEAN, RELEASE)


class Recipe(NamedTuple):
    """How decoys are found, filtered and drawn; every field is recorded with what it made.

    Up to `k` decoys a source. `drawing`: the nearest (the paper), or among the `near` nearest so that each answer is
    used as a decoy as much as it is a target; `leave_out`: examples that make this impossible for the decoys of
    similar questions get none. `compat`: words, or the authors' released code with its quirks. `threshold`: the
    Wu-Palmer similarity up to which a decoy is accepted. `similarity`: vectors of questions, learned from the "corpus",
    "sentence:MODEL", or a word2vec or GloVe file. `guards`: the filters beyond the paper.
    """

    k: int = 3
    drawing: str = NEAREST
    compat: str = CLEAN
    threshold: float = 0.9
    seed: int = 0
    similarity: str = "corpus"
    guards: bool = True
    near: int = 50
    leave_out: bool = False


class Drawn(NamedTuple):
    """The decoys, how many candidates each filter took, and lines for the reader."""

    decoys: pl.DataFrame  # id, source, place, decoy, donor (null for a filler), filler; sorted by id, source, place
    counts: pl.DataFrame  # source, filter, n; also how many were drawn, fill up, are missing, or were left out
    notes: tuple[str, ...]


def draw_decoys(data: Dataset, asked: pl.DataFrame, recipe: Recipe, engine: Engine | None = None) -> Drawn:
    """Draw decoys for the asked examples (their `id` and `part`) from the answers of all answered examples."""
    # Numba is loaded with the kernels, so only where something is drawn.
    from eyechart.audits.decoys.drawing.draw import draw

    return draw(data, asked, recipe, engine or Local())
