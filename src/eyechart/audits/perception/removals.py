"""Which modalities are removed together, and how: the conditions of the audit."""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import polars as pl

from eyechart.dataset import Dataset
from eyechart.errors import DataError, SettingError
from eyechart.probes import source

PERMUTE = "permute"
PROMPTS = ("guess", "as-if")  # no picture; the model is told so, or is not
PAINTED = ("blank", "mean", "noise")  # what a picture is painted over with; an empty text is blank too
KINDS = (PERMUTE, "none", *PAINTED, *PROMPTS)
FOR_PICTURES = ("mean", "noise", *PROMPTS)
TEXTS = ("question", "caption", "history", "candidate")
OPTIONS = "choices"


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
        """Say what is shown instead; a picture that is to be painted over is still handed to the model that does it."""
        nothing = pl.Series([None] * len(ids), dtype=pl.String)
        painted = self.kind in PAINTED
        columns = {source(each): ids if painted and each not in TEXTS else nothing for each in self.modalities}
        text = " ".join(f"{each}={self.kind}" for each in self.modalities)
        return pl.DataFrame({"id": ids, **columns}).with_columns(pl.lit(text).alias("removal"))


def check_kinds(kinds: Sequence[str]) -> None:
    """Refuse ways of removal nobody knows."""
    for kind in kinds:
        if kind not in KINDS:
            raise SettingError(f"removal by {', '.join(KINDS)}", repr(kind), "choose one or several of these")
    if not kinds:
        raise SettingError(f"removal by {', '.join(KINDS)}", "none", "permute is the paper's")


def list_removals(data: Dataset, sets: Sequence[str], kinds: Sequence[str], *, pairs: bool) -> tuple[Removal, ...]:
    """List what is removed: each named set, and each pair of single modalities where that is asked for."""
    named = [_parse(data, name) for name in sets]
    single = [each for each in named if len(each) == 1]
    if pairs:
        named += [(*one, *other) for one, other in combinations(single, 2) if (*one, *other) not in named]
    return tuple(Removal(each, kind) for kind in kinds for each in named if _fits(each, kind, named))


def _parse(data: Dataset, name: str) -> tuple[str, ...]:
    parts = tuple(name.split("+"))
    if OPTIONS in parts:
        advice = "use the audit `decoys`, whose business the options are"
        raise SettingError(
            "a modality that can be taken from another example", "choices, which hold the target", advice
        )
    for part in parts:
        if part not in data.modalities:
            found = f"{part!r} where {data.name} has {', '.join(data.modalities)}"
            raise DataError(
                "modalities of the data", found, "name those, or add the column to the dataset's modalities"
            )
    return parts


def _fits(modalities: tuple[str, ...], kind: str, named: Sequence[tuple[str, ...]]) -> bool:
    """Leave text out of blind prompts and of painting, unless nothing else was asked for."""
    if kind not in FOR_PICTURES or not set(modalities) & set(TEXTS):
        return True
    if all(set(each) & set(TEXTS) for each in named):
        advice = "remove it by permute, none or blank"
        raise SettingError(f"a picture to remove by {kind!r}", f"the text {'+'.join(modalities)}", advice)
    return False
