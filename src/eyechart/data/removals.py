"""Define removals: which modalities are taken from an example and how, as conditions under which models are asked."""

from typing import Literal, NamedTuple

import polars as pl

from eyechart.data.probes import source

PERMUTE = "permute"
PROMPTS = ("guess", "as-if")  # no picture; the model is told so, or not
PAINTED = ("blank", "mean", "noise")  # replacements for a picture; an empty text is blank, too
TEXTS = ("question", "caption", "history", "candidate")
RemovalKind = Literal["permute", "none", "blank", "mean", "noise", "guess", "as-if"]


class Removal(NamedTuple):
    """A set of modalities, and how they are removed."""

    modalities: tuple[str, ...]
    kind: str = PERMUTE

    @property
    def name(self) -> str:
        """Return the name: `image`, `image+question`, `image=none`."""
        joint = "+".join(self.modalities)
        return joint if self.kind == PERMUTE else f"{joint}={self.kind}"

    def condition(self, k: int) -> str:
        """Return the condition of draw k; only permutations have several draws."""
        return f"{self.name}#{k}" if self.kind == PERMUTE else self.name

    def draws(self, wanted: int) -> int:
        """Count the draws: without permutation every draw is the same."""
        return wanted if self.kind == PERMUTE else 1

    def keys(self, ids: pl.Series) -> pl.DataFrame:
        """Build the probe keys of examples with the removal; a picture to paint over still needs its path."""
        nothing = pl.Series([None] * len(ids), dtype=pl.String)
        painted = self.kind in PAINTED
        columns = {source(each): ids if painted and each not in TEXTS else nothing for each in self.modalities}
        text = " ".join(f"{each}={self.kind}" for each in self.modalities)
        return pl.DataFrame({"id": ids, **columns}).with_columns(pl.lit(text).alias("removal"))
