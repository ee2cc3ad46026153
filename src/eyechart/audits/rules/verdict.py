"""The verdict: whether a model surely gives the answers of rules on counterexamples, or surely does not."""

from dataclasses import asdict

from eyechart.audits.measures import RESISTS
from eyechart.audits.rules.settings import COUNTEREXAMPLE, QUESTION
from eyechart.data.result import Measure, State, Verdict, speak

FEW = "fewer than 20 examples to compare with"
LARGEST = "largest exploitation"
ITEMS = {"words": "words", "objects": "objects", "mixed": "words and objects"}  # what rules of each kind consist of


def decide(measures: list[Measure], margin: float, at_most: float, *, unused: int = 0) -> Verdict:
    """Conclude from the exploitation; without rules to follow there is no more than the gap.

    Following rules of one kind is following rules, unless the model is right on most counterexamples all the same. That
    the exploitation is too small to matter is a one-sided question, so its one-sided limit `at_most` answers it. A
    matched gap that is surely above the margin turns `yes` into `cannot tell`.
    """
    overall = {measure.name: measure for measure in measures if measure.by is None}
    if "exploitation" not in overall:
        return _no_rules(overall, unused)
    exploitation, matched = overall["exploitation"], overall.get("matched gap")
    points = f"{speak(asdict(exploitation))} points more often on counterexamples than where the rules do not apply"
    points += f"; {unused} rules with {FEW} are left out" if unused else ""
    state: State = "cannot tell"
    followed = _surely_followed(overall, margin)
    right = next((measure for measure in measures if (measure.by, measure.group) == ("kind", COUNTEREXAMPLE)), None)
    if followed and right is not None and right.high >= RESISTS:
        label = "follows shortcuts at times"
        sentence = f"It gives the rules' answers {_naming(followed, points)}"
        sentence += f"; but it is right on most counterexamples: {speak(asdict(right))} %."
    elif followed:
        state, label = "no", "follows shortcuts"
        sentence = f"It gives the rules' answers {_naming(followed, points)}."
    elif at_most < margin and matched is not None and matched.low > margin:
        label, own = (
            "worse on counterexamples",
            f"it is {speak(asdict(matched))} points worse on them than on examples alike",
        )
        sentence = f"It gives the rules' answers {points}; but {own}."
    elif at_most < margin:
        state, label = "yes", "follows no rules"
        sentence = (
            f"It does not follow the rules: it gives their answers {points} (at most {100 * at_most:.1f}, at 95 %)."
        )
    else:
        label, sentence = "too close to tell", f"Too close to tell: it gives the rules' answers {points}."
    return Verdict(state, QUESTION, label, sentence, (followed or exploitation).key, margin)


def _no_rules(overall: dict[str, Measure], unused: int) -> Verdict:
    fallback = overall.get("gap", overall["accuracy"])
    why = "no counterexample meets a confirmed rule"
    why = why if not unused else f"{unused} confirmed rules have {FEW}"
    sentence = f"The {fallback.name} is {speak(asdict(fallback))} points; {why}."
    return Verdict("not tested", QUESTION, "no rules to follow", sentence, fallback.key)


def _surely_followed(overall: dict[str, Measure], margin: float) -> Measure | None:
    """Return the exploitation of all rules, or of one kind, that is surely above the margin, if there is one."""
    names = [name for name in ("exploitation", LARGEST) if name in overall]
    return next((overall[name] for name in names if overall[name].low > margin), None)


def _naming(followed: Measure, points: str) -> str:
    """Add the kind of rule that is surely followed to the points of all rules, if these alone do not decide."""
    if followed.name != LARGEST:
        return points
    kind = str(followed.note).partition(";")[0]
    return f"{points}; those of rules of {ITEMS[kind]} {speak(asdict(followed))} points more often"
