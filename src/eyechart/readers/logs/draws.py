"""Number the answers that one model, or several people, gave to the same question."""

import polars as pl


def count_draws(table: pl.DataFrame) -> pl.DataFrame:
    """Give the epochs or annotators of each id under each condition the numbers 0, 1, ..., in their order.

    Numbers are in the order of numbers, also where they are written as text; an empty value comes first.
    """
    key = [name for name in ("id", "condition") if name in table.columns]
    draw = table["draw"]
    numbers = draw.cast(pl.Int64, strict=False)
    order = numbers if numbers.null_count() == draw.null_count() else draw.cast(pl.String)
    # A rank leaves nulls out, so whether there is a value is ranked with it.
    ranked = table.with_columns(draw=pl.struct(order.is_not_null().alias("there"), order.alias("value")))
    return ranked.with_columns(pl.col("draw").rank("dense").over(key).cast(pl.Int64) - 1)


def keep_or_count_draws(table: pl.DataFrame) -> pl.DataFrame:
    """Keep draws that are whole numbers from 0, an empty one as 0; number whatever else they are."""
    draw = table["draw"]
    numbers = draw.cast(pl.Int64, strict=False)
    if numbers.null_count() > draw.null_count() or (numbers < 0).any():
        return count_draws(table)
    return table.with_columns(numbers.fill_null(0))
