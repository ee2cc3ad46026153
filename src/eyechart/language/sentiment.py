"""Find the sentiment of a text with VADER (Hutto & Gilbert 2014), the NLTK classifier that Perceptual Score used."""

import polars as pl

from eyechart.base.errors import MissingExtraError

NEUTRAL = 0.05  # the authors' threshold of the compound score, on either side of 0


def sentiment(texts: pl.Series) -> pl.Series:
    """Compute the compound score of each text, from -1 to 1; each distinct text is scored once, null stays null."""
    try:
        from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer
    except ImportError:
        found, advice = "no such package", "pip install 'eyechart[text]'"
        raise MissingExtraError("the package vaderSentiment, for the sentiment of texts", found, advice) from None
    reader = SentimentIntensityAnalyzer()
    distinct = texts.drop_nulls().unique().sort()
    scores = [reader.polarity_scores(text)["compound"] for text in distinct]
    known = pl.DataFrame({"text": distinct, "compound": pl.Series(scores, dtype=pl.Float64)})
    return texts.to_frame("text").join(known, on="text", how="left", validate="m:1", maintain_order="left")["compound"]


def feeling(compound: pl.Expr) -> pl.Expr:
    """Name a compound score: negative, neutral or positive; null stays null."""
    named = pl.when(compound >= NEUTRAL).then(pl.lit("positive")).when(compound <= -NEUTRAL).then(pl.lit("negative"))
    return pl.when(compound.is_not_null()).then(named.otherwise(pl.lit("neutral")))
