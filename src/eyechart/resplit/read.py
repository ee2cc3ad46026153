"""Read a dataset with a new split: a format like any other, so that the command line knows it."""

from dataclasses import replace
from pathlib import Path

import polars as pl

from eyechart.dataset import Dataset
from eyechart.readers import read
from eyechart.readers.description import described
from eyechart.registry import unknown_name
from eyechart.resplit.recipes import RECIPES, Choice

BEFORE = "split_before"


@described(
    needs="a dataset made by `eyechart read`, or a table; recipes: changing-priors, first-words, head-share, random",
    sample="eyechart read resplit DATA --set recipe=changing-priors --set seed=1 -o NEW\n"
    "eyechart read resplit DATA --set recipe=head-share --set concept=KW --set share=0.3 -o NEW",
)
def read_resplit(
    path: Path,
    *,
    recipe: str = "changing-priors",
    seed: int = 0,
    unit: str = "question",
    share: float | None = None,
    concept: str = "QT",
    size: int | None = None,
) -> Dataset:
    """Read a dataset and give its examples a new split; those without a reference answer are left out.

    `share` is that of the OOD test split (changing-priors, first-words) or of head examples in train (head-share),
    `size` the number of train examples of head-share, of `concept`; `unit` is what random divides: question or image.
    """
    return make_resplit(read(path), recipe, Choice(seed, unit, share, concept, size))


def make_resplit(data: Dataset, recipe: str, choice: Choice) -> Dataset:
    """Give the examples of a dataset the split of a recipe, and record recipe, settings and seed in its counts."""
    if recipe not in RECIPES:
        raise unknown_name("recipe", recipe, tuple(RECIPES))
    ordered = replace(data, examples=data.examples.sort("id")).take(pl.col("answer").is_not_null())
    found = RECIPES[recipe](ordered, choice)
    old = pl.col("split") if "split" in ordered.examples.columns else pl.lit(None, pl.String)
    examples = ordered.examples.with_columns(old.alias(BEFORE)).with_columns(found.split.alias("split"))
    kept = examples.filter(pl.col("split").is_not_null())
    said = f"{recipe}, seed {choice.seed}, {found.note}"
    rows = [
        (None, "resplit", said, kept.height),
        (None, "dropped by resplit", "no reference answer", data.examples.height - examples.height),
        (None, "dropped by resplit", "not drawn", examples.height - kept.height),
    ]
    counts = pl.DataFrame(rows, schema=data.counts.schema, orient="row").filter(pl.col("n") > 0)
    return replace(data, name=f"{data.name}, {recipe}", examples=kept, counts=pl.concat([data.counts, counts]))
