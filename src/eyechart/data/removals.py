"""Removals: which modalities are taken from an example, and how, as the conditions under which models are asked."""

from typing import Literal, NamedTuple

import polars as pl

from eyechart.data.probes import source

PERMUTE = "permute"
PROMPTS = ("guess", "as-if")  # no picture; the model is told so, or is not
PAINTED = ("blank", "mean", "noise")  # what a picture is painted over with; an empty text is blank too
TEXTS = ("question", "caption", "history", "candidate")
RemovalKind = Literal["permute", "none", "blank", "mean", "noise", "guess", "as-if"]


class Removal(NamedTuple):
    """A set of modalities and the way in which they are removed."""

    modalities: tuple[str, ...]
    kind: str = PERMUTE

    @property
    def name(self) -> str:
        """Name it: `image`, `image+question`, `image=none`."""
        joint = "+".join(self.modalities)
        return joint if self.kind == PERMUTE else f"{joint}={self.kind}"

    def condition(self, k: int) -> str:
        """Name the condition of draw k; only permutations have several."""
        return f"{self.name}#{k}" if self.kind == PERMUTE else self.name

    def draws(self, wanted: int) -> int:
        """Count the draws: what is not permuted looks the same every time."""
        return wanted if self.kind == PERMUTE else 1

    def keys(self, ids: pl.Series) -> pl.DataFrame:
        """Build the probe keys of examples shown so; a picture to paint over still goes to the model that paints it."""
        nothing = pl.Series([None] * len(ids), dtype=pl.String)
        painted = self.kind in PAINTED
        columns = {source(each): ids if painted and each not in TEXTS else nothing for each in self.modalities}
        text = " ".join(f"{each}={self.kind}" for each in self.modalities)
        return pl.DataFrame({"id": ids, **columns}).with_columns(pl.lit(text).alias("removal"))
