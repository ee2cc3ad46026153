"""The table of truth: every planted shortcut and every control, with how often its cue occurred and was right."""

import polars as pl

from eyechart.world.settings import CROSSED, SPLITS, WorldSettings
from eyechart.world.shortcuts import CONTROLS, CROSSES, DECOYS, PRIORS, RULES, Shortcut, base_rate

SCHEMA: dict[str, pl.DataType | type[pl.DataType]] = {
    "shortcut": pl.String,
    "kind": pl.String,
    "question_type": pl.String,
    "words": pl.List(pl.String),
    "objects": pl.List(pl.String),
    "answer": pl.String,
    "strength": pl.Float64,
    "test_strength": pl.Float64,
    "base_rate": pl.Float64,
}


def list_shortcuts(settings: WorldSettings) -> tuple[Shortcut, ...]:
    """List the shortcuts of a world; rules of a kind that is not planted are controls."""
    drawn = [each for some in CROSSES.values() for each in some] if CROSSED in settings.plant else RULES
    rules = (
        each if each.kind in settings.plant else each._replace(kind=f"control-{each.kind}", answer=None)
        for each in drawn
    )
    others = (each for each in (*PRIORS, *DECOYS) if each.kind in settings.plant)
    return (*others, *rules, *CONTROLS)


def make_truth(settings: WorldSettings, examples: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Count each cue per split; `labels` has the labels of each image, and `examples` the words of each question."""
    shortcuts = list_shortcuts(settings)
    table = pl.DataFrame([_row(each, settings) for each in shortcuts], schema=SCHEMA, orient="row")
    seen = examples.join(labels, on="image", how="left", validate="m:1")
    counts = [_counts(each, seen) for each in shortcuts]
    return pl.concat([table, pl.concat(counts)], how="horizontal")


def _row(shortcut: Shortcut, settings: WorldSettings) -> dict[str, object]:
    planted = not shortcut.kind.startswith("control")
    return {
        "shortcut": shortcut.name,
        "strength": settings.strength_of(shortcut.kind) if planted else None,
        "test_strength": settings.strength_of(shortcut.kind, "test") if planted else None,
        "base_rate": base_rate(shortcut, settings),
        **shortcut._asdict(),
    }


def _counts(shortcut: Shortcut, seen: pl.DataFrame) -> pl.DataFrame:
    """Count the rows with the cue (n) and those where it was right (hits); a planted decoy is right if it is a foil."""
    cue = pl.lit(value=True)
    if shortcut.question_type is not None:
        cue &= pl.col("question_type") == shortcut.question_type
    for column, wanted in (("words", shortcut.words), ("labels", shortcut.objects)):
        for text in wanted:
            cue &= pl.col(column).list.contains(text)
    hit = pl.col("decoys") == "planted" if shortcut.kind == "decoy" else pl.col("answer") == pl.lit(shortcut.answer)
    return seen.filter(cue).select(
        count.cast(pl.Int64).alias(f"{split}_{name}")
        for split in SPLITS
        for name, count in _two_counts(pl.col("split") == split, hit, shortcut)
    )


def _two_counts(here: pl.Expr, hit: pl.Expr, shortcut: Shortcut) -> tuple[tuple[str, pl.Expr], tuple[str, pl.Expr]]:
    hits = pl.lit(None) if shortcut.kind.startswith("control") else (here & hit).sum()
    return ("n", here.sum()), ("hits", hits)
