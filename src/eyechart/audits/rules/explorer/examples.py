"""The examples that meet a rule: its words in the question, its objects in the picture."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import polars as pl

from eyechart.audits.rules.explorer.searching import AUDIT, labels
from eyechart.encode.items import human_answers
from eyechart.encode.words import question_words
from eyechart.store import Store

MOST = 24  # examples of either sort on a page


class Met(NamedTuple):
    """Examples that meet a rule, and how many there are of either sort."""

    holding: list[dict[str, Any]]
    against: list[dict[str, Any]]
    n_holding: int
    n_against: int


def examples_of(store: Store, rule: Mapping[str, Any], *, everywhere: bool) -> pl.DataFrame:
    """List the examples that meet a rule with whether it holds there; of the judged ones, or of all."""
    # A cheap look first: dividing every question into words takes long where there are many.
    scan = store.examples.scan().filter(_may_have(rule["words"]))
    judged = store.rows(AUDIT)
    if not everywhere and judged is not None:
        scan = scan.join(judged.scan().select("id"), on="id", how="semi")
    if rule["objects"]:
        scan = scan.join(_with_objects(store, rule["objects"]), on="image", how="semi")
    wanted = [name for name in ("answers", "split") if name in scan.collect_schema()]
    met = scan.select("id", "image", "question", "answer", *wanted).collect().filter(_have(rule["words"]))
    holds = pl.DataFrame({"people": human_answers(met)}).select(pl.col("people").list.contains(rule["answer"]))
    return met.drop("answers", strict=False).with_columns(holds.to_series().alias("holds")).sort("id")


def show_examples(store: Store, rule: Mapping[str, Any], *, everywhere: bool) -> Met:
    """Divide the examples that meet a rule, with the boxes of its objects."""
    met = examples_of(store, rule, everywhere=everywhere)
    parts = [met.filter(pl.col("holds") == holds) for holds in (True, False)]
    holding, against = (_boxed(store, part.head(MOST), rule["objects"]).to_dicts() for part in parts)
    return Met(holding, against, *(part.height for part in parts))


def _may_have(words: list[str]) -> pl.Expr:
    question = pl.col("question").str.to_lowercase()
    return pl.all_horizontal(pl.lit(value=True), *(question.str.contains(word, literal=True) for word in words))


def _have(words: list[str]) -> pl.Expr:
    listed = question_words(pl.col("question")).list
    return pl.all_horizontal(pl.lit(value=True), *(listed.contains(word) for word in words))


def _with_objects(store: Store, wanted: list[str]) -> pl.LazyFrame:
    scan = store.images.scan()
    if "objects" not in scan.collect_schema():
        return scan.select("image").head(0)
    seen = scan.select("image", labels().alias("labels"))
    return seen.filter(pl.col("labels").list.contains(label) for label in wanted).select("image")


def _boxed(store: Store, few: pl.DataFrame, wanted: list[str]) -> pl.DataFrame:
    """Add the size of each picture and the boxes of the objects that a rule speaks of."""
    scan = store.images.scan()
    known = scan.collect_schema().names()
    named = pl.element().filter(pl.element().struct.field("label").is_in(wanted))
    boxes = pl.col("objects").list.eval(named) if "objects" in known else pl.lit(None)
    sizes = [pl.col(name) if name in known else pl.lit(None).alias(name) for name in ("width", "height")]
    pictures = scan.filter(pl.col("image").is_in(few["image"].drop_nulls().unique().implode()))
    shown = pictures.select("image", *sizes, boxes.alias("boxes")).collect()
    return few.join(shown, on="image", how="left", validate="m:1", maintain_order="left")
