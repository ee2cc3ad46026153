"""Hold a model's answers by (id, condition, draw), join them to examples and check them against probes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Self

import polars as pl

from eyechart.base.characters import ESCAPES
from eyechart.base.errors import AnswerMismatchError, CoverageError, ModelError
from eyechart.data.tables import ANSWERS, check

USABLE = ("ok", "refused")  # a refusal is an answer; unparsed and failed ones are only counted
COVERAGE = 0.99
REASONS = {
    "missing": "no answer to this example",
    "unparsed": "no answer found in the text",
    "failed": "no answer obtained",
}
CUT = "cut off"  # the reason of texts that end in the middle
CUT_STOPS = ("length", "max_tokens", "max_output_tokens", "model_length")  # stop reasons, in small letters


class AnsweredExamples(NamedTuple):
    """Examples with the model's usable answers (`given`), and why the others have none."""

    table: pl.DataFrame
    lost: pl.DataFrame  # examples with answers, none of them usable
    counts: pl.DataFrame


@dataclass(frozen=True)
class Predictions:
    """The answers of one model, sorted by their key."""

    model: str
    answers: pl.DataFrame

    def __post_init__(self) -> None:
        check(self.answers, ANSWERS)
        object.__setattr__(self, "answers", self.answers.sort(ANSWERS.key))

    def under(self, condition: str) -> pl.DataFrame:
        """Select the answers given under one condition."""
        return self.answers.filter(pl.col("condition") == condition)

    def beside(self, examples: pl.DataFrame, condition: str) -> AnsweredExamples:
        """Join the usable answers of a condition to their examples, a row for each draw, sorted by id and draw."""
        answers = self.under(condition).rename({"answer": "given"})
        joined = examples.join(answers, on="id", how="left", validate="1:m").sort("id", "draw")
        usable = joined.filter(pl.col("status").is_in(USABLE))
        lost = joined.filter(pl.col("status").is_not_null()).join(usable, on="id", how="anti").unique("id")
        return AnsweredExamples(usable, lost.sort("id"), _count(joined, condition))

    def check_against(self, probes: pl.DataFrame, condition: str, *, allow_partial: bool = False) -> Self:
        """Raise an error for answers to other probes than these, or to too few of them."""
        answers = self.under(condition).select("id", "probe").unique()
        stale = answers.join(probes, on="id", validate="m:1", suffix="_asked").filter(
            pl.col("probe") != pl.col("probe_asked")
        )
        if stale.height:
            found = f"{stale.height} answers to other probes, the first for id {stale['id'].min()!r}"
            raise AnswerMismatchError(f"answers of {self.model} to the probes of {condition!r}", found, "ask it again")
        if not allow_partial:
            self._check_coverage(probes, condition)
        return self

    def _check_coverage(self, probes: pl.DataFrame, condition: str) -> None:
        """Raise an error if too few probes got a reply: one that is refused, unparsed or cut off is a reply."""
        answers = probes.select("id").join(self.under(condition), on="id")
        replied = answers.filter(pl.col("status") != "failed")
        n, failed = replied["id"].n_unique(), answers.join(replied, on="id", how="anti")
        if n >= COVERAGE * probes.height:
            return
        expected = f"answers of {self.model} to {COVERAGE:.0%} of the {probes.height} probes of {condition!r}"
        found = f"{n} ({n / probes.height:.1%})"
        if failed.height:
            found += f", and {failed['id'].n_unique()} that failed, the first with {failed['raw'][0] or 'no reason'}"
        raise CoverageError(expected, found, "complete them, or allow partial answers (--allow-partial)")


def tidy(reply: object, asked: pl.DataFrame, model: str) -> pl.DataFrame:
    """Convert a model's reply to a batch of probes into a valid table of answers."""
    if not isinstance(reply, pl.DataFrame) or not {"id", "answer"} <= set(reply.columns):
        found = f"columns {', '.join(reply.columns)}" if isinstance(reply, pl.DataFrame) else type(reply).__name__
        raise ModelError(f"a table with columns id and answer from {model}", found, "return one row for each probe")
    unknown = reply.filter(~pl.col("id").is_in(asked["id"].implode()))
    if unknown.height:
        advice = "answer each probe under its own id"
        raise ModelError(f"answers of {model} to the probes it was asked", f"an answer to {unknown['id'][0]!r}", advice)
    keys = asked.select("id", "condition", "probe")
    rows = reply.drop("condition", "probe", strict=False).join(keys, on="id", how="left", validate="m:1")
    chosen = rows.select(_column(name, rows.columns) for name in _column_names(rows.columns))
    visible = pl.col("raw").str.replace_many(list(ESCAPES), list(ESCAPES.values()))
    return chosen.with_columns(visible).sort(ANSWERS.key)


def is_cut(answers: pl.DataFrame) -> pl.Expr:
    """Return whether a text was cut off before its end, so that nobody knows what it would have said."""
    if "stop_reason" not in answers.columns:
        return pl.lit(value=False)
    return pl.col("stop_reason").str.to_lowercase().is_in(CUT_STOPS).fill_null(value=False)


def why_lost(answers: pl.DataFrame) -> pl.Expr:
    """Return why each answer is not usable, from its `status` (null: missing); null if it is usable."""
    status = pl.col("status").fill_null("missing")
    reason = status.replace_strict(REASONS, default=None, return_dtype=pl.String)
    return pl.when((status == "unparsed") & is_cut(answers)).then(pl.lit(CUT)).otherwise(reason)


def _column_names(columns: list[str]) -> Iterator[str]:
    return (name for name, column in ANSWERS.columns.items() if column.required or name in columns)


def _column(name: str, columns: list[str]) -> pl.Expr:
    defaults = {
        "draw": pl.lit(0),
        "raw": pl.col("answer"),
        "status": pl.when(pl.col("answer").is_null()).then(pl.lit("failed")).otherwise(pl.lit("ok")),
    }
    column = pl.col(name) if name in columns else defaults[name]
    return column.cast(ANSWERS.columns[name].dtype).alias(name)


def _count(joined: pl.DataFrame, condition: str) -> pl.DataFrame:
    """Count examples, not draws: one with any usable draw is judged, any other is counted by its first draw."""
    status = pl.col("status").fill_null("missing")
    usable = status.filter(status.is_in(USABLE))
    reason = why_lost(joined)
    is_judged = usable.len() > 0
    outcome = pl.when(is_judged).then(usable.first()).otherwise(status.first())
    why = pl.when(~is_judged).then(reason.first())
    return (
        joined.group_by("id")
        .agg(outcome.alias("status"), why.alias("reason"))
        .group_by("status", "reason")
        .agg(pl.len().cast(pl.Int64).alias("n"))
        .select(pl.lit(condition).alias("condition"), "status", "reason", "n")
        .sort("status", "reason")
    )
