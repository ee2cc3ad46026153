"""Rules found by their words, objects and answer, in any order; the order is kept, so that paging only cuts it.

Millions of rules are searched in memory, where a text is a number; the file is read once, part by part. Until that is
done, pages that need no words or objects come straight from the file, of which few columns are read.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.asked import PAGE, Asked
from eyechart.audits.rules.mined import KINDS, PRIOR
from eyechart.encode.items import SURE
from eyechart.encode.words import question_words
from eyechart.store import Store
from eyechart.stored import Stamped

Rows = NDArray[np.uint32]
SORTS = {  # column -> highest first
    "low": True,
    "held_out_confidence": True,
    "confidence": True,
    "support": True,
    "held_out_support": True,
    "q": False,
    "rule": False,
}
AUDIT = "rules"  # under which the study lies
STATES = ("confirmed", "refuted", "untestable")
KEPT = 12  # orders in memory, 4 bytes a rule each
AT_ONCE = 200_000  # rules read, or written to CSV
TEXT = pl.Categorical()
LISTS, TEXTS = ("words", "objects"), ("answer", "kind", "state")
_loading = Lock()
_loaded: dict[Stamped, pl.DataFrame] = {}
FIRST_PAGES = 20  # that are worth reading from the file
SHOWN = ("rule", "words", "objects", "answer", "kind", "support", "joint", "confidence", "held_out_support")
TESTED = ("held_out_joint", "held_out_confidence", "low", "high", "p", "q", "state", "kept")


@dataclass(frozen=True)
class RuleSearch:
    """Which rules, in which order."""

    words: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    answer: str = ""
    kind: str = ""
    state: str = ""
    within: tuple[tuple[str, ...], tuple[str, ...]] | None = None  # words and objects that a rule may have at most
    sort: str = "low"
    down: bool = True


def read_search(asked: Asked, store: Store) -> RuleSearch:
    """Read what is searched for from an address."""
    sort = asked.one_of("sort", tuple(SORTS), "low")
    return RuleSearch(
        words=tuple(asked.get("word").lower().split()),
        objects=tuple(label.strip() for label in asked.get("object").split(",") if label.strip()),
        answer=asked.get("answer").strip().lower(),
        kind=asked.one_of("kind", (*KINDS, PRIOR)),
        state=asked.one_of("state", STATES),
        within=items_of(store, asked.get("example")),
        sort=sort,
        down=asked.one_of("way", ("up", "down"), "down" if SORTS[sort] else "up") == "down",
    )


def mined_rules(store: Store) -> Stamped | None:
    """Find the rules of a run; None where none were mined."""
    return store.table_of("rules", AUDIT)


def items_of(store: Store, example: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """List the words and the sure objects of an example, each once; None of one that is not there."""
    row = store.examples.scan().filter(pl.col("id") == example).select("image", question_words(pl.col("question")))
    images, words = row.rename({"question": "words"}).collect().get_columns()
    if not len(words):
        return None
    scan = store.images.scan()
    if "objects" not in scan.collect_schema():
        return tuple(sorted(set(words[0]))), ()
    seen = scan.filter(pl.col("image") == images[0]).select(labels().alias("labels")).collect()["labels"]
    return tuple(sorted(set(words[0]))), tuple(sorted(set(seen[0]))) if len(seen) and seen[0] is not None else ()


def labels() -> pl.Expr:
    """List the labels of the objects of an image that are sure, as the audit takes them."""
    score = pl.element().struct.field("score")
    sure = pl.element().filter(score.is_null() | (score >= SURE))
    return pl.col("objects").list.eval(sure.struct.field("label")).list.drop_nulls()


def load_rules(file: Stamped) -> pl.DataFrame:
    """Hold the rules in memory, each text as a number: a fifth of what the texts take, and quicker to search."""
    with _loading:  # whoever comes meanwhile waits, and does not load them again
        if file not in _loaded:
            _loaded.clear()
            _loaded[file] = _load(file)
        return _loaded[file]


def are_loaded(file: Stamped) -> bool:
    """Tell whether the rules are in memory."""
    return file in _loaded


def _load(file: Stamped) -> pl.DataFrame:
    scan = file.scan()
    n = int(scan.select(pl.len()).collect().item())
    numbered = scan.select(*SHOWN, *TESTED).with_columns(pl.col(LISTS).cast(pl.List(TEXT)), pl.col(TEXTS).cast(TEXT))
    parts = [numbered.slice(start, AT_ONCE).collect() for start in range(0, max(n, 1), AT_ONCE)]
    return pl.concat(parts)


def find_rules(file: Stamped, search: RuleSearch) -> Rows:
    """List the rows of the rules that fit, in order."""
    return _order(file, search)


@lru_cache(maxsize=KEPT)
def _order(file: Stamped, search: RuleSearch) -> Rows:
    table = load_rules(file).lazy().with_row_index("at").filter(*_conditions(search)).select("at", search.sort)
    ordered = table.sort(search.sort, descending=search.down, nulls_last=True, maintain_order=True)
    return ordered.collect()["at"].to_numpy()


def _conditions(search: RuleSearch) -> Iterator[pl.Expr]:
    # What was not mined is no rule; it is listed only where it is asked for.
    yield pl.col("kind") == search.kind if search.kind else pl.col("kind") != PRIOR
    if search.state:
        yield pl.col("state") == search.state
    if search.answer:
        yield pl.col("answer").cast(pl.String).str.to_lowercase() == search.answer
    yield from (pl.col("words").list.contains(pl.lit(word, TEXT)) for word in search.words)
    yield from (pl.col("objects").list.contains(pl.lit(label, TEXT)) for label in search.objects)
    if search.within is not None:
        yield _only("words", search.within[0])
        yield _only("objects", search.within[1])


def _only(column: str, known: Sequence[str]) -> pl.Expr:
    allowed = pl.Series(list(known), dtype=TEXT).implode()
    return pl.col(column).list.eval(pl.element().is_in(allowed)).list.all()


def take_rules(file: Stamped, rows: Rows) -> pl.DataFrame:
    """Fetch rules by their rows, in that order."""
    return _in_texts(load_rules(file)[rows])


def _in_texts(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.col(LISTS).cast(pl.List(pl.String)), pl.col(TEXTS).cast(pl.String))


def count_rules(file: Stamped, search: RuleSearch) -> int:
    """Count the rules that fit."""
    if _from_file(file, search):
        return _count_in_file(file, search)
    return len(find_rules(file, search))


def page_of_rules(file: Stamped, search: RuleSearch, start: int) -> list[dict[str, Any]]:
    """Fetch one page of rules."""
    if _from_file(file, search) and start < FIRST_PAGES * PAGE:
        return _read_page(file, search, start).to_dicts()
    return take_rules(file, find_rules(file, search)[start : start + PAGE]).to_dicts()


def _from_file(file: Stamped, search: RuleSearch) -> bool:
    """Tell whether the file is quicker: nothing is in memory yet, and no list of words or objects must be read."""
    return not are_loaded(file) and not (search.words or search.objects or search.within is not None)


@lru_cache(maxsize=KEPT)
def _count_in_file(file: Stamped, search: RuleSearch) -> int:
    return int(file.scan().filter(*_conditions(search)).select(pl.len()).collect().item())


@lru_cache(maxsize=KEPT)
def _read_page(file: Stamped, search: RuleSearch, start: int) -> pl.DataFrame:
    """Order by the one column that is sorted by, then read the few rows: the same page that memory would give."""
    scan = file.scan().with_row_index("at")
    table = scan.filter(*_conditions(search)).select("at", search.sort)
    ordered = table.sort(search.sort, descending=search.down, nulls_last=True, maintain_order=True)
    rows = ordered.head(start + PAGE).collect()["at"][start:]
    found = scan.filter(pl.col("at").is_in(rows.implode())).select("at", *SHOWN, *TESTED).collect()
    order = pl.DataFrame({"at": rows})
    return order.join(found, on="at", validate="1:1", maintain_order="left").drop("at")


def rule_at(file: Stamped, number: int) -> Mapping[str, Any] | None:
    """Fetch a rule by its number."""
    if are_loaded(file):
        found = _in_texts(load_rules(file).filter(pl.col("rule") == number))
    else:
        found = file.scan().filter(pl.col("rule") == number).select(*SHOWN, *TESTED).collect()
    return found.row(0, named=True) if found.height else None


def rules_as_csv(file: Stamped, search: RuleSearch) -> Iterator[str]:
    """Write all rules that fit, part by part, so that few are in memory."""
    order = find_rules(file, search)
    joined = pl.col(LISTS).list.join(" + ")
    yield take_rules(file, order[:0]).with_columns(joined).write_csv()
    for start in range(0, len(order), AT_ONCE):
        part = take_rules(file, order[start : start + AT_ONCE])
        yield part.with_columns(joined).write_csv(include_header=False)
