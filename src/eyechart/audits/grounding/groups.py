"""The groups that measures are broken down by: grounding, in or out of distribution, and how far probabilities fall."""

import polars as pl

from eyechart.audits.grounding.audit import GroundingAudit
from eyechart.dataset import NOT_JUDGED, Dataset

GROUNDING = {"grounding": ("grounded", "not grounded"), "keeping": ("kept", "not kept")}  # Eq. 4, appendix C
PLACES = ("id", "ood")
OUT, IN = ("ood", "tail", "counterexample"), ("id", "head", "easy")
BEST, MEDIUM, WORST = "best", "medium", "worst"
CLASSES = {"sufficiency_class": "sufficiency", "comprehensiveness_class": "comprehensiveness"}


def with_groups(rows: pl.DataFrame, audit: GroundingAudit, data: Dataset) -> pl.DataFrame:
    """Add a text column for each grouping; null where a question is in no group."""
    grouped = rows.with_columns(
        _either("grounded", GROUNDING["grounding"]).alias("grounding"),
        _either("kept", GROUNDING["keeping"]).alias("keeping"),
        *_classes(),
    )
    if not audit.ood:
        return grouped
    places = data.scan(audit.ood).select("id", _place(audit).alias("place")).collect()
    placed = grouped.join(places, on="id", how="left", validate="1:1", maintain_order="left")
    return placed.with_columns(
        pl.concat_str(name, "place", separator=", ").alias(f"{name}_place") for name in GROUNDING
    )


def _either(column: str, names: tuple[str, str]) -> pl.Expr:
    """Name what most draws say."""
    return pl.when(pl.col(column) >= 0.5).then(pl.lit(names[0])).otherwise(pl.lit(names[1]))


def _place(audit: GroundingAudit) -> pl.Expr:
    text = pl.col(audit.ood).cast(pl.String)
    value = pl.when(text != NOT_JUDGED).then(text)  # where another study lends the column
    if audit.ood_value:
        return pl.when(value.is_not_null()).then(
            pl.when(value == audit.ood_value).then(pl.lit(PLACES[1])).otherwise(pl.lit(PLACES[0]))
        )
    return pl.when(value.is_in(OUT)).then(pl.lit(PLACES[1])).when(value.is_in(IN)).then(pl.lit(PLACES[0]))


def _classes() -> tuple[pl.Expr, pl.Expr]:
    """Class the falls as Fig. 3 and 4 do; that of a bad sufficiency is not printed there, so it mirrors the other."""
    kept, lost = pl.col("sufficiency"), pl.col("comprehensiveness")
    best, worst = pl.lit(BEST), pl.lit(WORST)
    medium = pl.lit(MEDIUM)
    by_kept = pl.when(kept < 0.01).then(best).when(kept >= 0.2).then(worst).when(kept.is_not_null()).then(medium)
    by_lost = pl.when(lost >= 0.4).then(best).when(lost < 0.2).then(worst).when(lost.is_not_null()).then(medium)
    return by_kept.alias("sufficiency_class"), by_lost.alias("comprehensiveness_class")
