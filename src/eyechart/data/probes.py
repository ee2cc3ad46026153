"""Probes: keys and a hash of what a model will be shown, with the content filled in just before asking.

A probe names, for each modality, the example it is taken from (`image_from`, `question_from`, ...): its own, a
donor's, or null if the modality is left out. It never holds the reference answer. A removal says which modalities are
taken from an example and how, as a condition under which models are asked.
"""

from typing import Literal, NamedTuple

import numpy as np
import polars as pl

from eyechart.base.hashing import Hashes, combine, hash_text
from eyechart.data.dataset import Dataset
from eyechart.data.images import PICTURES, Images, shown_names
from eyechart.data.several import IMAGE_LIST, PLACES, Choice, choose_pictures, has_lists
from eyechart.data.tables import PROBES, check

PERMUTE = "permute"
PROMPTS = ("guess", "as-if")  # no picture; the model is told so, or not
PAINTED = ("blank", "mean", "noise")  # replacements for a picture; an empty text is blank, too
TEXTS = ("question", "caption", "history", "candidate")
RemovalKind = Literal["permute", "none", "blank", "mean", "noise", "guess", "as-if", Choice]


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


PLAIN_CONDITION = "plain"
EDITS = ("removal", "choices", "visible", "hidden", PICTURES, PLACES["hidden"])


class Prober:
    """Build probes of one dataset from keys, hashing the content of each modality only once."""

    def __init__(self, data: Dataset) -> None:
        self.data = data
        self._contents: dict[str, pl.DataFrame] = {}

    def plain(self, ids: pl.Series) -> pl.DataFrame:
        """Build probes that show examples unchanged."""
        return self.complete(pl.DataFrame({"id": ids}), PLAIN_CONDITION)

    def choose(self, ids: pl.Series, choice: str, seed: int) -> pl.DataFrame:
        """Build keys of examples with several pictures that show some of them, or another order."""
        counts = pl.DataFrame({"id": self.data.scan().collect()["id"], "content": self.data.count_pictures()})
        chosen = choose_pictures(ids, _join(ids, counts), choice, seed)
        return pl.DataFrame({"id": ids, PICTURES: chosen})

    def complete(self, keys: pl.DataFrame, condition: str) -> pl.DataFrame:
        """Complete keys: take each modality from the example itself unless they name another, and add the hash."""
        own = [pl.col("id").alias(source(name)) for name in self.data.modalities if source(name) not in keys.columns]
        probes = keys.with_columns(*own, pl.lit(condition).alias("condition"))
        return check(probes.with_columns(pl.Series("probe", self._hash(probes)).cast(pl.String)), PROBES)

    def _hash(self, probes: pl.DataFrame) -> Hashes:
        shown = [self._hash_shown(probes[source(name)], name) for name in self.data.modalities]
        if _has_several(self.data):
            shown.append(self._hash_shown(probes[source("image")], IMAGE_LIST))
        if "choices" not in probes.columns and "choices" in self.data.columns:
            shown.append(self._hash_shown(probes["id"], "choices"))
        # Each edit has its own seed, so none can be confused with another.
        edits = [
            hash_text(_as_text(probes[name]), seed) for seed, name in enumerate(EDITS, 1) if name in probes.columns
        ]
        return combine(*shown, *edits)

    def _hash_shown(self, ids: pl.Series, column: str) -> Hashes:
        shown = _join(ids, self._content(column))
        return shown.fill_null(0).to_numpy().astype(np.uint64)

    def _content(self, column: str) -> pl.DataFrame:
        if column not in self._contents:
            given = "image" if column == IMAGE_LIST and not has_lists(self.data.columns) else column
            shown = self.data.scan(given).collect()
            texts = _as_text(self._name_pictures(shown[given], column))
            self._contents[column] = pl.DataFrame({"id": shown["id"], "content": hash_text(texts)})
        return self._contents[column]

    def _name_pictures(self, shown: pl.Series, column: str) -> pl.Series:
        """Replace an image with several pictures by its first one and, in a column of their own, by all of them."""
        images = self.data.images
        if column == "image" and images.has_several:
            return images.list_pictures(shown).list.first()
        return images.list_several(shown) if column == IMAGE_LIST and shown.dtype == pl.String else shown


def source(modality: str) -> str:
    """Return the probe column with the example a modality is taken from."""
    return f"{modality}_from"


class Filler:
    """Replace keys by content, looking up row numbers once for all probes."""

    def __init__(self, probes: pl.DataFrame, data: Dataset) -> None:
        self._shown = probes.select("id", "condition", "probe", *(name for name in EDITS if name in probes.columns))
        self._examples = data.examples
        self._images = data.images if _has_several(data) else None
        sources = {name: source(name) for name in data.modalities}
        if "image" in sources and has_lists(data.columns):
            sources[IMAGE_LIST] = source("image")
        if "choices" not in self._shown.columns and "choices" in data.columns:
            sources["choices"] = "id"
        numbered = self._examples.select("id", pl.int_range(pl.len(), dtype=pl.UInt32).alias("content"))
        indices = {column: _join(probes[column], numbered) for column in set(sources.values())}
        self._places = {name: indices[column] for name, column in sources.items()}

    def fill(self, start: int = 0, n: int | None = None) -> pl.DataFrame:
        """Return n probes from a row on (default: all), with their content."""
        filled = self._shown.slice(start, n).with_columns(
            self._examples[name].gather(indices.slice(start, n)).alias(name) for name, indices in self._places.items()
        )
        return filled if self._images is None else _with_names(filled, self._images)


def fill(probes: pl.DataFrame, data: Dataset) -> pl.DataFrame:
    """Replace keys by the content shown to a model."""
    return Filler(probes, data).fill()


def _has_several(data: Dataset) -> bool:
    return "image" in data.modalities and (data.images.has_several or has_lists(data.columns))


def _with_names(filled: pl.DataFrame, images: Images) -> pl.DataFrame:
    """List the names of the pictures to show, where the image has several."""
    if not images.has_several:
        return filled
    listed = images.list_several(filled["image"].cast(pl.String)).is_not_null()
    own = pl.col(IMAGE_LIST) if IMAGE_LIST in filled.columns else pl.lit(None, pl.List(pl.String))
    return filled.with_columns(pl.when(listed).then(shown_names(filled, images)).otherwise(own).alias(IMAGE_LIST))


def _join(ids: pl.Series, contents: pl.DataFrame) -> pl.Series:
    rows = ids.to_frame("id")
    return rows.join(contents, on="id", how="left", validate="m:1", maintain_order="left")["content"]


def _as_text(column: pl.Series) -> pl.Series:
    """Convert any column to text, nested ones to JSON."""
    if not column.dtype.is_nested():
        return column.cast(pl.String)
    encoded = pl.when(pl.col("it").is_not_null()).then(pl.struct("it").struct.json_encode())
    return column.to_frame("it").select(encoded).to_series()
