"""Read any table: Parquet, JSON, JSON lines, CSV, TSV, Arrow or xlsx, with one question per row.

Columns are recognised by our names, their usual aliases (`names.ALIASES`) or the names in a map; options wherever they
stand (`options`), references in any form (`references`). Without an id the number of a row, from 0, is its id. The
usual splits are renamed to train, val and test; a blank answer becomes null. Paths and objects move to the table of
images. Every other column stays as it is. Rows in = rows read + rows dropped. Large files are read in batches, all of
them as the first one is understood.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
from polars.exceptions import PolarsError

from eyechart.base.errors import FileFormatError, SettingError
from eyechart.data.dataset import Dataset
from eyechart.data.several import IMAGE_LIST, PLACES
from eyechart.data.stored import StoredTable
from eyechart.data.tables import EVIDENCE
from eyechart.formats.annotations import annotate, read_annotations
from eyechart.formats.choices import AnswerKind, decide_kinds, drop_stray_choices, gather_options, name_answers
from eyechart.formats.columns import as_key, as_text, as_texts, fill_majority
from eyechart.formats.description import described
from eyechart.formats.embedded import EmbeddedPictures, drop_damaged_pictures
from eyechart.formats.images import find_root, gather_images, move_to_images
from eyechart.formats.llava import name_turns
from eyechart.formats.names import ALIASES, EXAMPLE_COLUMNS, find_gold, find_origins, is_index_name, name_splits, rename
from eyechart.formats.objects import as_evidence, as_objects, picture_places
from eyechart.formats.options import (
    as_options,
    choose_option_columns,
    lists_options,
    take_off_labels,
    take_options_out,
)
from eyechart.formats.picture_lists import choose_lists, name_pictures
from eyechart.formats.recipes import Recipe, find_recipe, follow
from eyechart.formats.records import TABLE_FORMATS, Records, read_parts, reading, require_rows, stack
from eyechart.formats.references import (
    declare_numbers,
    holds_measurements,
    name_yes_no,
    says_one_and_zero,
    settle_references,
    takes_first,
    vote_again,
)
from eyechart.formats.rows import (
    CountedColumn,
    CountedTable,
    RowCount,
    count_table,
    drop_damaged,
    drop_repeated,
    dropped,
    find_unique_id,
    note_gaps,
    noted,
    read_rows,
)
from eyechart.formats.sources import SourceFile, find_sources, stem
from eyechart.formats.streaming import DECISIVE, MOVED, LoadedTable, Prepare, are_large, stream

_REQUIRED = ("id", "image", "question", "answer")
_TYPES: dict[str, Callable[[pl.Series, str], pl.Series]] = {
    **dict.fromkeys(("id", "image"), as_key),
    **dict.fromkeys(("question", "answer", "question_type", "answer_type", "split", "path"), as_text),
    **dict.fromkeys(("answers", "relevance"), as_texts),
    "choices": as_options,
}
_OBJECT_TYPES: dict[str, Callable[[pl.Series, str], CountedColumn]] = {"objects": as_objects, "evidence": as_evidence}
_FIT = 0.95  # share of the answers that must name one of the options found inside their questions


@described(
    needs="a table with one question a row: Parquet, JSON lines, JSON, CSV, TSV, Arrow or xlsx; --map renames columns",
    sample='{"id": "7", "image": "42", "question": "What colour is the bus?", "answer": "red"}\n'
    '{"id": "8", "image": "42", "question": "Is it raining?", "answer": "no"}',
)
def read_table(
    path: Path,
    *,
    map: dict[str, str] | None = None,  # noqa: A002 - the word people look for; the built-in is not used here
    answer_is: AnswerKind = "auto",
    split: str | None = None,
    detections: Path | None = None,
    images: Path | None = None,
    pictures: Path | None = None,
    annotations: Path | None = None,
) -> Dataset:
    """Read a table file, or all those in a folder or archive as one table.

    `map` names the file's column for ours, as in `{"question": "prompt"}`, several for an id or for options, as in
    `{"choices": "a0,a1,a2"}`, or the field of an object; `answer_is` decides whether answers with choices are the
    options' texts, letters or indices (`auto`: what fits all rows); `split` names the split of all rows; `detections`
    is a file of objects, `images` the folder that paths start from, `pictures` one to write the pictures to that are
    inside the file (default: that of the dataset), `annotations` a file with more columns for the same ids.
    """
    near = [folder for folder in (images, path if path.is_dir() else path.parent) if folder is not None]
    embedded = EmbeddedPictures(pictures, near, map["image"].split(",") if map and "image" in map else ())
    more = None if annotations is None else read_annotations(annotations)
    understood = Understanding(str(path), map or {}, answer_is, split, embedded, more)
    return read_sources(find_sources(path, TABLE_FORMATS), path, understood, detections, images=images)


def read_sources(
    sources: list[SourceFile],
    path: Path,
    understood: "Understanding",
    detections: Path | None = None,
    *,
    images: Path | None = None,
    strays: int = 0,
) -> Dataset:
    """Read files as one table; `strays` are entries of theirs that were no records and are left out already."""
    embedded = understood.embedded
    load = stream if are_large(sources) else _load
    rows = load(sources, path, understood.prepare, embedded)
    of_images, conflicts = move_to_images(rows.of_images)
    root = find_root(of_images, sources, path)
    found, gaps = gather_images(of_images, None if embedded.taken else images, detections, root)
    counts = [read_rows(rows.examples.height), dropped("entry that is not a record", rows.strays + strays)]
    counts += [*rows.counts, *conflicts, *gaps, *rows.gaps, *embedded.counts()]
    examples = rows.examples if understood.has_several else _without_lists(rows.examples)
    all_images, shown = embedded.images(found), understood.modalities(examples.columns)
    table_of_counts = count_table(counts)
    return Dataset(stem(path), examples, all_images, shown, shown[0], table_of_counts, layout=understood.layout)


@dataclass
class Understanding:
    """How the columns of a file are understood: decided by its first rows, and kept for the others."""

    origin: str
    map: Mapping[str, str]
    answer_is: AnswerKind
    split: str | None
    embedded: EmbeddedPictures
    annotations: pl.DataFrame | None = None  # more columns for the same ids
    layout: dict[str, str] = field(default_factory=dict)  # our column -> where it comes from
    kinds: tuple[AnswerKind, ...] = ()
    decided: dict[str, bool] = field(default_factory=dict)
    columns: pl.DataFrame | None = None  # of the first rows
    recipe: Recipe | None = None  # of the benchmark that has these columns
    lists: list[str] | None = None  # the columns that name the pictures of a row
    several: bool = False  # whether any row names more than one
    counts: list[RowCount] = field(default_factory=list)

    def prepare(self, table: pl.DataFrame, first: int) -> CountedTable:
        """Turn rows of the file into examples."""
        self.counts = []
        named = self._count(drop_damaged_pictures(self._add_columns(self._name_columns(table), first)))
        typed = self._count(type_columns(settle_references(named, self.origin), self.origin))
        sound = self._settle_splits(self._count(drop_damaged(typed)))
        whole = self._settle_answers(sound)
        unique = self._count(drop_repeated(whole))
        if first == 0 and unique.height < whole.height:
            self.layout["unique id"] = ",".join(find_unique_id(table, self.layout["id"]))
        if self.columns is None:
            self.columns = unique.clear()
        elif unique.columns != self.columns.columns:
            lacking = [name for name in self.columns.columns if name not in unique.columns]
            unique = unique.with_columns(pl.lit(None, self.columns[name].dtype).alias(name) for name in lacking)
            further = [name for name in unique.columns if name not in self.columns.columns]
            unique = unique.select(*self.columns.columns, *further)
        return CountedTable(unique, self.counts)

    @property
    def has_several(self) -> bool:
        """Return whether any row has several pictures, as far as we listed them."""
        is_ours = not (self.embedded.taken or self.lists)
        return is_ours or self.embedded.have_several or self.several

    def modalities(self, columns: Collection[str]) -> tuple[str, ...]:
        """Return what is shown of an example; examples that share the first of these depend on each other."""
        return ("image", "question") if self.recipe is None else self.recipe.modalities(columns)

    def _count(self, counted: CountedTable) -> pl.DataFrame:
        self.counts += counted.counts
        return counted.table

    def _name_columns(self, table: pl.DataFrame) -> pl.DataFrame:
        table = self.embedded.take(table)
        if self.annotations is not None:
            chosen = {ours: theirs for ours, theirs in self.map.items() if ours == "id"}
            table = self._count(annotate(table, self.annotations, chosen, self.origin))
        named = self._name_pictures(name_turns(table, self.origin))
        self.recipe = find_recipe(named.columns)
        if self.recipe is not None:
            named = self._count(follow(self.recipe, named, self.map))
            self.answer_is = self.recipe.answer_is if self.answer_is == "auto" else self.answer_is
        # A mapped column whose pictures were taken has become `image` already.
        taken = {"image"} if self.embedded.taken or self.lists else set()
        chosen = {ours: theirs for ours, theirs in self.map.items() if ours not in taken}
        if "question" not in chosen:
            named = _name_text(named)
        built, origins = find_origins(named, EXAMPLE_COLUMNS, ALIASES, chosen)
        if "answer" not in chosen:
            find_gold(built, origins.get("answer"), self.origin)
        self.layout = self.layout or origins
        return self._count(rename(named, EXAMPLE_COLUMNS, ALIASES, chosen))

    def _name_pictures(self, table: pl.DataFrame) -> pl.DataFrame:
        """Gather the files that several columns, or lists, name as the pictures of a row."""
        if self.embedded.taken:
            return table
        if self.lists is None:
            self.lists = choose_lists(table, self.origin, self.map["image"].split(",") if "image" in self.map else ())
        if not self.lists:
            return table
        named = name_pictures(table, self.lists)
        self.layout["image"] = ", ".join(self.lists)
        self.several = self.several or bool((named[IMAGE_LIST].list.len() > 1).any())
        return named

    def _add_columns(self, table: pl.DataFrame, first: int) -> pl.DataFrame:
        """Add the columns that every dataset has, and gather options that have a column each."""
        if "question" not in table.columns:
            found = f"columns {', '.join(table.columns) or 'none at all'}"
            advice = "say which it is with map, as in `eyechart read table FILE -o DATA --map question=text`"
            raise SettingError(f"a column 'question' in {self.origin}", found, advice)
        if "id" not in table.columns:
            table = table.with_columns(id=first + pl.int_range(pl.len()))
            self.counts.append(noted("row without an id column: its number is its id", table.height))
            self.layout["id"] = "the row's number"
        if "image" not in table.columns:
            table = table.with_columns(image=pl.col("path") if "path" in table.columns else pl.lit(None, pl.String))
        if "answer" not in table.columns:
            table = table.with_columns(answer=pl.lit(None, pl.String))
        options = () if "choices" in table.columns else choose_option_columns(table.columns, self.origin)
        if options:
            table = gather_options(table, self.origin, options)
            self.layout["choices"] = f"{options[0]} to {options[-1]}"
        return table.select(*_REQUIRED, pl.exclude(_REQUIRED))

    def _settle_splits(self, table: pl.DataFrame) -> pl.DataFrame:
        if self.split is not None:
            return table.with_columns(split=pl.lit(self.split))
        return self._count(name_splits(table)) if "split" in table.columns else table

    def _settle_answers(self, table: pl.DataFrame) -> pl.DataFrame:
        if "choices" not in table.columns and self._decide(_lists_options, table):
            table = take_options_out(table)
            self.counts.append(noted("row whose options were inside its question", table["choices"].count()))
            self.layout["choices"] = "inside the question"
        if "choices" in table.columns:
            # An empty list stands in open questions.
            table = table.with_columns(choices=pl.when(pl.col("choices").list.len() > 0).then("choices"))
            bare = take_off_labels(table, always=self.decided.get("labels", False))
            self.decided.setdefault("labels", bool(bare.counts))
            table = self._name_answers(self._count(bare))
        if self._decide(takes_first, table):
            table = self._count(vote_again(table))
        table = fill_majority(table)
        if "choices" in table.columns:
            table = self._count(drop_stray_choices(table))
        if self._decide(says_one_and_zero, table):
            table = self._count(name_yes_no(table))
        return self._count(declare_numbers(table)) if self._decide(holds_measurements, table) else table

    def _decide(self, question: Callable[[pl.DataFrame], bool], table: pl.DataFrame) -> bool:
        """Ask a question about the first rows, and remember the answer for the others."""
        if question.__name__ not in self.decided:
            self.decided[question.__name__] = question(table)
        return self.decided[question.__name__]

    def _name_answers(self, table: pl.DataFrame) -> pl.DataFrame:
        if self.answer_is == "auto" and not self.kinds:
            named_index = is_index_name(self.layout.get("answer", ""))
            self.kinds = decide_kinds(table, origin=self.origin, named_index=named_index)
            kind = self.kinds[0].replace("index", "index from 0").replace("0-from-1", "1")
            self.layout["answer"] = f"{self.layout.get('answer', 'answer')} ({kind})"
        return self._count(name_answers(table, self.answer_is, decided=self.kinds))


def _lists_options(table: pl.DataFrame) -> bool:
    """Return whether the questions list options, and nearly all answers name one of them."""
    if not lists_options(table["question"]):
        return False
    bare = take_off_labels(take_options_out(table)).table
    rows = bare.filter(pl.col("choices").is_not_null() & pl.col("answer").is_not_null())
    return name_answers(rows, "auto").table.height >= _FIT * rows.height


def _name_text(table: pl.DataFrame) -> pl.DataFrame:
    """Call a column `text` the question if nothing else is one, and most of its texts ask."""
    if "text" not in table.columns or "question" in find_origins(table, ("question",), ALIASES)[1]:
        return table
    texts = table["text"]
    asks = texts.dtype == pl.String and 2 * int(texts.str.contains("?", literal=True).sum()) > len(texts)
    return table.rename({"text": "question"}) if asks else table


def type_columns(table: pl.DataFrame, origin: str) -> CountedTable:
    """Convert the columns we know to their types; an unreadable list becomes null and is noted."""
    counts: list[RowCount] = []
    for name in (name for name in _TYPES if name in table.columns):
        typed = _TYPES[name](table[name], origin)
        lost = typed.null_count() - table[name].null_count()
        counts.append(noted(f"value of {name!r} that cannot be read, left out", lost))
        table = table.with_columns(typed.alias(name))
    places = picture_places(table["evidence"]) if "evidence" in table.columns else None
    if places is not None:
        table = table.with_columns(places.alias(PLACES["evidence"]))
    for name in (name for name in _OBJECT_TYPES if name in table.columns):
        column, more = _OBJECT_TYPES[name](table[name], origin)
        counts += more
        table = table.with_columns(column.alias(name))
    return CountedTable(_type_evidence(table, origin), counts)


def _type_evidence(table: pl.DataFrame, origin: str) -> pl.DataFrame:
    if "evidence" in table.columns:
        pair = pl.struct(pl.element().struct.field("label"), pl.element().struct.field("box"))
        table = table.with_columns(pl.col("evidence").list.eval(pair).cast(pl.List(EVIDENCE)))
    for name in (name for name in ("relevance", "weights") if name in table.columns):
        try:
            table = table.with_columns(pl.col(name).cast(pl.List(pl.Float64)))
        except PolarsError:
            found = "other values in some rows"
            raise FileFormatError(f"numbers in column {name!r} of {origin}", found, "write lists of numbers") from None
    return table


def _load(sources: list[SourceFile], path: Path, prepare: Prepare, embedded: EmbeddedPictures) -> LoadedTable:
    parts: list[Records] = []
    for source in sources:
        with reading(source):
            parts += read_parts(source, embedded)
    records = require_rows(stack(parts, sources), str(path))
    if records.table.height > DECISIVE:
        prepare(records.table.head(DECISIVE), 0)
    prepared, counts = prepare(records.table, 0)
    examples = prepared.drop(MOVED, strict=False)
    return LoadedTable(examples, prepared, counts, note_gaps(prepared), records.strays)


def _without_lists(examples: pl.DataFrame | StoredTable) -> pl.DataFrame | StoredTable:
    """Leave out the lists of pictures: none of them has several."""
    return examples.select([name for name in examples.columns if name != IMAGE_LIST])
