"""What the audit brings to the explorer: its rules, one rule with its examples, and the rules that an example meets."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import polars as pl

from eyechart.asked import Asked, Leaf
from eyechart.audits.rules.explorer.examples import examples_of, show_examples
from eyechart.audits.rules.explorer.searching import (
    SORTS,
    STATES,
    RuleSearch,
    are_loaded,
    count_rules,
    find_rules,
    items_of,
    load_rules,
    mined_rules,
    page_of_rules,
    read_search,
    rule_at,
    rules_as_csv,
    take_rules,
)
from eyechart.audits.rules.mined import KINDS, PRIOR
from eyechart.furniture import Sheet
from eyechart.store import Store
from eyechart.stored import Stamped

MOST_BESIDE = 12  # rules beside an example
_HERE = __name__


def rules_page(store: Store, asked: Asked) -> Sheet | None:
    """List the rules that fit a search."""
    file = mined_rules(store)
    if file is None:
        return None
    search = read_search(asked, store)
    leaf = Leaf(asked.page, count_rules(file, search))
    found = page_of_rules(file, search, leaf.start)
    content = {"search": search, "leaf": leaf, "rules": found, "states": STATES, "kinds": KINDS, "sorts": SORTS}
    return Sheet("Rules", template=f"{_HERE}:rules.html", content=content, csv=rules_as_csv(file, search))


def rule_page(store: Store, asked: Asked) -> Sheet | None:
    """Show a rule with its examples and counterexamples."""
    rule = _find_rule(store, asked.get("rule"))
    if rule is None:
        return None
    everywhere = asked.get("part") == "all"
    content = {"rule": rule, "met": show_examples(store, rule, everywhere=everywhere), "everywhere": everywhere}
    pictured = "path" in store.images.scan().collect_schema()
    csv = _examples_as_csv(store, rule, everywhere=everywhere)
    return Sheet("Rule", template=f"{_HERE}:rule.html", content=content | {"pictured": pictured}, csv=csv)


def rules_beside(store: Store, example: str) -> Sheet | None:
    """List the confirmed rules that an example meets, the surest first."""
    file, items = mined_rules(store), items_of(store, example)
    if file is None or items is None:
        return None
    order = find_rules(file, RuleSearch(state="confirmed", within=items))
    few = take_rules(file, order[:MOST_BESIDE]).to_dicts()
    content = {"few": few, "n": len(order), "example": example, "right": _right_answers(store, example)}
    return Sheet("Confirmed rules it meets", template=f"{_HERE}:beside.html", content=content)


def count_all(store: Store) -> dict[str, int]:
    """Count the mined rules and the confirmed ones."""
    file = mined_rules(store)
    return {} if file is None else dict(_counts(file))


def load_behind(store: Store) -> None:
    """Load the rules, unless they are in memory."""
    file = mined_rules(store)
    if file is not None and not are_loaded(file):
        load_rules(file)


@lru_cache(maxsize=4)
def _counts(file: Stamped) -> Mapping[str, int]:
    """Count the rules; the most frequent answer stands among them, but was not mined."""
    mined, confirmed = (pl.col("kind") != PRIOR).sum(), (pl.col("state") == "confirmed").sum()
    found = file.scan().select(mined.alias("rules"), confirmed.alias("rules confirmed")).collect()
    return found.row(0, named=True)


def _examples_as_csv(store: Store, rule: Mapping[str, Any], *, everywhere: bool) -> Iterator[str]:
    """Write all examples of a rule, if they are asked for."""
    yield examples_of(store, rule, everywhere=everywhere).write_csv()


def _find_rule(store: Store, number: str) -> Mapping[str, Any] | None:
    file = mined_rules(store)
    if file is None or not (number.isascii() and number.isdecimal() and len(number) < 16):
        return None
    return rule_at(file, int(number))


def _right_answers(store: Store, example: str) -> list[str]:
    """List the reference and what people said."""
    scan = store.examples.scan()
    several = ["answers"] if "answers" in scan.collect_schema() else []
    row = scan.filter(pl.col("id") == example).select("answer", *several).collect().row(0, named=True)
    return [row["answer"], *(row.get("answers") or ())]
