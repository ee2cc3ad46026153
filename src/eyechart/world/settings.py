"""The settings of a planted world."""

from dataclasses import dataclass

from eyechart.base.errors import SettingError
from eyechart.base.registry import unknown_name
from eyechart.world.vocabulary import QUESTION_TYPES

PLANTED = ("prior", "word", "object", "pair", "decoy")  # by default
CROSSED, LENGTH = "crossed", "length"
KINDS = (*PLANTED, CROSSED, LENGTH)
REPLACED = frozenset({"word", "object", "pair"})  # the kinds whose cues crossed pairs use
SPLITS = ("train", "val", "test")
STRENGTH = 0.8

Strength = float | dict[str, float]


@dataclass(frozen=True)
class WorldSettings:
    """The settings that determine a world completely.

    `strength` is P(answer = planted | cue fires), one number or one per kind; `test_strength` replaces it on the test
    split. A kind left out of `plant` keeps its words and objects, which then mean nothing; `crossed` pairs replace the
    three other kinds of rules and use their words and objects, and `length` replaces `decoy`. `noise` is the
    probability that each of ten people answers something else. `shares` are the shares of the images in train, val and
    test: (0, 0, 1) leaves nothing to learn from. `yes` is the share of yes among the answers to yes/no questions, in
    every split; None leaves it to `strength`.
    """

    seed: int = 0
    images: int = 1000
    questions: int = 5
    strength: Strength = STRENGTH
    test_strength: Strength | None = None
    plant: tuple[str, ...] = PLANTED
    noise: float = 0.15
    shares: tuple[float, float, float] = (0.6, 0.1, 0.3)
    options: int = 4
    yes: float | None = None

    def __post_init__(self) -> None:
        _within("seed", self.seed, 0, 2**63)
        _within("images", self.images, 1, 10_000_000)
        _within("questions", self.questions, 1, len(QUESTION_TYPES))
        _within("options", self.options, 2, 4)
        _within("noise", self.noise, 0, 1)
        if self.yes is not None:
            _within("yes", self.yes, 0.5, 1)
        for name in (*self.plant, *_kinds(self.strength), *_kinds(self.test_strength)):
            if name not in KINDS:
                raise unknown_name("kind of shortcut", name, KINDS)
        self._check_plant()
        for kind in KINDS:
            _within("strength", self.strength_of(kind), 0, 1)
            _within("test_strength", self.strength_of(kind, "test"), 0, 1)
        self._check_shares()

    def strength_of(self, kind: str, split: str = "train") -> float:
        """Return how strongly a kind is planted in a split."""
        chosen = self.test_strength if split == "test" and self.test_strength is not None else self.strength
        return float(chosen.get(kind, STRENGTH)) if isinstance(chosen, dict) else float(chosen)

    def _check_plant(self) -> None:
        planted = ", ".join(self.plant)
        if CROSSED in self.plant and REPLACED & set(self.plant):
            expected = f"crossed pairs without {', '.join(sorted(REPLACED))}, whose cues they use"
            raise SettingError(expected, planted, "plant `crossed` alone, or with `prior` and `decoy` or `length`")
        if LENGTH in self.plant and "decoy" in self.plant:
            advice = "leave `decoy` out, so that only their length tells the options apart"
            raise SettingError("`length` without `decoy`", planted, advice)

    def _check_shares(self) -> None:
        if len(self.shares) != len(SPLITS) or min(self.shares) < 0 or abs(sum(self.shares) - 1) > 1e-9:
            expected = f"shares of {', '.join(SPLITS)} that sum to 1"
            raise SettingError(expected, str(self.shares), "give three numbers such as (0.6, 0.1, 0.3)")


def _kinds(strength: Strength | None) -> tuple[str, ...]:
    return tuple(strength) if isinstance(strength, dict) else ()


def _within(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise SettingError(f"{name} from {low} to {high}", repr(value), "choose a number in this range")
