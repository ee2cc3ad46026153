"""The judgement of a model: what it loses without each modality, overall, by group and by example; and the verdict."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import NamedTuple

import polars as pl

from eyechart.audits.perception.bias import answer_proportions
from eyechart.audits.perception.draws import WORST, AnswerScorer, DrawScores, ModelScores, perceived, referenced
from eyechart.audits.perception.emap import project
from eyechart.audits.perception.examples import least_perceived, sample_scores, seen_table
from eyechart.audits.perception.giving import UNIT, draws_of, draws_table, without_draws
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
from eyechart.audits.perception.settings import QUESTION, PerceptionSettings, removals_of
from eyechart.audits.perception.study import learned_part
from eyechart.audits.perception.tracing import number_clusters, trace_gifts
from eyechart.audits.perception.views import judge_views
from eyechart.data.dataset import Dataset
from eyechart.data.predictions import Predictions
from eyechart.data.probes import PLAIN_CONDITION, Removal
from eyechart.data.protocols import Engine
from eyechart.data.result import Measure, Result, State, Verdict, measures_table, speak
from eyechart.scoring import chosen_score, score
from eyechart.statistics import equivalence

VISUAL = {"image", "video"}
NAMED = 2  # modalities that a label has room for


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
            yield f"{unchanged}: it ignores the modality, or does not read the column `removal`"


def ignored_table(rows: pl.DataFrame, removals: Sequence[Removal], margin: float) -> pl.DataFrame:
    """Test for each removal that the score lies within the margin of 0: two one-sided tests, 90 % interval."""
    lines = []
    for removal in removals:
        part = rows.drop_nulls(perceived(removal.name))
        if part.height:
            column = perceived(removal.name)
            test = equivalence(part[column], part["cluster"], margin, draws=draws_of(part, column))
            lines.append((removal.name, part.height, test.value, test.low, test.high, margin, test.p, test.equivalent))
    numbers = dict.fromkeys(("perception", "low", "high", "margin", "p"), pl.Float64)
    schema = {"removed": pl.String, "n": pl.Int64} | numbers | {"ignored": pl.Boolean}
    return pl.DataFrame(lines, schema=schema, orient="row")


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


def decide(
    settings: PerceptionSettings,
    removals: Iterable[Removal],
    measures: list[Measure],
    ignored: pl.DataFrame,
    *,
    wants_more: bool,
) -> Verdict:
    """Conclude: "no" if some modality is surely ignored, "yes" if all are surely perceived.

    Only the first kind of removal counts.
    """
    first = [each.name for each in removals if each.kind == settings.removal[0]]
    scores = {str(each.condition): each for each in measures if each.name == "perception" and each.condition in first}
    margin = settings.margin
    if not scores:
        sentence = "No example was answered both as it is and with a modality removed."
        rest = measures[0].key if measures else None
        return Verdict("not tested", QUESTION, "nothing to compare", sentence, rest, margin)
    worst = {str(each.condition): each for each in measures if each.name == WORST and each.condition in scores}
    surely = ignored.filter("ignored")["removed"].to_list()
    unseen = [name for name, it in scores.items() if name in surely or it.high < margin]
    unsure = [name for name, it in scores.items() if it.low <= margin]
    doubtful = [name for name, it in worst.items() if it.low <= margin]
    phrases = _phrases(scores, measures)
    state: State = "cannot tell"
    if unseen:
        state, label, named = "no", _ignored_label(unseen), unseen[:1]
        sentence = f"It does not perceive {', '.join(phrases[name] for name in unseen)}."
    elif unsure:
        label, named = "too few examples", unsure
        more = "; more draws are needed" if wants_more else ""
        sentence = f"Too few examples to tell whether it perceives {', '.join(phrases[name] for name in unsure)}{more}."
    elif doubtful:
        label, named = "too many answers lost", doubtful
        doubts = "; ".join(_doubt(phrases[name], worst[name]) for name in doubtful)
        sentence = f"Too many answers were lost to tell whether it perceives {doubts}."
    else:
        state, label, named = "yes", _used_label(scores), list(scores)
        sentence = f"It perceives {', '.join(phrases.values())}."
    decisive = min((scores[name] for name in named), key=lambda each: each.value)
    return Verdict(state, QUESTION, label, sentence, decisive.key, margin)


def _phrases(scores: Mapping[str, Measure], measures: Sequence[Measure]) -> dict[str, str]:
    still = {each.condition for each in measures if each.name == "changed" and each.value == 0}
    unmoved = {name: ", no answer changed" if name in still else "" for name in scores}
    return {name: f"{name} ({speak(asdict(measure))} points{unmoved[name]})" for name, measure in scores.items()}


def _doubt(phrase: str, worst: Measure) -> str:
    return f"{phrase}, but {speak(asdict(worst))} if the lost answers count as right"


def _ignored_label(removals: Sequence[str]) -> str:
    names = [name.partition("=")[0] for name in removals]
    return f"ignores {' and '.join(names) if len(names) <= NAMED else f'{len(names)} modalities'}"


def _used_label(removals: Iterable[str]) -> str:
    names = {part for name in removals for part in name.partition("=")[0].split("+")}
    return "looks" if names & VISUAL else "uses every modality"
