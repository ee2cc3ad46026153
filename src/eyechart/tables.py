"""The tables between the arrows: their columns, types and keys, and the check that holds them.

Ids are always text. Boxes are (left, top, right, bottom) in pixels. A schema names the columns it knows; further
columns (metadata to group by, more modalities) may stand beside them. docs/formats.md is the reader's version.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl
from polars.datatypes import DataType, DataTypeClass

from eyechart.errors import TableError

BOX = pl.Array(pl.Float64, 4)
OBJECT = pl.Struct({"label": pl.String, "box": BOX, "score": pl.Float64})
EVIDENCE = pl.Struct({"label": pl.String, "box": BOX})
SCORED_ANSWER = pl.Struct({"answer": pl.String, "score": pl.Float64})

STATUSES = ("ok", "refused", "unparsed", "failed")
SCORE_KINDS = ("prob", "logprob", "logit")
UNITS = ("points", "number", "count", "ratio")
DIRECTIONS = ("higher", "lower", "neither")  # of a measure: which way is better


@dataclass(frozen=True)
class Column:
    """What one column must be."""

    dtype: DataType | DataTypeClass
    required: bool = False
    nullable: bool = True


@dataclass(frozen=True)
class Rule:
    """What must hold in every row of a column, as an expression that is true or null there."""

    column: str
    expected: str
    holds: pl.Expr
    also: str | None = None  # a second column the expression reads; without it the rule is void


@dataclass(frozen=True)
class Schema:
    """The columns, key and rules of one kind of table."""

    name: str
    columns: Mapping[str, Column]
    key: tuple[str, ...]
    rules: Sequence[Rule] = field(default=())


def _required(dtype: DataType | DataTypeClass) -> Column:
    return Column(dtype, required=True, nullable=False)


def _sound(box: pl.Expr) -> pl.Expr:
    left, top, right, bottom = (box.arr.get(at) for at in range(4))
    # A NaN or infinite edge makes the sum not finite, so one test covers all four.
    return (left + top + right + bottom).is_finite() & (left <= right) & (top <= bottom)


def _sound_boxes(column: str) -> Rule:
    holds = pl.col(column).list.eval(_sound(pl.element().struct.field("box"))).list.all()
    return Rule(column, "finite boxes (left, top, right, bottom)", holds)


EXAMPLES = Schema(
    "examples",
    {
        "id": _required(pl.String),
        "image": Column(pl.String, required=True),
        "question": Column(pl.String, required=True),
        "answer": Column(pl.String, required=True),
        "answers": Column(pl.List(pl.String)),
        "relevance": Column(pl.List(pl.Float64)),
        "choices": Column(pl.List(pl.String)),
        "question_type": Column(pl.String),
        "answer_type": Column(pl.String),
        "split": Column(pl.String),
        "evidence": Column(pl.List(EVIDENCE)),
    },
    key=("id",),
    rules=(
        Rule("choices", "options without nulls", ~pl.col("choices").list.contains(None)),
        Rule(
            "choices",
            "options that hold the answer",
            pl.col("answer").is_null() | pl.col("choices").list.contains(pl.col("answer")),
        ),
        Rule(
            "relevance",
            "one relevance for each option",
            pl.col("relevance").list.len() == pl.col("choices").list.len(),
            also="choices",
        ),
        _sound_boxes("evidence"),
    ),
)

IMAGES = Schema(
    "images",
    {
        "image": _required(pl.String),
        "path": Column(pl.String),
        "width": Column(pl.Int64),
        "height": Column(pl.Int64),
        "objects": Column(pl.List(OBJECT)),
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
        "removal": Column(pl.String),
        "choices": Column(pl.List(pl.String)),
        "visible": Column(pl.List(pl.Int64)),
        "hidden": Column(pl.List(BOX)),
    },
    key=("id", "condition"),
)

ANSWERS = Schema(
    "answers",
    {
        "id": _required(pl.String),
        "condition": _required(pl.String),
        "draw": _required(pl.Int64),
        "probe": Column(pl.String, required=True),
        "answer": Column(pl.String, required=True),
        "raw": Column(pl.String, required=True),
        "status": _required(pl.String),
        "scores": Column(pl.List(SCORED_ANSWER)),
        "score_kind": Column(pl.String),
        "ranking": Column(pl.List(pl.String)),
        "attention": Column(pl.List(pl.Float64)),
    },
    key=("id", "condition", "draw"),
    rules=(
        Rule("status", f"one of {', '.join(STATUSES)}", pl.col("status").is_in(STATUSES)),
        Rule("score_kind", f"one of {', '.join(SCORE_KINDS)}", pl.col("score_kind").is_in(SCORE_KINDS)),
        Rule("draw", "0 or more", pl.col("draw") >= 0),
    ),
)

MEASURES = Schema(
    "measures",
    {
        "name": _required(pl.String),
        "of": Column(pl.String, required=True),
        "condition": Column(pl.String, required=True),
        "by": Column(pl.String, required=True),
        "group": Column(pl.String, required=True),
        "value": Column(pl.Float64, required=True),
        "low": Column(pl.Float64, required=True),
        "high": Column(pl.Float64, required=True),
        "n": _required(pl.Int64),
        "clusters": Column(pl.Int64, required=True),
        "score": Column(pl.String, required=True),
        "unit": Column(pl.String, required=True, nullable=False),
        "better": Column(pl.String, required=True, nullable=False),
        "p": Column(pl.Float64, required=True),
        "q": Column(pl.Float64, required=True),
        "note": Column(pl.String, required=True),
    },
    key=("name", "condition", "by", "group"),
    rules=(
        Rule("unit", f"one of {', '.join(UNITS)}", pl.col("unit").is_in(UNITS)),
        Rule("better", f"one of {', '.join(DIRECTIONS)}", pl.col("better").is_in(DIRECTIONS)),
    ),
)

COUNTS = Schema(
    "counts",
    {
        "condition": Column(pl.String, required=True),
        "status": _required(pl.String),
        "reason": Column(pl.String, required=True),
        "n": _required(pl.Int64),
    },
    key=("condition", "status", "reason"),
)

ROWS = Schema("rows", {"id": _required(pl.String)}, key=("id",))


def empty(schema: Schema) -> pl.DataFrame:
    """Make a table of a schema's required columns without a row."""
    return pl.DataFrame(schema={name: column.dtype for name, column in schema.columns.items() if column.required})


def check(table: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Return the table, or raise a TableError that names the column and the first bad row."""
    check_columns(table, schema)
    for name, column in schema.columns.items():
        if name in table.columns and not column.nullable:
            _refuse(table, schema, name, pl.col(name).is_null(), "a value in every row")
    key = pl.col(schema.key) if len(schema.key) == 1 else pl.struct(schema.key)  # a struct takes much more memory
    _refuse(table, schema, schema.key[0], ~key.is_first_distinct(), f"each {' + '.join(schema.key)} once")
    for rule in schema.rules:
        if rule.column in table.columns and (rule.also is None or rule.also in table.columns):
            _refuse(table, schema, rule.column, ~rule.holds, rule.expected)
    return table


def check_columns(table: pl.DataFrame, schema: Schema) -> None:
    """Refuse a table that lacks a column or has one of another type; its rows are not looked at."""
    for name, column in schema.columns.items():
        if name not in table.columns:
            if column.required:
                found = f"columns {', '.join(table.columns) or 'none at all'}"
                raise TableError(f"a column {name!r} in {schema.name}", found, "add it or map another onto it")
        elif table.schema[name] != column.dtype:
            expected = f"column {name!r} of {schema.name} to hold {column.dtype}"
            first = f", first value {table[name][0]!r}" if table.height else ""
            raise TableError(expected, f"{table.schema[name]}{first}", "cast the column before")


def _refuse(table: pl.DataFrame, schema: Schema, column: str, bad: pl.Expr, expected: str) -> None:
    rows = table.select(bad.fill_null(value=False).arg_true()).to_series()
    if len(rows) == 0:
        return
    row = int(rows[0])
    keys = ", ".join(f"{name}={table[name][row]!r}" for name in schema.key)
    found = f"{_short(table[column][row])} in row {row} ({keys}) and {len(rows) - 1} more"
    raise TableError(f"{expected} in column {column!r} of {schema.name}", found, "mend or leave out such rows")


def _short(value: object) -> str:
    text = repr(value.to_list()) if isinstance(value, pl.Series) else repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
