"""The judgement of a model: what it loses without each modality, overall, by group and by example."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import polars as pl

from eyechart.audits.perception.bias import answer_proportions
from eyechart.audits.perception.draws import (
    UNIT,
    AnswerScorer,
    DrawScores,
    ModelScores,
    draws_table,
    perceived,
    referenced,
    without_draws,
)
from eyechart.audits.perception.emap import project
from eyechart.audits.perception.examples import least_perceived, sample_scores, seen_table
from eyechart.audits.perception.measures import (
    TEXT_ONLY,
    Measurer,
    PerceptionMeasures,
    groups_table,
    measure_all,
    paper_table,
    with_groups,
    with_scores,
)
from eyechart.audits.perception.probing import Rounds
from eyechart.audits.perception.settings import PerceptionSettings, removals_of
from eyechart.audits.perception.study import learned_part
from eyechart.audits.perception.tracing import number_clusters, trace_gifts
from eyechart.audits.perception.verdict import decide, ignored_table
from eyechart.audits.perception.views import judge_views
from eyechart.data.dataset import Dataset
from eyechart.data.predictions import Predictions
from eyechart.data.probes import PLAIN_CONDITION, Removal
from eyechart.data.protocols import Engine
from eyechart.data.result import Measure, Result, measures_table
from eyechart.data.several import CHOICES
from eyechart.scoring import chosen_score, score


def judge_model(
    settings: PerceptionSettings, data: Dataset, study: Result, predictions: Predictions, engine: Engine
) -> Result:
    """Join the answers to the judged examples, average over draws, and measure."""
    rounds, removals = Rounds.of(settings, study), removals_of(settings, data)
    turn = rounds.reached(removals, predictions)
    examples = data.examples.join(study.rows.select("id", "cluster"), on="id", validate="1:1")
    how = chosen_score(settings.score, examples)
    scorer = AnswerScorer(referenced(examples, how), how, predictions, engine)
    scores = _score_all(settings, data, study, scorer, turn)
    rows = with_groups(_rows(settings, data, study, scorer, scores), data, settings.by, settings.sentiment)
    measurer = Measurer(removals, how, settings.published, settings.donors, rounds.stages[turn].draws)
    measures = measure_all(rows, data, measurer, settings.by, engine)
    bounds = list(scores.bounds(number_clusters(study), how))
    emap = project(settings, data, study, predictions, how)
    errors, ignored = scores.errors(rows), ignored_table(rows, removals, settings.margin)
    precision = check_precision(settings, measures.whole, errors, rounds, turn)
    tables = {
        "counts": pl.concat([scores.counts, emap.counts]),
        "errors": errors,
        "ignored": ignored,
        "samples": sample_scores(rows, removals),
        "notes": pl.DataFrame(
            {"note": [*study.tables["notes"]["note"], *emap.notes, *precision.notes, *_warn(predictions, scores)]}
        ),
        **_tables(settings, measures, rows, removals),
        **_tables_of_examples(settings, data, study, rows, scores),
    }
    return Result(
        audit=settings.name,
        subject=predictions.model,
        settings=study.settings,
        measures=measures_table([*measures.whole, *measures.groups, *bounds, *emap.measures]),
        rows=without_draws(rows),
        tables=tables,
        views=judge_views(tables, removals, settings.by),
        verdict=decide(settings, removals, [*measures.whole, *bounds], ignored, wants_more=precision.wants_more),
        wants_more=precision.wants_more,
    )


def _score_all(
    settings: PerceptionSettings, data: Dataset, study: Result, scorer: AnswerScorer, turn: int
) -> ModelScores:
    """Score the answers to the examples as they are and under each removal, and find who gave what."""
    rounds, removals = Rounds.of(settings, study), removals_of(settings, data)
    plain = scorer.score(PLAIN_CONDITION, 0, rounds.asked(turn, None, 0))
    removed = {each: _score_draws(scorer, rounds, turn, each) for each in removals}
    draws = {each: range(each.draws(rounds.stages[turn].draws)) for each in removals}
    return ModelScores(plain, removed, trace_gifts(settings, data, study, draws))


def _score_draws(scorer: AnswerScorer, rounds: Rounds, turn: int, removal: Removal) -> DrawScores:
    draws = range(removal.draws(rounds.stages[turn].draws))
    return DrawScores.unite(
        [scorer.score(removal.condition(k), k, rounds.asked(turn, removal, k)) for k in draws],
    )


def _rows(
    settings: PerceptionSettings, data: Dataset, study: Result, scorer: AnswerScorer, scores: ModelScores
) -> pl.DataFrame:
    """Join all scores of each example that was answered."""
    parts = [scores.plain.scores.select("id", pl.col("score").alias("accuracy"))]
    parts += [scores.by_example(removal) for removal in scores.removed]
    answered = pl.concat([part.select("id") for part in parts]).unique()
    if settings.text_only is not None:
        parts.append(_score_text_only(data, scorer, settings.text_only))
    rows = study.rows.select("id", "cluster", "majority").join(answered, on="id", how="semi").sort("id")
    rows = rows.join(number_clusters(study).select("id", UNIT), on="id", validate="1:1", maintain_order="left")
    for part in parts:
        rows = rows.join(part, on="id", how="left", validate="1:1", maintain_order="left")
    return with_scores(rows, list(scores.removed))


def _score_text_only(data: Dataset, scorer: AnswerScorer, column: str) -> pl.DataFrame:
    """Score the answers of a text-only model, given in a column of the examples."""
    answers = data.scan(column).select("id", pl.col(column).cast(pl.String).alias("given")).collect()
    both = scorer.examples.join(answers, on="id", how="left", validate="1:1", maintain_order="left")
    return both.select("id", score(both, scorer.how).alias(TEXT_ONLY))


def _tables(
    settings: PerceptionSettings, measures: PerceptionMeasures, rows: pl.DataFrame, removals: Sequence[Removal]
) -> dict[str, pl.DataFrame]:
    """Build the tables of the measures, and what comparisons need."""
    tables = {
        "table1": paper_table([*measures.whole, *measures.groups], [each.name for each in removals]),
        "draws": draws_table(rows),
    }
    return tables | ({"groups": groups_table(measures.groups)} if settings.by else {})


def _tables_of_examples(
    settings: PerceptionSettings, data: Dataset, study: Result, rows: pl.DataFrame, scores: ModelScores
) -> dict[str, pl.DataFrame]:
    """Build the tables of single examples, and of groups of them by their answers."""
    examples = data.examples.join(study.rows.select("id"), on="id", how="semi")
    least = least_perceived(rows, examples, scores)
    first = perceived(next(iter(scores.removed)).name)
    answers = scores.plain.answers.select("id", "given")
    tables = {
        "least": least,
        "seen": seen_table(settings, data, study, least, scores),
        "proportions": answer_proportions(rows, answers, data, learned_part(data, study), first),
    }
    if settings.repeats > 1 and settings.precision is None:
        tables["repeats"] = scores.repeats(rows, settings.draws)
    return tables


def _warn(predictions: Predictions, scores: ModelScores) -> Iterator[str]:
    """Warn of removals that changed no answer at all: the model may not have been told of them."""
    own = scores.own_answers()
    for removal, draws in scores.removed.items():
        both = draws.answers.join(own, on="id", validate="m:1")
        if removal.draws(2) == 1 and both.height and both["given"].eq_missing(both["own"]).all():
            unchanged = f"every answer of {predictions.model} under {removal.name!r} is the same as without the removal"
            chosen = removal.kind in CHOICES
            ignored, column = ("the others or their order", "pictures") if chosen else ("the modality", "removal")
            yield f"{unchanged}: it ignores {ignored}, or does not read the column `{column}`"


class PrecisionCheck(NamedTuple):
    """Whether another round is needed, and what to note about the precision."""

    wants_more: bool = False
    notes: tuple[str, ...] = ()


def check_precision(
    settings: PerceptionSettings, measures: list[Measure], errors: pl.DataFrame, rounds: Rounds, turn: int
) -> PrecisionCheck:
    """Ask for more while an interval is too wide and more draws or examples can still narrow it."""
    if settings.precision is None:
        return PrecisionCheck()
    wanted = f"{settings.precision:g} points"
    wide = {each.condition: 100 * (each.high - each.low) for each in measures if each.name == "perception"}
    if all(width <= settings.precision for width in wide.values()):
        return PrecisionCheck(notes=(f"every interval is at most {wanted} wide after round {turn + 1}",))
    if rounds.stages[turn].share >= 1:
        floors = {row["removed"]: _floor(row) for row in errors.iter_rows(named=True)}
        best = {name: width * floors[str(name)] for name, width in wide.items() if width > settings.precision}
        if min(best.values()) > settings.precision:
            reachable = f"with these examples {max(best.values()):.1f} at best, whatever the draws"
            return PrecisionCheck(notes=(f"{wanted} are out of reach: {reachable}",))
    if turn + 1 >= len(rounds.stages):
        return PrecisionCheck(notes=(f"wider than {wanted} after {len(rounds.stages)} rounds: raise `max_rounds`",))
    return PrecisionCheck(wants_more=True)


def _floor(row: dict[str, float | None]) -> float:
    """Return the share of a width that more draws cannot remove; 0 where it is not known yet."""
    items, donors, total = row["examples_se"], row["donors_se"], row["se"]
    if items is None or donors is None or not total:
        return 0.0
    return math.hypot(items, donors) / total
