"""The conclusion: from the contrast of evidence and placebo, with the published FPVG+ beside it.

`yes` and `no` need the interval of the contrast on one side of `least`, and still there if every lost answer counts
against the conclusion. The default, 40 points, lies between a model that looks at three of ten questions (30) and one
that always looks but, when it sees nothing, has to guess yes or no (50: half of its guesses repeat its answer).
"""

from collections.abc import Iterable
from dataclasses import asdict

from eyechart.audits.grounding.answers import AnswersByCondition
from eyechart.audits.grounding.cells import CONDITIONS
from eyechart.audits.grounding.contrast import CONTRAST, LOST_AGAINST, LOST_FOR
from eyechart.audits.grounding.settings import PLACEBO, QUESTION, GroundingSettings
from eyechart.audits.grounding.study import MATCHED
from eyechart.data.probes import PLAIN_CONDITION
from eyechart.data.result import Key, Measure, Verdict, speak

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
