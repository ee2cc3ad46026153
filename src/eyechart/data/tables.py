"""Define the tables passed between steps: their columns, types and keys, and the check that enforces them.

Ids are always text. Boxes are (left, top, right, bottom) in pixels. A schema lists the columns it knows; a table may
have further ones (metadata to group by, more modalities). docs/formats.md describes them for readers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NoReturn

import polars as pl
from polars.datatypes import DataType, DataTypeClass

from eyechart.base.errors import TableError, and_more

BOX = pl.Array(pl.Float64, 4)
OBJECT = pl.Struct({"label": pl.String, "box": BOX, "score": pl.Float64})
PICTURE = pl.Struct({"image": pl.String, "time": pl.Float64})
EVIDENCE = pl.Struct({"label": pl.String, "box": BOX})
# What a picture is shown by: its name, and what is hidden in it and how.
PICTURE_COLUMNS: dict[str, DataType | DataTypeClass] = {
    "image": pl.String,
    "removal": pl.String,
    "hidden": pl.List(BOX),
    "hidden_pictures": pl.List(pl.Int64),
}
SCORED_ANSWER = pl.Struct({"answer": pl.String, "score": pl.Float64})

STATUSES = ("ok", "refused", "unparsed", "failed")
SCORE_KINDS = ("prob", "logprob", "logit")
UNITS = ("points", "number", "count", "ratio")
DIRECTIONS = ("higher", "lower", "neither")  # of a measure: which direction is better


@dataclass(frozen=True)
class ColumnSpec:
    """The type of a column, and whether it is required and nullable."""

    dtype: DataType | DataTypeClass
    required: bool = False
    nullable: bool = True


@dataclass(frozen=True)
class Constraint:
    """A constraint on every row of a column: an expression that must be true or null."""

    column: str
    expected: str
    holds: pl.Expr
    also: str | None = None  # a second column that the expression reads; without it the constraint does not apply


@dataclass(frozen=True)
class Schema:
    """The columns, key and constraints of one kind of table."""

    name: str
    columns: Mapping[str, ColumnSpec]
    key: tuple[str, ...]
    rules: Sequence[Constraint] = field(default=())


def _required(dtype: DataType | DataTypeClass) -> ColumnSpec:
    return ColumnSpec(dtype, required=True, nullable=False)


def _sound(box: pl.Expr) -> pl.Expr:
    left, top, right, bottom = (box.arr.get(i) for i in range(4))
    # A NaN or infinite edge makes the sum not finite, so one test covers all four.
    return (left + top + right + bottom).is_finite() & (left <= right) & (top <= bottom)


def _sound_boxes(column: str) -> Constraint:
    holds = pl.col(column).list.eval(_sound(pl.element().struct.field("box"))).list.all()
    return Constraint(column, "finite boxes (left, top, right, bottom)", holds)


def _places(column: str, boxes: str) -> tuple[Constraint, Constraint]:
    """Require a position of a picture, from 0, for each of the boxes of another column."""
    each = Constraint(
        column, f"one position for each box of {boxes!r}", pl.col(column).list.len() == pl.col(boxes).list.len(), boxes
    )
    return each, Constraint(column, "positions of pictures from 0", pl.col(column).list.min() >= 0)


EXAMPLES = Schema(
    "examples",
    {
        "id": _required(pl.String),
        "image": ColumnSpec(pl.String, required=True),
        "question": ColumnSpec(pl.String, required=True),
        "answer": ColumnSpec(pl.String, required=True),
        "answers": ColumnSpec(pl.List(pl.String)),
        "weights": ColumnSpec(pl.List(pl.Float64)),
        "relevance": ColumnSpec(pl.List(pl.Float64)),
        "choices": ColumnSpec(pl.List(pl.String)),
        "question_type": ColumnSpec(pl.String),
        "answer_type": ColumnSpec(pl.String),
        "split": ColumnSpec(pl.String),
        "evidence": ColumnSpec(pl.List(EVIDENCE)),
        "evidence_pictures": ColumnSpec(pl.List(pl.Int64)),
    },
    key=("id",),
    rules=(
        Constraint("choices", "options without nulls", ~pl.col("choices").list.contains(None)),
        Constraint(
            "choices",
            "options that include the answer",
            pl.col("answer").is_null() | pl.col("choices").list.contains(pl.col("answer")),
        ),
        Constraint(
            "relevance",
            "one relevance for each option",
            pl.col("relevance").list.len() == pl.col("choices").list.len(),
            also="choices",
        ),
        Constraint(
            "weights",
            "one weight for each answer",
            pl.col("weights").list.len() == pl.col("answers").list.len(),
            also="answers",
        ),
        _sound_boxes("evidence"),
        *_places("evidence_pictures", "evidence"),
    ),
)

IMAGES = Schema(
    "images",
    {
        "image": _required(pl.String),
        "path": ColumnSpec(pl.String),
        "width": ColumnSpec(pl.Int64),
        "height": ColumnSpec(pl.Int64),
        "objects": ColumnSpec(pl.List(OBJECT)),
        "pictures": ColumnSpec(pl.List(PICTURE)),
    },
    key=("image",),
    rules=(_sound_boxes("objects"),),
)

PROBES = Schema(
    "probes",
    {
        "id": _required(pl.String),
        "condition": _required(pl.String),
        "probe": _required(pl.String),
        "removal": ColumnSpec(pl.String),
        "choices": ColumnSpec(pl.List(pl.String)),
        "visible": ColumnSpec(pl.List(pl.Int64)),
        "hidden": ColumnSpec(pl.List(BOX)),
        "pictures": ColumnSpec(pl.List(pl.Int64)),
        "hidden_pictures": ColumnSpec(pl.List(pl.Int64)),
    },
    key=("id", "condition"),
    rules=_places("hidden_pictures", "hidden"),
)

ANSWERS = Schema(
    "answers",
    {
        "id": _required(pl.String),
        "condition": _required(pl.String),
        "draw": _required(pl.Int64),
        "probe": ColumnSpec(pl.String, required=True),
        "answer": ColumnSpec(pl.String, required=True),
        "raw": ColumnSpec(pl.String, required=True),
        "status": _required(pl.String),
        "scores": ColumnSpec(pl.List(SCORED_ANSWER)),
        "score_kind": ColumnSpec(pl.String),
        "ranking": ColumnSpec(pl.List(pl.String)),
        "attention": ColumnSpec(pl.List(pl.Float64)),
        "stop_reason": ColumnSpec(pl.String),
        "model_name": ColumnSpec(pl.String),
    },
    key=("id", "condition", "draw"),
    rules=(
        Constraint("status", f"one of {', '.join(STATUSES)}", pl.col("status").is_in(STATUSES)),
        Constraint("score_kind", f"one of {', '.join(SCORE_KINDS)}", pl.col("score_kind").is_in(SCORE_KINDS)),
        Constraint("draw", "0 or more", pl.col("draw") >= 0),
    ),
)

MEASURES = Schema(
    "measures",
    {
        "name": _required(pl.String),
        "of": ColumnSpec(pl.String, required=True),
        "condition": ColumnSpec(pl.String, required=True),
        "by": ColumnSpec(pl.String, required=True),
        "group": ColumnSpec(pl.String, required=True),
        "value": ColumnSpec(pl.Float64, required=True),
        "low": ColumnSpec(pl.Float64, required=True),
        "high": ColumnSpec(pl.Float64, required=True),
        "n": _required(pl.Int64),
        "clusters": ColumnSpec(pl.Int64, required=True),
        "score": ColumnSpec(pl.String, required=True),
        "unit": ColumnSpec(pl.String, required=True, nullable=False),
        "better": ColumnSpec(pl.String, required=True, nullable=False),
        "p": ColumnSpec(pl.Float64, required=True),
        "q": ColumnSpec(pl.Float64, required=True),
        "note": ColumnSpec(pl.String, required=True),
    },
    key=("name", "condition", "by", "group"),
    rules=(
        Constraint("unit", f"one of {', '.join(UNITS)}", pl.col("unit").is_in(UNITS)),
        Constraint("better", f"one of {', '.join(DIRECTIONS)}", pl.col("better").is_in(DIRECTIONS)),
    ),
)

COUNTS = Schema(
    "counts",
    {
        "condition": ColumnSpec(pl.String, required=True),
        "status": _required(pl.String),
        "reason": ColumnSpec(pl.String, required=True),
        "n": _required(pl.Int64),
    },
    key=("condition", "status", "reason"),
)

ROWS = Schema("rows", {"id": _required(pl.String)}, key=("id",))


def empty(schema: Schema) -> pl.DataFrame:
    """Return a table with the required columns of a schema and no rows."""
    return pl.DataFrame(schema={name: column.dtype for name, column in schema.columns.items() if column.required})


def empty_counts() -> pl.DataFrame:
    """Return an empty table of counts, for a result that counts nothing."""
    return empty(COUNTS)


def check(table: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Return the table, or raise a TableError that names the column and the first bad row."""
    check_columns(table, schema)
    faults = list(_possible_faults(table, schema))
    found = table.select(bad.any().alias(str(at)) for at, (_, bad, _) in enumerate(faults)).row(0)
    for is_found, fault in zip(found, faults, strict=True):
        if is_found:
            _refuse(table, schema, *fault)
    return table


def _possible_faults(table: pl.DataFrame, schema: Schema) -> Iterator[tuple[str, pl.Expr, str]]:
    """List what could be wrong: the column, the rows where it is (or null, where it is not), and what is expected."""
    for name, column in schema.columns.items():
        if name in table.columns and not column.nullable:
            yield name, pl.col(name).is_null(), "a value in every row"
    key = pl.col(schema.key) if len(schema.key) == 1 else pl.struct(schema.key)  # a struct takes much more memory
    yield schema.key[0], ~key.is_first_distinct(), f"each {' + '.join(schema.key)} once"
    for rule in schema.rules:
        if rule.column in table.columns and (rule.also is None or rule.also in table.columns):
            yield rule.column, ~rule.holds, rule.expected


def check_columns(table: pl.DataFrame, schema: Schema) -> None:
    """Reject a table that lacks a column or has one of another type, without reading its rows."""
    for name, column in schema.columns.items():
        if name not in table.columns:
            if column.required:
                found = f"columns {', '.join(table.columns) or 'none at all'}"
                raise TableError(f"a column {name!r} in {schema.name}", found, "add it, or map another column to it")
        elif table.schema[name] != column.dtype:
            expected = f"column {name!r} of {schema.name} to hold {column.dtype}"
            first = f", first value {table[name][0]!r}" if table.height else ""
            raise TableError(expected, f"{table.schema[name]}{first}", "cast the column first")


def _refuse(table: pl.DataFrame, schema: Schema, column: str, bad: pl.Expr, expected: str) -> NoReturn:
    rows = table.select(bad.fill_null(value=False).arg_true()).to_series()
    row = int(rows[0])
    keys = ", ".join(f"{name}={table[name][row]!r}" for name in schema.key)
    found = f"{_short(table[column][row])} in row {row} ({keys}){and_more(len(rows) - 1)}"
    raise TableError(f"{expected} in column {column!r} of {schema.name}", found, "correct or remove these rows")


def _short(value: object) -> str:
    text = repr(value.to_list()) if isinstance(value, pl.Series) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
