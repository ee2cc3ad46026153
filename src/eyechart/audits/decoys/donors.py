"""Donors: another example that gives all that is shown beside the options, and to which none of them is an answer.

A donor is a judged example of another cluster that has what is shown, and none of whose accepted answers has the normal
form of an option that it is shown with. So nobody finds the target there by looking: who still does, knows it from the
options. One donor gives the image and the question together, so that they belong to each other. It is drawn evenly by
a hash of (seed, id), whatever the order of the rows.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple, Self

import numpy as np
import polars as pl

from eyechart.audits.decoys.options import normal_forms
from eyechart.audits.decoys.settings import DONOR
from eyechart.audits.decoys.texts import Int64s, code_texts, starts_of
from eyechart.base.hashing import combine, hash_text, uniform
from eyechart.language.answers import human_answers


class DonorPool(NamedTuple):
    """The examples that may be donors, sorted by cluster and id, and what each of them accepts."""

    ids: pl.Series
    begins: dict[str, int]  # where the examples of each cluster begin, and where they end
    ends: dict[str, int]
    accepting: dict[str, Int64s]  # accepted normal form -> the examples that accept it

    @classmethod
    def of(cls, examples: pl.DataFrame) -> Self:
        """Sort examples (id, cluster, answer and perhaps answers) into a pool."""
        pool = examples.filter(pl.col("answer").is_not_null()).sort("cluster", "id")
        lists = pl.concat_list(human_answers(pool), pl.col("answer"))
        accepted = pool.select(pl.int_range(pl.len()).alias("row"), lists.alias("text"))
        long = accepted.explode("text", empty_as_null=False, keep_nulls=False)
        forms = long.select("row", normal_forms(long["text"]).alias("text")).unique().sort("row")
        accepting = forms.group_by("text", maintain_order=True).agg("row")
        spans = pool.group_by("cluster", maintain_order=True).len()
        bounds = starts_of(spans["len"].to_numpy()).tolist()
        return cls(
            pool["id"],
            dict(zip(spans["cluster"], bounds, strict=False)),
            dict(zip(spans["cluster"], bounds[1:], strict=True)),
            dict(zip(accepting["text"], (rows.to_numpy() for rows in accepting["row"]), strict=True)),
        )

    def refuse(self, cluster: str, options: frozenset[str]) -> Int64s:
        """List, in order, the examples that cannot be the donor of one with this cluster and these options."""
        own = np.arange(self.begins.get(cluster, 0), self.ends.get(cluster, 0))
        answered = [self.accepting[option] for option in options if option in self.accepting]
        return np.unique(np.concatenate([own, *answered]))


def draw_donors(examples: pl.DataFrame, choices: pl.DataFrame, shown: list[str], seed: int) -> pl.DataFrame:
    """Draw the donor of each example (id, cluster) with options (id, choices) that has one: `id` and `donor`.

    `shown` names the columns that a donor must have.
    """
    pool = DonorPool.of(examples.filter(pl.all_horizontal(pl.col(name).is_not_null() for name in shown)))
    asked = choices.join(examples.select("id", "cluster"), on="id", validate="1:1").sort("id")
    lots = uniform(combine(hash_text(asked["id"], seed), hash_text(pl.Series([DONOR]))))
    drawn = np.full(asked.height, -1)
    for row, (cluster, options) in enumerate(zip(asked["cluster"], option_forms(asked["choices"]), strict=True)):
        refused = pool.refuse(cluster, options)
        left = len(pool.ids) - len(refused)
        if left:
            place = int(lots[row] * left)
            # Of those admitted, the place-th one stands behind all the refused that fewer admitted ones precede.
            drawn[row] = place + np.searchsorted(refused - np.arange(len(refused)), place, side="right")
    able = np.flatnonzero(drawn >= 0)
    return pl.DataFrame({"id": asked["id"].gather(able), DONOR: pool.ids.gather(drawn[able])})


def commonest_share(choices: pl.Series) -> float:
    """Return the share of examples that offer the most frequent set of options, whatever their order."""
    sets = pl.Series([" | ".join(sorted(options)) for options in option_forms(choices)], dtype=pl.String)
    return int(sets.value_counts()["count"].max() or 0) / max(len(sets), 1)  # type: ignore[arg-type]  # a whole number


def option_forms(choices: pl.Series) -> Iterator[frozenset[str]]:
    """Return the normal forms of the options of each example."""
    texts, codes = code_texts(choices.explode(empty_as_null=False, keep_nulls=False))
    forms = normal_forms(texts).gather(codes).to_list()
    bounds = starts_of(choices.list.len().to_numpy()).tolist()
    return (frozenset(forms[begin:end]) for begin, end in pairwise(bounds))
