"""The conclusion, from the contrast of evidence and placebo, with the published FPVG+ beside it.

With the placebo in the place of the evidence, an answer is grounded in it as in Eq. 4, and of the same question and
draw

    contrast = grounded in the evidence - grounded in the placebo

A model that looks at the evidence of a share s of the questions, and at no boxes of the others, has a mean contrast of
s; one whose answers change with whatever is hidden has 0.

`yes` and `no` need the interval of the contrast on one side of `least`, and still there if every lost answer counts
against the conclusion. The default, 40 points, lies between a model that looks at three of ten questions (30) and one
that always looks but, when it sees nothing, has to guess yes or no (50: half of its guesses repeat its answer).
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict

import polars as pl

from eyechart.audits.grounding.answers import CONDITIONS, AnswersByCondition, by_question, grounded_in, same_as
from eyechart.audits.grounding.settings import EVIDENCE, PLACEBO, QUESTION, REST, REST_PLACEBO, GroundingSettings
from eyechart.audits.grounding.study import MATCHED
from eyechart.audits.measures import make_measure
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.result import Better, Key, Measure, Verdict, speak
from eyechart.statistics import mean
from eyechart.statistics.intervals import Kind

PLACEBOS = (PLACEBO, REST_PLACEBO)
CONTRAST = "grounded beyond placebo"
LOST_FOR, LOST_AGAINST = "grounded beyond placebo, lost as such", "grounded beyond placebo, lost as not"
BOXES = {"grounded_evidence": EVIDENCE, "grounded_placebo": PLACEBO}


def with_contrast(rows: pl.DataFrame, answers: AnswersByCondition, matched: pl.Series) -> pl.DataFrame:
    """Add the contrast of every question that has usable answers under all five conditions."""
    marked = rows.with_columns(pl.col("id").is_in(matched.implode()).cast(pl.Float64).alias(MATCHED))
    if not has_placebo(answers):
        return marked
    evidence, placebo = grounded_in(EVIDENCE, REST), grounded_in(PLACEBO, REST_PLACEBO)
    columns = (
        evidence.cast(pl.Float64).alias("grounded_evidence"),
        placebo.cast(pl.Float64).alias("grounded_placebo"),
        (evidence.cast(pl.Float64) - placebo.cast(pl.Float64)).alias("contrast"),
        same_as(PLACEBO).cast(pl.Float64).alias("kept_placebo"),
        *(pl.col(f"right {condition}").alias(f"acc_{condition}") for condition in PLACEBOS),
    )
    compared = by_question(answers.side_by_side((*CONDITIONS, *PLACEBOS)), columns).drop("cluster")
    return marked.join(compared, on="id", how="left", validate="1:1", maintain_order="left")


def has_placebo(answers: AnswersByCondition) -> bool:
    """Return whether the placebo conditions were asked and answered."""
    return all(name in answers.tables for name in PLACEBOS)


def measure_contrast(
    rows: pl.DataFrame, answers: AnswersByCondition, matched: pl.Series, how: str
) -> Iterator[Measure]:
    """Measure the share with a placebo, the contrast, its other side, and the accuracy under the placebo conditions."""
    yield _mean(rows, MATCHED, (MATCHED, PLACEBO), how)
    if not has_placebo(answers):
        return
    yield _mean(rows, "contrast", (CONTRAST, PLACEBO), how, "higher")
    yield _mean(rows, "grounded_placebo", ("grounded", PLACEBO), how, "lower")
    yield _mean(rows, "kept_placebo", ("kept", PLACEBO), how)
    for condition in PLACEBOS:
        yield _mean(rows, f"acc_{condition}", ("accuracy", condition), how)
    yield from _bounds(rows, answers.lost.filter(pl.col("id").is_in(matched.implode())), how)


def _mean(rows: pl.DataFrame, column: str, key: tuple[str, str], how: str, better: Better = "neither") -> Measure:
    present = rows.drop_nulls(column)
    kind: Kind = "differences" if column == "contrast" else "scores"
    estimate = mean(present[column], present["cluster"], kind=kind)
    return make_measure(key[0], estimate, of=column, condition=key[1], score=how, better=better)


def _bounds(rows: pl.DataFrame, lost: pl.DataFrame, how: str) -> Iterator[Measure]:
    """Measure the contrast as if every lost answer had been grounded in the evidence alone, and as if none had."""
    present = rows.drop_nulls("contrast")
    missing = lost.join(present, on="id", how="anti")
    for name, value in ((LOST_FOR, 1.0), (LOST_AGAINST, 0.0)) if missing.height else ():
        filled = pl.concat([present["contrast"], pl.repeat(value, missing.height, dtype=pl.Float64, eager=True)])
        estimate = mean(filled, pl.concat([present["cluster"], missing["cluster"]]), kind="differences")
        yield make_measure(name, estimate, of=None, condition=PLACEBO, score=how, better="higher")


def contrast_table(rows: pl.DataFrame) -> pl.DataFrame:
    """Compare the boxes that answers are grounded in, on the questions that have both."""
    lines = []
    for column, name in BOXES.items() if "contrast" in rows.columns else ():
        present = rows.drop_nulls("contrast")
        estimate = mean(present[column], present["cluster"])
        lines.append((name, estimate.value, estimate.low, estimate.high, estimate.n))
    schema = {"boxes": pl.String, "share": pl.Float64, "low": pl.Float64, "high": pl.Float64, "n": pl.Int64}
    return pl.DataFrame(lines, schema=schema, orient="row")


FEWEST_MATCHED = 0.5  # of the questions: with fewer, those with a placebo may be unlike the others
GROUNDED = Key("grounded", PLAIN_CONDITION)


def decide(settings: GroundingSettings, measures: Iterable[Measure], answers: AnswersByCondition) -> Verdict:
    """Conclude from the contrast, or say why there is none."""
    found = {measure.key: measure for measure in measures}
    grounded, contrast = found[GROUNDED], found.get(Key(CONTRAST, PLACEBO))
    if not grounded.n:
        return Verdict("not tested", QUESTION, "nothing to compare", _describe_missing(answers), grounded.key)
    published = f"FPVG+ is {speak(asdict(grounded))}"
    if not settings.placebo:
        advice = "the placebo was switched off; `--set grounding.placebo=1` asks under it, too"
        return Verdict("not tested", QUESTION, "no placebo", f"{published}; {advice}.", grounded.key)
    matched = found[Key(MATCHED, PLACEBO)]
    if matched.value < FEWEST_MATCHED:
        few = f"only {matched.value:.0%} of the questions have other boxes of about the same area to compare with"
        return Verdict("cannot tell", QUESTION, "too few placebos", f"{published}, but {few}.", matched.key)
    if contrast is None or not contrast.n:
        advice = "`eyechart probe RUN` writes the missing probes, placebo and rest-placebo"
        sentence = f"Not compared with a placebo: {advice}. {published}."
        return Verdict("not tested", QUESTION, "no placebo", sentence, grounded.key)
    return _compare(settings.least, contrast, found, published)


def _compare(least: float, contrast: Measure, found: dict[Key, Measure], published: str) -> Verdict:
    high, low = (found.get(Key(name, PLACEBO), contrast) for name in (LOST_FOR, LOST_AGAINST))
    difference = f"grounded in the evidence more often than in other boxes by {speak(asdict(contrast))} points"
    sentence = f"{difference}; {published}."
    if low.low > least:
        return Verdict(
            "yes", QUESTION, "grounded", f"Its answers hang on the evidence: {sentence}", contrast.key, least
        )
    if high.high < least:
        text = f"Its answers do not hang on the evidence: {sentence}"
        return Verdict("no", QUESTION, "not grounded", text, contrast.key, least)
    if contrast.low > least or contrast.high < least:
        doubt = f"with the lost ones it may be {speak(asdict(low))} or {speak(asdict(high))}"
        text = f"Too many answers were lost to tell: the others are {difference}, but {doubt}; {published}."
        return Verdict("cannot tell", QUESTION, "too many answers lost", text, contrast.key, least)
    text = f"Too close to {100 * least:g} points to tell whether its answers hang on the evidence: {sentence}"
    return Verdict("cannot tell", QUESTION, "too close to tell", text, contrast.key, least)


def _describe_missing(answers: AnswersByCondition) -> str:
    empty_conditions = [name for name in CONDITIONS if not answers.tables[name].height]
    which = f"; none under {', '.join(empty_conditions)}" if empty_conditions else ""
    return f"No question was answered under all of plain, evidence and rest{which}."
