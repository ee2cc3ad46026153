"""Steadiness: whether a model picks the same option wherever it stands, and is right under every shift."""

from collections.abc import Iterator

import polars as pl

from eyechart.audits.measuring import measured
from eyechart.result import Measure
from eyechart.scoring import score
from eyechart.statistics import mean

CONSISTENT, ALWAYS_RIGHT = "consistent", "right under every shift"
ROTATED = "rotate"


def picked_options(answered: pl.DataFrame) -> pl.DataFrame:
    """Name the option that the first answer to each example means, by text or letter (id, picked, right)."""
    first = answered.unique("id", keep="first", maintain_order=True)
    most = int(first["choices"].list.len().max() or 0)  # type: ignore[arg-type]  # a whole number
    options = [first["choices"].list.get(at, null_on_oob=True) for at in range(most)]
    picked = pl.Series("picked", [None] * first.height, dtype=pl.String)
    for option in options:
        meant = score(first.with_columns(option.alias("answer")), "choice") == 1
        picked = option.zip_with(meant.fill_null(value=False), picked)
    return first.select("id", picked.alias("picked"), (picked == first["answer"]).fill_null(value=False).alias("right"))


def steadiness(picks: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Compare the picks of each example that was shown shifted at least once, the unshifted one included."""
    nothing = pl.DataFrame(schema={"id": pl.String, "picked": pl.String, "right": pl.Boolean})
    together = pl.concat([nothing, *picks.values()])
    same = (pl.col("picked").n_unique() == 1) & pl.col("picked").is_not_null().all()
    return (
        together.group_by("id")
        .agg(
            same.cast(pl.Float64).alias(CONSISTENT),
            pl.col("right").all().cast(pl.Float64).alias(ALWAYS_RIGHT),
            pl.len(),
        )
        .filter(pl.col("len") > 1)
        .drop("len")
        .sort("id")
    )


def measure_shifts(rows: pl.DataFrame, how: str) -> Iterator[Measure]:
    """Measure both where options were shifted."""
    for name in (CONSISTENT, ALWAYS_RIGHT):
        known = rows.drop_nulls(name)
        if known.height:
            found = mean(known[name], known["cluster"])
            yield measured(name, found, of=name, condition=ROTATED, score=how, better="higher")
