"""Labels of the objects seen in each image."""

import polars as pl

SURE = 0.5  # the least score of an object that is taken for seen; one without a score is


def image_labels(images: pl.DataFrame) -> pl.DataFrame:
    """List (image, label), each pair once; a table of images without objects has none."""
    if "objects" not in images.columns:
        return pl.DataFrame(schema={"image": pl.String, "label": pl.String})
    seen = images.select("image", "objects").explode("objects", empty_as_null=False, keep_nulls=False)
    flat = seen.select(
        "image",
        pl.col("objects").struct.field("label").alias("label"),
        pl.col("objects").struct.field("score").alias("score"),
    )
    sure = pl.col("score").is_null() | (pl.col("score") >= SURE)
    return flat.filter(pl.col("label").is_not_null() & sure).select("image", "label").unique()
