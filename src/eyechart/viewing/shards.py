"""The examples of a run as shards: scripts of some hundred examples each, which a page on disk loads as it needs them.

A light index of all examples can be searched; the shards hold everything about an example: what is shown of it under
each condition, and every model's first answers.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.store import Store
from eyechart.reporting.glance import ModelLine
from eyechart.viewing import inventory
from eyechart.viewing.scores import RIGHT, scored

PER_INDEX = 2000  # examples in a part of the index
PER_SHARD = 250
DIGITS = 3  # of the values in the index
COLUMNS = ("id", "question", "answer", "answers", "choices", "split", "question_type")


@dataclass(frozen=True)
class Shards:
    """All examples of a run in their order, with answers, what is shown, and the values behind the cells."""

    examples: pl.DataFrame
    answers: Mapping[str, Mapping[str, pl.DataFrame]]  # by model and condition: said, right
    shown: Mapping[str, pl.DataFrame]  # by condition: what differs from the example as it is
    values: Mapping[str, Mapping[str, pl.Series]]  # by model and audit, of the measure that the verdict rests on

    @classmethod
    def gather(cls, store: Store, lines: tuple[ModelLine, ...], pictures: Mapping[str, int]) -> "Shards":
        """Gather the examples; `pictures` numbers the images that have a picture."""
        scan = store.examples.scan()
        kept = [name for name in (*COLUMNS, "image") if name in scan.collect_schema()]
        numbers = pl.DataFrame({"image": list(pictures), "picture": list(pictures.values())}, schema=_PICTURED)
        examples = scan.select(kept).collect().join(numbers, on="image", how="left", maintain_order="left")
        sizes = [name for name in ("width", "height") if name in store.images.scan().collect_schema()]
        table = store.images.scan().select("image", *sizes).collect()
        examples = examples.join(table, on="image", how="left", maintain_order="left")
        ids = examples.select("id")
        return cls(
            examples.drop("image"),
            {model: _answers(store, model, ids) for model in inventory.models(store)},
            {name: _shown(store, name, examples) for name in inventory.conditions(store)},
            {line.model: _values(store, line, ids) for line in lines},
        )

    def index(self) -> Iterator[str]:
        """Write the parts of the index."""
        light = [name for name in ("id", "question", "answer", "split", "picture") if name in self.examples.columns]
        for number, start in enumerate(range(0, self.examples.height, PER_INDEX)):
            rows = slice(start, start + PER_INDEX)
            plain = {model: given[PLAIN_CONDITION] for model, given in self.answers.items() if PLAIN_CONDITION in given}
            part = self.examples.select(light)[rows].to_dict(as_series=False) | {
                "said": {model: given["said"][rows].to_list() for model, given in plain.items()},
                "right": {model: _marks(given["right"][rows]) for model, given in plain.items()},
                "values": {
                    model: {audit: series[rows].to_list() for audit, series in own.items()}
                    for model, own in self.values.items()
                },
            }
            yield _script("index", number, part)

    def shards(self) -> Iterator[str]:
        """Write the shards."""
        for number, start in enumerate(range(0, self.examples.height, PER_SHARD)):
            rows = slice(start, start + PER_SHARD)
            given = {
                (model, name): own
                for model, by_condition in self.answers.items()
                for name, table in by_condition.items()
                if _has_any(own := table[rows])
            }
            texts = pl.concat([_NO_TEXT, *(table["said"] for table in given.values())]).drop_nulls().unique().sort()
            part: dict[str, Any] = self.examples[rows].to_dict(as_series=False) | {
                "texts": texts.to_list(),
                "given": {model: {} for model, _ in given},
                "shown": {name: _as_lists(table[rows]) for name, table in self.shown.items() if _has_any(table[rows])},
            }
            for (model, name), table in given.items():
                said = table["said"].replace_strict(texts, range(len(texts)), default=None, return_dtype=pl.Int64)
                part["given"][model][name] = {"said": said.to_list(), "right": _marks(table["right"])}
            yield _script("shard", number, part)


_NO_TEXT = pl.Series("said", [], pl.String)
_PICTURED = {"image": pl.String, "picture": pl.Int64}


def _script(kind: str, number: int, part: Mapping[str, Any]) -> str:
    return f"bundle.{kind}({number},{json.dumps(part, ensure_ascii=False, separators=(',', ':'))});\n"


def _marks(right: pl.Series) -> str:
    """Write a sign for each example: 1 for right, 0 for wrong, - for not scored."""
    marks: str = right.cast(pl.String).fill_null("-").str.join("").item()
    return marks


def _as_lists(table: pl.DataFrame) -> dict[str, list[Any]]:
    """Convert a table to lists, without the columns that have no values."""
    return {each.name: each.to_list() for each in table if each.null_count() < len(each)}


def _has_any(table: pl.DataFrame) -> bool:
    return any(each.null_count() < len(each) for each in table)


def _answers(store: Store, model: str, ids: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Line up the first answers of a model with the examples, and whether they are right."""
    right = pl.when(pl.col("given").is_not_null()).then((pl.col("score") >= RIGHT).cast(pl.Int8))
    said = pl.coalesce("given", "status").alias("said")
    return {
        name: ids.join(
            scored(store, model, name).select("id", said, right.alias("right")),
            on="id",
            how="left",
            validate="1:1",
            maintain_order="left",
        ).drop("id")
        for name in inventory.conditions_of(store, model)
    }


def _shown(store: Store, condition: str, examples: pl.DataFrame) -> pl.DataFrame:
    """Line up with the examples what a condition shows: picture, question, options and hidden boxes."""
    file = store.probe_keys(condition)
    if file is None:
        return examples.select(pl.lit(None).alias("asked"))
    known = file.scan().collect_schema()
    wanted = [name for name in ("image_from", "question_from", "choices", "hidden", "removal") if name in known]
    probes = file.scan().select("id", *wanted).rename({"choices": "offered"}, strict=False).collect()
    beside = examples.select("id").join(probes.with_columns(asked=1), on="id", how="left", maintain_order="left")
    columns = [pl.col("asked")]
    for modality, own in (("image", "picture"), ("question", "question")):
        if f"{modality}_from" in wanted and own in examples.columns:
            givers = examples.select(pl.col("id").alias(f"{modality}_from"), pl.col(own).alias(f"{own} shown"))
            beside = beside.join(givers, on=f"{modality}_from", how="left", maintain_order="left")
            is_other = pl.col(f"{modality}_from").ne_missing(pl.col("id")) & pl.col("asked").is_not_null()
            # An empty list stands for nothing shown, null for the example's own.
            columns.append(pl.when(is_other).then(pl.concat_list(pl.col(f"{own} shown")).list.drop_nulls()).alias(own))
    columns += [pl.col(name) for name in ("offered", "hidden", "removal") if name in beside.columns]
    return beside.select(columns)


def _values(store: Store, line: ModelLine, ids: pl.DataFrame) -> dict[str, pl.Series]:
    """Line up the values behind the cells of a model with the examples; 1 where a verdict rests on no column."""
    found = {}
    for cell in line.cells:
        rows = store.rows(cell.audit, line.model)
        if rows is not None:
            value = pl.col(cell.column).cast(pl.Float64).round(DIGITS) if cell.column else pl.lit(1.0)
            table = rows.scan().select("id", value.alias("value")).collect()
            found[cell.audit] = ids.join(table, on="id", how="left", validate="1:1", maintain_order="left")["value"]
    return found
