"""The settings of the audit, and the names of shortcuts, sides and parts shared by its files."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from eyechart.base.errors import SettingError
from eyechart.base.settings import check_choices, replace_setting

QUESTION = "As good on rare answers as on frequent ones?"
NINE = ("QT", "KW", "KWP", "QT+KW", "KO", "KOP", "QT+KO", "KW+KO", "QT+KW+KO")  # the shortcuts of the paper
WORDS, OBJECTS = ("KW", "KWP"), ("KO", "KOP")
FAMILIES = {
    "language": ("QT", "KW", "KWP", "QT+KW"),
    "visual": ("KO", "KOP"),
    "multimodal": ("QT+KO", "KW+KO", "QT+KW+KO"),
}
FAMILY = {concept: family for family, concepts in FAMILIES.items() for concept in concepts}
# Longer names of the parts of concepts, and those that GQA's own files use.
ALIASES = {
    "question_type": "QT",
    "keyword": "KW",
    "keyword_pair": "KWP",
    "object": "KO",
    "object_pair": "KOP",
    "groups.local": "group_local",
    "groups.global": "group_global",
}
PARTS = ("QT", *WORDS, *OBJECTS)
HEAD, TAIL = "head", "tail"
TRAIN, VALIDATION, JUDGED = "train", "val", "judged"
VAL = "val "  # before the name of a concept or score: the same on the validation split
MEAN_LESS_SPREAD = "gqa-ood"  # the threshold of GQA-OOD's code
RESERVED = frozenset({"id", "cluster", "part", "group", "accuracy", "union", "example"})  # columns of the rows

FIXED = {"prefix": "remove", "ties": "frequent", "order": "mi"}  # former settings, and the values that remain

# Settings that were removed, with what to do instead.
RANDOM = "eyechart read resplit DATA --set recipe=random --set unit={unit} -o NEW"
GONE = {
    "judge_split": "choose what is judged with --judge",
    "resplit": f"divide the data with `{RANDOM.format(unit='question')}` and study NEW",
    "seed": "give it to `eyechart read resplit`, which divides the data",
    "compat": "use published='vqa-vs'",
    **dict.fromkeys(FIXED, "leave it out: this choice is no longer offered"),
}


@dataclass(frozen=True)
class SplitsSettings:
    """The fields of the audit.

    `concepts` are any of the nine, or columns and parts joined by `+`. `threshold` is an entropy, or `gqa-ood`: mean
    minus standard deviation over the groups. `alpha` times the mean count is the cut of the tail. `counted` are the
    examples of f in Eq. 6; with `telling=all` keywords and key objects are those most informative about the answers to
    such questions in general. `types` is `auto` (the data's, else learned), `learned`, or a file with one prefix per
    line. `group` is a `concept=group` whose answers are listed. `validation` asks for the val split too, so that models
    can be selected on it. `from_folder` holds published sets, and `published` scores as the authors' scripts. A model
    fails on rare answers if it surely loses more than `margin` on any set.
    """

    name: ClassVar[str] = "splits"
    gone: ClassVar[Mapping[str, str]] = GONE

    score: str = "auto"
    by: tuple[str, ...] = ()
    concepts: tuple[str, ...] = NINE
    threshold: float | str = 0.9
    alpha: float = 1.2
    counted: Literal["all", "train", "judged"] = "all"
    missing: Literal["skip", "group"] = "skip"
    types: str = "auto"
    tokenizer: Literal["words", "basic_english"] = "words"
    telling: Literal["own", "all"] = "own"
    group: str = ""
    validation: bool = False
    from_folder: str = ""
    published: Literal["none", "vqa-vs"] = "none"
    margin: float = 0.05

    def __post_init__(self) -> None:
        check_choices(self)
        if not self.concepts or len(set(self.concepts)) < len(self.concepts):
            raise SettingError("at least one concept, and none twice", repr(self.concepts), "name each once")
        taken = sorted(RESERVED & set(self.concepts))
        if taken:
            raise SettingError(
                "concepts not called like the audit's own columns", ", ".join(taken), "rename the column"
            )
        if self.alpha <= 0:
            raise SettingError("alpha above 0", str(self.alpha), "1.2 is the paper's")
        object.__setattr__(self, "threshold", _threshold(self.threshold))

    @classmethod
    def upgrade_plan(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Translate the settings of a study by an older version; reject those that are no longer possible."""
        check_own_splits(settings)
        for name, value in FIXED.items():
            if settings.get(name, value) != value:
                expected, found = f"a study with {name}={value!r}", f"one with {name}={settings[name]!r}"
                raise SettingError(expected, found, "study the data again in another folder")
        return replace_setting(settings, "compat", "published", {"paper": "none", "release": "vqa-vs"})


def check_own_splits(settings: Mapping[str, Any]) -> None:
    """Reject a study by an older version that divided the data again."""
    unit = settings.get("resplit", "none")
    if unit != "none":
        advice = f"study again: `{RANDOM.format(unit=unit)}`, then `eyechart study NEW -a splits`"
        raise SettingError("a study that keeps the data's own splits", f"one of resplit={unit!r}", advice)


def parts_of(concept: str) -> tuple[str, ...]:
    """List the parts that a concept combines, in order."""
    return tuple(ALIASES.get(part, part) for part in concept.split("+"))


def _threshold(given: float | str) -> float | str:
    if given == MEAN_LESS_SPREAD:
        return given
    try:
        return float(given)
    except ValueError:
        expected = f"threshold as a number or {MEAN_LESS_SPREAD!r}"
        raise SettingError(expected, repr(given), "0.9 is the paper's") from None
