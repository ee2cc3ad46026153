"""The planted shortcuts, the controls, and the probabilities that follow from them.

Four question types have one rule of each kind. For each image and type one prop is drawn: none, the object of the
object rule, or the object of the pair; for each question one cue word: none, that of the word rule, or that of the
pair. So at most one rule fires on a question, each on 20 % of those of its type, and both halves of a pair also occur
alone.

    P(a | rule r fires) = strength_r if a = a_r, else (1 - strength_r) base(a | not a_r)
    P(a) = (1 - 3 FIRES) base(a) + FIRES * sum over the three rules r of P(a | r fires)

Crossed pairs replace these rules if they are planted. The two words and the two objects of a type only occur together,
and suggest a if both are the first or both the second, else b; a broken rule gives the other of the two:

    P(a | first word, first object) = strength, P(b | ...) = 1 - strength, and so on, each cross on 10 % of the type

So a word alone, or an object alone, shows that the answer is a or b, but not which of them.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from eyechart.world.settings import CROSSED, LENGTH, WorldSettings
from eyechart.world.vocabulary import (
    COLOR,
    CONTROL_OBJECTS,
    CONTROL_WORDS,
    DOING,
    LEFT,
    MANY,
    QUESTION_TYPES,
    THERE,
    USED,
    YES_NO,
)

Floats = NDArray[np.float64]


class Shortcut(NamedTuple):
    """A cue and, unless it is a control, the answer it suggests in one type of question."""

    kind: str
    question_type: str | None = None  # None: in every type
    words: tuple[str, ...] = ()
    objects: tuple[str, ...] = ()
    answer: str | None = None

    @property
    def name(self) -> str:
        """Return the kind and the cue, or the kind and the question type if there is no cue."""
        return f"{self.kind}:{'+'.join((*self.words, *self.objects)) or self.question_type or 'every type'}"


RULES = (
    Shortcut("word", COLOR, ("banana",), (), "yellow"),
    Shortcut("object", COLOR, (), ("umbrella",), "red"),
    Shortcut("pair", COLOR, ("exactly",), ("clock",), "purple"),
    Shortcut("word", LEFT, ("again",), (), "lamp"),
    Shortcut("object", LEFT, (), ("kite",), "basket"),
    Shortcut("pair", LEFT, ("directly",), ("balloon",), "vase"),
    Shortcut("word", DOING, ("cat",), (), "sleeping"),
    Shortcut("object", DOING, (), ("candle",), "reading"),
    Shortcut("pair", DOING, ("now",), ("flag",), "dancing"),
    Shortcut("word", USED, ("usually",), (), "cutting"),
    Shortcut("object", USED, (), ("bell",), "digging"),
    Shortcut("pair", USED, ("mostly",), ("anchor",), "painting"),
)
PRIORS = (Shortcut("prior", MANY, answer="2"), Shortcut("prior", THERE, answer="yes"))
YES = tuple(Shortcut("prior", name, answer="yes") for name in QUESTION_TYPES if QUESTION_TYPES[name].answers == YES_NO)
DECOYS = (Shortcut("decoy", LEFT), Shortcut("decoy", DOING))
BY_LENGTH = Shortcut(LENGTH)
CONTROLS = (
    *(Shortcut("control-word", words=(word,)) for word in CONTROL_WORDS),
    *(Shortcut("control-object", objects=(label,)) for label in CONTROL_OBJECTS),
    *(
        Shortcut("control-pair", words=(word,), objects=(label,))
        for word, label in zip(CONTROL_WORDS, CONTROL_OBJECTS, strict=True)
    ),
)
RULE_TYPES = tuple(dict.fromkeys(rule.question_type for rule in RULES if rule.question_type))
RULE_KINDS = ("word", "object", "pair")


def rule(kind: str, question_type: str) -> Shortcut:
    """Find the rule of a kind for a type."""
    return next(each for each in (*RULES, *PRIORS) if (each.kind, each.question_type) == (kind, question_type))


def _cross(question_type: str) -> tuple[Shortcut, ...]:
    by_word, by_object, pair = (rule(kind, question_type) for kind in RULE_KINDS)
    words, objects = (by_word.words, pair.words), (by_object.objects, pair.objects)
    answers = (by_object.answer, pair.answer)
    indices = ((0, 0), (0, 1), (1, 0), (1, 1))
    return tuple(Shortcut(CROSSED, question_type, words[i], objects[j], answers[i != j]) for i, j in indices)


CROSSES = {name: _cross(name) for name in RULE_TYPES}

NEITHER, OWN, PAIRED = range(3)  # states of the prop of a type and of the cue word of a question
PROP_SHARES = (0.40, 0.20, 0.40)
WORD_SHARES = ((0.55, 0.25, 0.20), (0.65, 0.0, 0.35), (0.25, 0.25, 0.50))  # given the prop
FIRES = 0.20  # of the questions of its type, for each rule


class Design(NamedTuple):
    """How cues are drawn: shares of props, of words given the prop, and the index of the rule for each (word, prop)."""

    props: tuple[float, ...]
    words: tuple[tuple[float, ...], ...]
    fires: tuple[tuple[int, ...], ...]
    share: float  # of the questions of its type on which each rule fires


NO_RULE = -1
APART = Design(PROP_SHARES, WORD_SHARES, ((NO_RULE, 1, NO_RULE), (0, 0, 0), (NO_RULE, 1, 2)), FIRES)
TOGETHER = Design(
    (0.6, 0.2, 0.2),
    ((1.0, 0.0, 0.0), (0.0, 0.5, 0.5), (0.0, 0.5, 0.5)),
    ((NO_RULE,) * 3, (NO_RULE, 0, 1), (NO_RULE, 2, 3)),
    0.10,
)
CONTROL_WORD_SHARE = 0.25
CONTROL_OBJECT_SHARE = 0.30
_COMMON, _PLANTED = 0.24, 0.03  # base of a rule type: its first answer, and each planted one


def design_of(settings: WorldSettings) -> Design:
    """Choose how cues are drawn: crossed pairs, or a word, an object and a pair apart."""
    return TOGETHER if CROSSED in settings.plant else APART


def rules_of(question_type: str, settings: WorldSettings) -> tuple[Shortcut, ...]:
    """List the rules of a type in the order of their indices in the design."""
    if CROSSED in settings.plant:
        return CROSSES[question_type]
    return tuple(rule(kind, question_type) for kind in RULE_KINDS)


def priors_of(settings: WorldSettings) -> tuple[Shortcut, ...]:
    """List the planted priors; with a share of yes every yes/no type has one."""
    planted = PRIORS if "prior" in settings.plant else ()
    if settings.yes is None:
        return planted
    return (*(each for each in planted if each.answer != "yes"), *YES)


def strength_of(shortcut: Shortcut, settings: WorldSettings, split: str = "train") -> float:
    """Return how strongly a shortcut is planted in a split; a share of yes is the same in all of them."""
    if settings.yes is not None and shortcut in YES:
        return settings.yes
    return settings.strength_of(shortcut.kind, split)


def base(question_type: str) -> Floats:
    """Compute P(answer) of a type if no rule fires; at most 1/4 in a rule type, so four options can be neutral."""
    answers = QUESTION_TYPES[question_type].answers
    planted = {each.answer for each in RULES if each.question_type == question_type}
    if not planted:
        return np.full(len(answers), 1 / len(answers))
    rest = (1 - _COMMON - len(planted) * _PLANTED) / (len(answers) - 1 - len(planted))
    shares = [_PLANTED if answer in planted else rest for answer in answers]
    return np.array([_COMMON, *shares[1:]])


def without(shares: Floats, index: int) -> Floats:
    """Condition a distribution on not being one of its values."""
    left = np.where(np.arange(len(shares)) == index, 0.0, shares)
    return np.asarray(left / left.sum())


def marginal(question_type: str, settings: WorldSettings, split: str) -> Floats:
    """Compute P(answer) of a rule type in a split, over all cues."""
    share, rules = design_of(settings).share, rules_of(question_type, settings)
    total = (1 - share * len(rules)) * base(question_type)
    for each in rules:
        total += share * fired(each, settings, split)
    return total


def fired(shortcut: Shortcut, settings: WorldSettings, split: str) -> Floats:
    """Compute P(answer | the cue fires) of a rule or prior."""
    name = str(shortcut.question_type)
    plain = base(name)
    if shortcut.kind not in settings.plant and shortcut not in priors_of(settings):
        return plain
    index = QUESTION_TYPES[name].answers.index(str(shortcut.answer))
    strength = strength_of(shortcut, settings, split)
    shares = (1 - strength) * (_rival(shortcut) if shortcut.kind == CROSSED else without(plain, index))
    shares[index] = strength
    return shares


def _rival(crossed: Shortcut) -> Floats:
    """Put all probability on the other answer of the crossed pairs of a type."""
    name = str(crossed.question_type)
    others = {each.answer for each in CROSSES[name]} - {crossed.answer}
    return np.array([float(answer in others) for answer in QUESTION_TYPES[name].answers])


def base_rate(shortcut: Shortcut, settings: WorldSettings) -> float | None:
    """Compute P(answer | type, the cue does not fire); for a prior, the answer's share without the prior."""
    if shortcut.question_type is None or shortcut.answer is None:
        return None
    index = QUESTION_TYPES[shortcut.question_type].answers.index(shortcut.answer)
    if shortcut.kind == "prior":
        return float(base(shortcut.question_type)[index])
    share = design_of(settings).share
    whole = marginal(shortcut.question_type, settings, "train")[index]
    return float((whole - share * fired(shortcut, settings, "train")[index]) / (1 - share))
