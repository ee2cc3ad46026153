"""Search rules by words, objects and answer, in any order; the order is cached, so that paging only slices it.

Millions of rules are searched in memory, where a text is a number; the file is read once, part by part. Until that is
done, pages that need no words or objects are read directly from a few columns of the file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from eyechart.audits.rules.settings import PRIOR, RULE_KINDS, STATES, RulesSettings
from eyechart.data.furniture import ROWS_PER_PAGE, ExplorerQuery
from eyechart.data.store import Store
from eyechart.data.stored import TableFile
from eyechart.language.items import SURE
from eyechart.language.questions import question_words

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
AUDIT = RulesSettings.name
KEPT = 12  # orders in memory, 4 bytes a rule each
AT_ONCE = 200_000  # rules read or written to CSV at a time
TEXT = pl.Categorical()
LISTS, TEXTS = ("words", "objects"), ("answer", "kind", "state")
_loading = Lock()
_loaded: dict[TableFile, pl.DataFrame] = {}
FIRST_PAGES = 20  # that are read from the file until the rules are in memory
SHOWN = ("rule", "words", "objects", "answer", "kind", "support", "joint", "confidence", "held_out_support")
TESTED = ("held_out_joint", "held_out_confidence", "low", "high", "p", "q", "state", "kept")


@dataclass(frozen=True)
class RuleSearch:
    """The filters and the order of a search."""

    words: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    answer: str = ""
    kind: str = ""
    state: str = ""
    within: tuple[tuple[str, ...], tuple[str, ...]] | None = None  # words and objects that a rule may have at most
    sort: str = "low"
    down: bool = True


def read_search(asked: ExplorerQuery, store: Store) -> RuleSearch:
    """Read a search from a URL."""
    sort = asked.one_of("sort", tuple(SORTS), "low")
    return RuleSearch(
        words=tuple(asked.get("word").lower().split()),
        objects=tuple(label.strip() for label in asked.get("object").split(",") if label.strip()),
        answer=asked.get("answer").strip().lower(),
        kind=asked.one_of("kind", (*RULE_KINDS, PRIOR)),
        state=asked.one_of("state", STATES),
        within=items_of(store, asked.get("example")),
        sort=sort,
        down=asked.one_of("way", ("up", "down"), "down" if SORTS[sort] else "up") == "down",
    )


def mined_rules(store: Store) -> TableFile | None:
    """Return the table of rules of a run, None if none were mined."""
    return store.table_of("rules", AUDIT)


def items_of(store: Store, example: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """List the words and the sure objects of an example, each once; None for an unknown example."""
    row = store.examples.scan().filter(pl.col("id") == example).select("image", question_words(pl.col("question")))
    images, words = row.rename({"question": "words"}).collect().get_columns()
    if not len(words):
        return None
    scan = store.images.scan()
    if "objects" not in scan.collect_schema():
        return tuple(sorted(set(words[0]))), ()
    in_image = scan.filter(pl.col("image") == images[0]).select(labels().alias("labels")).collect()["labels"]
    return tuple(sorted(set(words[0]))), tuple(sorted(set(in_image[0]))) if len(in_image) and in_image[
        0
    ] is not None else ()


def labels() -> pl.Expr:
    """Select the labels of the sure objects of an image, as the audit does."""
    score = pl.element().struct.field("score")
    sure = pl.element().filter(score.is_null() | (score >= SURE))
    return pl.col("objects").list.eval(sure.struct.field("label")).list.drop_nulls()


def load_rules(file: TableFile) -> pl.DataFrame:
    """Load the rules into memory, each text as a number: a fifth of the size, and faster to search."""
    with _loading:  # other requests wait instead of loading them again
        if file not in _loaded:
            _loaded.clear()
            _loaded[file] = _load(file)
        return _loaded[file]


def are_loaded(file: TableFile) -> bool:
    """Check whether the rules are in memory."""
    return file in _loaded


def _load(file: TableFile) -> pl.DataFrame:
    scan = file.scan()
    n = int(scan.select(pl.len()).collect().item())
    numbered = scan.select(*SHOWN, *TESTED).with_columns(pl.col(LISTS).cast(pl.List(TEXT)), pl.col(TEXTS).cast(TEXT))
    parts = [numbered.slice(start, AT_ONCE).collect() for start in range(0, max(n, 1), AT_ONCE)]
    return pl.concat(parts)


@lru_cache(maxsize=KEPT)
def find_rules(file: TableFile, search: RuleSearch) -> Rows:
    """List the rows of the matching rules, in order."""
    table = load_rules(file).lazy().with_row_index("row").filter(*_conditions(search)).select("row", search.sort)
    ordered = table.sort(search.sort, descending=search.down, nulls_last=True, maintain_order=True)
    return ordered.collect()["row"].to_numpy()


def _conditions(search: RuleSearch) -> Iterator[pl.Expr]:
    # The prior was not mined and is no rule; it is listed only on request.
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


def _only(column: str, items: Sequence[str]) -> pl.Expr:
    allowed = pl.Series(list(items), dtype=TEXT).implode()
    return pl.col(column).list.eval(pl.element().is_in(allowed)).list.all()


def take_rules(file: TableFile, rows: Rows) -> pl.DataFrame:
    """Fetch rules by their rows, in that order."""
    return _in_texts(load_rules(file)[rows])


def _in_texts(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(pl.col(LISTS).cast(pl.List(pl.String)), pl.col(TEXTS).cast(pl.String))


def count_rules(file: TableFile, search: RuleSearch) -> int:
    """Count the matching rules."""
    if _from_file(file, search):
        return _count_in_file(file, search)
    return len(find_rules(file, search))


def page_of_rules(file: TableFile, search: RuleSearch, start: int) -> list[dict[str, Any]]:
    """Fetch one page of rules."""
    if _from_file(file, search) and start < FIRST_PAGES * ROWS_PER_PAGE:
        return _read_page(file, search, start).to_dicts()
    return take_rules(file, find_rules(file, search)[start : start + ROWS_PER_PAGE]).to_dicts()


def _from_file(file: TableFile, search: RuleSearch) -> bool:
    """Check whether the file is faster: nothing is in memory yet, and no list of words or objects must be read."""
    return not are_loaded(file) and not (search.words or search.objects or search.within is not None)


@lru_cache(maxsize=KEPT)
def _count_in_file(file: TableFile, search: RuleSearch) -> int:
    return int(file.scan().filter(*_conditions(search)).select(pl.len()).collect().item())


@lru_cache(maxsize=KEPT)
def _read_page(file: TableFile, search: RuleSearch, start: int) -> pl.DataFrame:
    """Sort by one column, then read the few rows: the same page as from memory."""
    scan = file.scan().with_row_index("row")
    table = scan.filter(*_conditions(search)).select("row", search.sort)
    ordered = table.sort(search.sort, descending=search.down, nulls_last=True, maintain_order=True)
    rows = ordered.head(start + ROWS_PER_PAGE).collect()["row"][start:]
    columns = scan.filter(pl.col("row").is_in(rows.implode())).select("row", *SHOWN, *TESTED).collect()
    return rows.to_frame().join(columns, on="row", validate="1:1", maintain_order="left").drop("row")


def rule_at(file: TableFile, number: int) -> Mapping[str, Any] | None:
    """Fetch a rule by its number."""
    if are_loaded(file):
        rule = _in_texts(load_rules(file).filter(pl.col("rule") == number))
    else:
        rule = file.scan().filter(pl.col("rule") == number).select(*SHOWN, *TESTED).collect()
    return rule.row(0, named=True) if rule.height else None


def rules_as_csv(file: TableFile, search: RuleSearch) -> Iterator[str]:
    """Write all matching rules as CSV, part by part, to keep few in memory."""
    order = find_rules(file, search)
    joined = pl.col(LISTS).list.join(" + ")
    yield take_rules(file, order[:0]).with_columns(joined).write_csv()
    for start in range(0, len(order), AT_ONCE):
        part = take_rules(file, order[start : start + AT_ONCE])
        yield part.with_columns(joined).write_csv(include_header=False)
