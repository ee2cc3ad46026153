"""Every meeting of a confirmed rule with a judged example, with what the model said there."""

from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.rules.mined import queries_from, vocabulary_of
from eyechart.audits.rules.parts import image_numbers, ordered
from eyechart.dataset import Dataset
from eyechart.encode.items import Vocabulary, make_accepted, make_transactions
from eyechart.mining.counting import Index, Queries, list_pairs, make_index
from eyechart.text import clean_answer, normalize_answer

TYPE = "question_type"
ANY_TYPE = "(any)"


class Judged(NamedTuple):
    """The judged examples that the model answered, and the rules' answers that each of them accepts."""

    examples: pl.DataFrame  # example, id, cluster, type, given in its normal form, null where it refused
    accepted: pl.DataFrame  # example, answer


class Meetings(NamedTuple):
    """Meetings with rules, and with the words alone of rules that have objects too.

    Both tables: rule, kind, answer, example, id, cluster, type, wrong (the answer is not accepted), agrees.
    """

    of_rules: pl.DataFrame
    of_words: pl.DataFrame
    rules: pl.DataFrame  # the confirmed ones
    judged: Judged


def meet(judged: Dataset, said: pl.DataFrame, rules: pl.DataFrame) -> Meetings:
    """Set the model's answers (`id`, `given`) beside the confirmed rules that the examples meet.

    All answers are compared by their normal forms, or who repeats the reference `Yes` would follow the rule for `yes`.
    """
    confirmed = rules.filter(pl.col("state") == "confirmed").with_columns(_normal("answer").alias("normal"))
    vocabulary = vocabulary_of(confirmed)
    data = ordered(judged)
    asked = Judged(_answered(data, said), _accepted(data.examples, vocabulary))
    queries = queries_from(confirmed, vocabulary)
    index = make_index(make_transactions(data, vocabulary), image_numbers(data), queries.items)
    words = queries._replace(items=np.where(queries.items < vocabulary.n_words, queries.items, -1))
    mixed = (confirmed["kind"] == "mixed").to_numpy()
    return Meetings(
        _met(confirmed, queries, index, asked),
        _met(confirmed.filter(mixed), Queries(*(column[mixed] for column in words)), index, asked),
        confirmed,
        asked,
    )


def _answered(data: Dataset, said: pl.DataFrame) -> pl.DataFrame:
    typed = TYPE in data.examples.columns
    kind = pl.col(TYPE).fill_null(ANY_TYPE) if typed else pl.lit(ANY_TYPE)
    numbered = data.examples.select(
        pl.int_range(pl.len(), dtype=pl.Int32).alias("example"), "id", "cluster", kind.alias("type")
    )
    return numbered.join(said.select("id", _normal("given")), on="id", validate="1:1").sort("example")


def _accepted(examples: pl.DataFrame, vocabulary: Vocabulary) -> pl.DataFrame:
    accepted = make_accepted(examples, vocabulary, normalized=True)
    owners = np.repeat(np.arange(examples.height, dtype=np.int32), np.diff(accepted.starts))
    return pl.DataFrame({"example": owners, "answer": vocabulary.answers.gather(accepted.answers).cast(pl.String)})


def _met(rules: pl.DataFrame, queries: Queries, index: Index, judged: Judged) -> pl.DataFrame:
    pairs = list_pairs(queries, index)
    met = pl.DataFrame({"rule": rules["rule"].gather(pairs.queries), "example": pairs.examples})
    right = judged.accepted.with_columns(pl.lit(value=False).alias("wrong"))
    return (
        met.join(rules.select("rule", "kind", "answer", "normal"), on="rule", validate="m:1")
        .join(judged.examples, on="example", validate="m:1")
        .join(right, on=["example", "answer"], how="left", validate="m:1")
        .with_columns(
            pl.col("wrong").fill_null(value=True),
            (pl.col("normal") == pl.col("given")).fill_null(value=False).alias("agrees"),
        )
        .drop("normal", "given")
        .sort("rule", "example")
    )


def _normal(column: str) -> pl.Expr:
    return normalize_answer(clean_answer(pl.col(column)))


def normal_forms(answers: pl.Series) -> pl.DataFrame:
    """List answers with their normal forms as what a model may have `given`."""
    return answers.to_frame("answer").unique().with_columns(_normal("answer").alias("given"))
