"""The pages of the explorer: the rules, one rule with its examples, and the rules that an example meets.

An example meets a rule that has its words in the question and its objects in the picture.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import polars as pl

from eyechart.audits.rules.exploited import rules_by_model
from eyechart.audits.rules.search import (
    AUDIT,
    SORTS,
    RuleSearch,
    are_loaded,
    count_rules,
    find_rules,
    items_of,
    labels,
    load_rules,
    mined_rules,
    page_of_rules,
    read_search,
    rule_at,
    rules_as_csv,
    take_rules,
)
from eyechart.audits.rules.settings import PRIOR, RULE_KINDS, STATES
from eyechart.data.furniture import ExplorerQuery, ListPage, Sheet
from eyechart.data.store import Store
from eyechart.data.stored import TableFile
from eyechart.language.answers import human_answers
from eyechart.language.questions import question_words

MOST_RULES = 12  # next to an example
MOST_EXAMPLES = 24  # of each sort on a page
_TEMPLATES = f"{__package__}:templates"


def rules_page(store: Store, asked: ExplorerQuery) -> Sheet | None:
    """List the rules that fit a search."""
    file = mined_rules(store)
    if file is None:
        return None
    search = read_search(asked, store)
    leaf = ListPage(asked.page, count_rules(file, search))
    rules = page_of_rules(file, search, leaf.start)
    content = {"search": search, "leaf": leaf, "rules": rules, "states": STATES, "kinds": RULE_KINDS, "sorts": SORTS}
    return Sheet("Rules", template=f"{_TEMPLATES}/rules.html", content=content, csv=rules_as_csv(file, search))


def rule_page(store: Store, asked: ExplorerQuery) -> Sheet | None:
    """Build the page of a rule with its examples and counterexamples."""
    rule = _find_rule(store, asked.get("rule"))
    if rule is None:
        return None
    everywhere = asked.get("part") == "all"
    examples = examples_of(store, rule, everywhere=everywhere)
    content = {
        "rule": rule,
        "holding": _shown(store, examples.filter("holds"), rule["objects"]),
        "n_holding": int(examples["holds"].sum()),
        "against": _shown(store, examples.filter(~pl.col("holds")), rule["objects"]),
        "n_against": int((~examples["holds"]).sum()),
        "everywhere": everywhere,
        "pictured": "path" in store.images.scan().collect_schema(),
    }
    csv = _examples_as_csv(store, rule, everywhere=everywhere)
    return Sheet("Rule", template=f"{_TEMPLATES}/rule.html", content=content, csv=csv)


def rules_by_model_page(store: Store, asked: ExplorerQuery) -> Sheet | None:  # noqa: ARG001 - what every page is given
    """Set the judged models beside each other by the rules that any of them follows most, in points."""
    if store.table_of("rules", AUDIT) is None:
        return None
    found = rules_by_model({model: results[AUDIT] for model, results in store.results().items() if AUDIT in results})
    if found is None:
        return Sheet("Rules by model", "Judge at least two models by rules, to see them side by side.", pl.DataFrame())
    table, view = found
    points = [name for name, unit in view.units.items() if unit == "points"]
    return Sheet(view.title, f"{view.reading} In points.", table.with_columns((pl.col(points) * 100).round(1)))


def rules_beside(store: Store, example: str) -> Sheet | None:
    """List the confirmed rules that an example meets, the most certain first."""
    file, items = mined_rules(store), items_of(store, example)
    if file is None or items is None:
        return None
    order = find_rules(file, RuleSearch(state="confirmed", within=items))
    first = take_rules(file, order[:MOST_RULES]).to_dicts()
    content = {"few": first, "n": len(order), "example": example, "right": _right_answers(store, example)}
    return Sheet("Confirmed rules that apply", template=f"{_TEMPLATES}/beside.html", content=content)


def count_all(store: Store) -> dict[str, int]:
    """Count the mined rules and the confirmed ones."""
    file = mined_rules(store)
    return {} if file is None else dict(_counts(file))


def preload_rules(store: Store) -> None:
    """Load the rules into memory, unless they are there."""
    file = mined_rules(store)
    if file is not None and not are_loaded(file):
        load_rules(file)


@lru_cache(maxsize=4)
def _counts(file: TableFile) -> Mapping[str, int]:
    """Count the rules except the prior, which is listed among them but was not mined."""
    mined, confirmed = (pl.col("kind") != PRIOR).sum(), (pl.col("state") == "confirmed").sum()
    counts = file.scan().select(mined.alias("rules"), confirmed.alias("rules confirmed")).collect()
    return counts.row(0, named=True)


def _examples_as_csv(store: Store, rule: Mapping[str, Any], *, everywhere: bool) -> Iterator[str]:
    """Write all examples of a rule as CSV, but only when requested."""
    yield examples_of(store, rule, everywhere=everywhere).write_csv()


def _find_rule(store: Store, number: str) -> Mapping[str, Any] | None:
    file = mined_rules(store)
    if file is None or not (number.isascii() and number.isdecimal() and len(number) < 16):
        return None
    return rule_at(file, int(number))


def _right_answers(store: Store, example: str) -> list[str]:
    """List the reference answer and all human answers."""
    scan = store.examples.scan()
    several = ["answers"] if "answers" in scan.collect_schema() else []
    row = scan.filter(pl.col("id") == example).select("answer", *several).collect().row(0, named=True)
    return [row["answer"], *(row.get("answers") or ())]


def examples_of(store: Store, rule: Mapping[str, Any], *, everywhere: bool) -> pl.DataFrame:
    """List the examples, judged or all, that meet a rule, and whether it holds there."""
    # A cheap filter first: splitting every question into words is slow.
    scan = store.examples.scan().filter(_may_have(rule["words"]))
    judged = store.rows(AUDIT)
    if not everywhere and judged is not None:
        scan = scan.join(judged.scan().select("id"), on="id", how="semi")
    if rule["objects"]:
        scan = scan.join(_with_objects(store, rule["objects"]), on="image", how="semi")
    optional = [name for name in ("answers", "split") if name in scan.collect_schema()]
    met = scan.select("id", "image", "question", "answer", *optional).collect().filter(_have(rule["words"]))
    holds = pl.DataFrame({"people": human_answers(met)}).select(pl.col("people").list.contains(rule["answer"]))
    return met.drop("answers", strict=False).with_columns(holds.to_series().alias("holds")).sort("id")


def _may_have(words: list[str]) -> pl.Expr:
    question = pl.col("question").str.to_lowercase()
    return pl.all_horizontal(pl.lit(value=True), *(question.str.contains(word, literal=True) for word in words))


def _have(words: list[str]) -> pl.Expr:
    listed = question_words(pl.col("question")).list
    return pl.all_horizontal(pl.lit(value=True), *(listed.contains(word) for word in words))


def _with_objects(store: Store, objects: list[str]) -> pl.LazyFrame:
    scan = store.images.scan()
    if "objects" not in scan.collect_schema():
        return scan.select("image").head(0)
    labelled = scan.select("image", labels().alias("labels"))
    return labelled.filter(pl.col("labels").list.contains(label) for label in objects).select("image")


def _shown(store: Store, examples: pl.DataFrame, objects: list[str]) -> list[dict[str, Any]]:
    """Take the first examples, with the size of each picture and the boxes of the objects that a rule names."""
    first = examples.head(MOST_EXAMPLES)
    scan = store.images.scan()
    columns = scan.collect_schema().names()
    in_rule = pl.element().filter(pl.element().struct.field("label").is_in(objects))
    boxes = pl.col("objects").list.eval(in_rule) if "objects" in columns else pl.lit(None)
    sizes = [pl.col(name) if name in columns else pl.lit(None).alias(name) for name in ("width", "height")]
    pictures = scan.filter(pl.col("image").is_in(first["image"].drop_nulls().unique().implode()))
    details = pictures.select("image", *sizes, boxes.alias("boxes")).collect()
    return first.join(details, on="image", how="left", validate="m:1", maintain_order="left").to_dicts()
