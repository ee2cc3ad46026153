"""Find examples by text, by group, and by the outcome of a model's answers.

Facets are the columns to filter and sort by: those of the data, of every study, and of the results of one model.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import polars as pl

from eyechart.data.furniture import ROWS_PER_PAGE, ExplorerQuery
from eyechart.data.store import Store
from eyechart.data.stored import TableFile
from eyechart.viewing import inventory
from eyechart.viewing.scores import RIGHT, scored

MOST_VALUES = 40  # of a column to filter by
NOT_GROUPS = ("id", "image", "question", "answer", "cluster")
NONE = "(none)"
RESULT = "result."  # prefix of the columns of the chosen model's results


class Facet(NamedTuple):
    """A column with its values and the number of examples with each."""

    name: str
    values: tuple[tuple[str, int], ...]


def column_files(store: Store, model: str = "") -> list[tuple[str, TableFile]]:
    """List the files with columns of examples, each with the prefix of its column names."""
    files = [("", store.examples)]
    files += [(f"{audit}.", rows) for audit in store.studies() if (rows := store.rows(audit))]
    for audit in store.results().get(model, ()):
        rows = store.rows(audit, model)
        files += [(f"{RESULT}{audit}.", rows)] if rows else []
    return files


def facets(store: Store, model: str = "") -> list[Facet]:
    """List the columns with few values, leaving out a result's columns that its study has too."""
    by_name: dict[str, Facet] = {}
    for prefix, file in column_files(store, model):
        for column in groups_of(file):
            if not prefix.startswith(RESULT) or f"{prefix.removeprefix(RESULT)}{column.name}" not in by_name:
                by_name[prefix + column.name] = Facet(prefix + column.name, column.values)
    return list(by_name.values())


def numbers(store: Store, model: str = "") -> list[str]:
    """List the numeric columns, to sort by."""
    return [prefix + name for prefix, file in column_files(store, model) for name in _number_columns(file)]


def locate(store: Store, name: str, model: str = "") -> tuple[TableFile, str] | None:
    """Find the file and the column that a name refers to."""
    for prefix, file in reversed(column_files(store, model)):
        column = name.removeprefix(prefix)
        if name.startswith(prefix) and column in file.scan().collect_schema():
            return file, column
    return None


@lru_cache(maxsize=256)
def groups_of(file: TableFile) -> tuple[Facet, ...]:
    """Count the values of each text or boolean column with few of them."""
    return tuple(_count(file))


def as_text(column: str) -> pl.Expr:
    """Convert the values of a column to text, missing ones to NONE."""
    return pl.col(column).cast(pl.String).fill_null(NONE)


def _count(file: TableFile) -> Iterator[Facet]:
    schema = file.scan().collect_schema()
    texts = [name for name, kind in schema.items() if kind in (pl.String, pl.Boolean) and name not in NOT_GROUPS]
    if not texts:
        return
    unique_counts = file.scan().select(pl.col(texts).n_unique()).collect().row(0, named=True)
    for name in texts:
        if 1 < unique_counts[name] <= MOST_VALUES:
            counted = file.scan().group_by(as_text(name).alias("value")).len().sort("len", "value", descending=True)
            yield Facet(name, tuple(counted.collect().iter_rows()))


@lru_cache(maxsize=256)
def _number_columns(file: TableFile) -> tuple[str, ...]:
    return tuple(name for name, kind in file.scan().collect_schema().items() if kind.is_numeric())


FATES = ("right", "wrong", "unanswered")
KEPT = 16  # orders in memory
AT_ONCE = 20_000  # examples written to CSV
SHOWN = ("id", "image", "question", "answer", "question_type", "split")


@dataclass(frozen=True)
class ExampleSearch:
    """A search: which examples to list, and in which order."""

    text: str = ""
    where: tuple[tuple[str, str], ...] = ()  # column, value
    has: tuple[str, ...] = ()  # columns with a value
    model: str = ""
    condition: str = ""
    fate: str = ""
    sort: str = ""
    down: bool = False


def read_search(query: ExplorerQuery, store: Store) -> ExampleSearch:
    """Read a search from an address, ignoring unknown names."""
    model = query.one_of("model", inventory.models(store))
    conditions = inventory.conditions_of(store, model) if model else []
    groups = [group.partition("=")[::2] for group in query.all("where")]
    sort = query.get("sort")
    return ExampleSearch(
        text=query.get("text").strip().lower(),
        where=tuple((name, value) for name, value in groups if locate(store, name, model)),
        has=tuple(name for name in query.all("has") if locate(store, name, model)),
        model=model,
        condition=query.one_of("condition", conditions, conditions[0] if conditions else ""),
        fate=query.one_of("fate", FATES) if conditions else "",
        sort=sort if (sort == "score" and model) or locate(store, sort, model) else "",
        down=query.get("way") == "down",
    )


def find_examples(store: Store, search: ExampleSearch) -> pl.Series:
    """List the ids of the matching examples, in order."""
    answers = store.answers_under(search.model, search.condition) if search.model else None
    names = (*(name for name, _ in search.where), *search.has, search.sort)
    files = [column[0] for name in names if (column := _locate(store, name, search))]
    return _find(store, search, (store.examples, answers, *files))


def take_examples(store: Store, search: ExampleSearch, ids: pl.Series) -> pl.DataFrame:
    """Read examples by id, in that order, with the answers of the chosen model."""
    scan = store.examples.scan()
    shown = [name for name in SHOWN if name in scan.collect_schema()]
    examples = scan.filter(pl.col("id").is_in(ids.implode())).select(shown).collect()
    ordered = ids.to_frame("id").join(examples, on="id", how="left", validate="1:1", maintain_order="left")
    if search.model:
        answers = scored(store, search.model, search.condition)
        ordered = ordered.join(answers, on="id", how="left", validate="1:1", maintain_order="left")
    key = None if search.sort == "score" else _locate(store, search.sort, search)
    if key and key[1] not in ordered.columns:
        values = key[0].scan().filter(pl.col("id").is_in(ids.implode())).select("id", pl.col(key[1]).alias(search.sort))
        ordered = ordered.join(values.collect(), on="id", how="left", validate="1:1", maintain_order="left")
    return ordered


def page_of_examples(store: Store, search: ExampleSearch, start: int) -> list[dict[str, Any]]:
    """Read one page of examples."""
    return take_examples(store, search, find_examples(store, search)[start : start + ROWS_PER_PAGE]).to_dicts()


def examples_as_csv(store: Store, search: ExampleSearch, ids: pl.Series) -> Iterator[str]:
    """Write examples in parts, to keep only a few in memory."""
    yield take_examples(store, search, ids[:0]).write_csv()
    for start in range(0, len(ids), AT_ONCE):
        yield take_examples(store, search, ids[start : start + AT_ONCE]).write_csv(include_header=False)


@lru_cache(maxsize=KEPT)
def _find(store: Store, search: ExampleSearch, _stamps: tuple[TableFile | None, ...]) -> pl.Series:
    scan = store.examples.scan().select("id", "question", "answer").with_row_index("row")
    if search.text:
        scan = scan.filter(_has_text(search.text))
    scan = scan.select("row", "id")
    for name, value in search.where:
        column = _locate(store, name, search)
        if column:
            group = column[0].scan().filter(as_text(column[1]) == value).select("id")
            scan = scan.join(group, on="id", how="semi")
    for name in search.has:
        column = _locate(store, name, search)
        if column:
            measured = column[0].scan().filter(pl.col(column[1]).is_not_null()).select("id")
            scan = scan.join(measured, on="id", how="semi")
    if search.fate or search.sort == "score":
        scan = _by_fate(scan, scored(store, search.model, search.condition), search.fate)
    return _sorted(store, scan, search).select("id").collect()["id"]


def _locate(store: Store, name: str, search: ExampleSearch) -> tuple[TableFile, str] | None:
    return locate(store, name, search.model) if name else None


def _has_text(text: str) -> pl.Expr:
    question, answer = (pl.col(name).str.to_lowercase() for name in ("question", "answer"))
    return question.str.contains(text, literal=True) | (answer == text) | (pl.col("id").str.to_lowercase() == text)


def _by_fate(scan: pl.LazyFrame, scores: pl.DataFrame, fate: str) -> pl.LazyFrame:
    how: Any = "left" if fate in ("", "unanswered") else "inner"
    joined = scan.join(scores.lazy(), on="id", how=how, validate="1:1")
    usable = pl.col("given").is_not_null()
    kept = {
        "right": usable & (pl.col("score") >= RIGHT),
        "wrong": usable & (pl.col("score") < RIGHT),
        "unanswered": ~usable,
        "": pl.lit(value=True),
    }
    return joined.filter(kept[fate])


def _sorted(store: Store, scan: pl.LazyFrame, search: ExampleSearch) -> pl.LazyFrame:
    order = search.sort
    column = None if order in ("", "score") else _locate(store, order, search)
    if column:
        key = column[0].scan().select("id", pl.col(column[1]).alias("key"))
        scan, order = scan.join(key, on="id", how="left", validate="1:1"), "key"
    by = [order, "row"] if order else ["row"]
    down = [search.down, False] if order else [search.down]
    return scan.sort(by, descending=down, nulls_last=True)
