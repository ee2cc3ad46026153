"""The settings of the audit, and the names of sources of decoys, sets of options and parts of the data."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Final, Literal, get_args

from eyechart.base.errors import SettingError
from eyechart.base.settings import check_choices, replace_setting

QOU: Final = "qou"
IOU: Final = "iou"
RANDOM: Final = "random"
SOURCES = (QOU, IOU, RANDOM)
ORIG: Final = "orig"
REPAIRED: Final = "iou+qou"  # the set that replaces the original one
SETS: dict[str, tuple[str, ...]] = {  # the sources of the wrong options of each set
    ORIG: (ORIG,),
    IOU: (IOU,),
    QOU: (QOU,),
    REPAIRED: (IOU, QOU),
    "all": (ORIG, IOU, QOU),
    RANDOM: (RANDOM,),
}
REPAIRS = (REPAIRED, QOU, IOU)  # the sets that can replace the options of the data, the best first
LEARNED, JUDGED = "learned", "judged"  # parts of the data

OptionSet = Literal["orig", "iou", "qou", "iou+qou", "all", "random"]
Repair = Literal["sound", "iou+qou", "qou", "iou"]
Hidden = Literal["image", "question", "image-question"]
Drawing = Literal["nearest", "neutral"]
Published = Literal["none", "qavg"]
NEUTRAL, QAVG = "neutral", "qavg"
SOUND: Final = "sound"
ALONE: Final = "image-question"  # when both are hidden, the options alone are left
DONOR: Final = "donor"  # the example that gives all that is shown beside the options
DRAWING_SETTINGS = ("k", "drawing", "published", "threshold", "seed", "similarity", "guards", "near", "leave_out")


@dataclass(frozen=True)
class DecoysSettings:
    """Choose the sets of options to study and ask about, and how decoys are drawn.

    Drawing: up to `k` decoys come from each source. `drawing` takes the nearest candidates (the paper), or chooses
    among the `near` nearest so that each answer is used as a decoy as much as it is a target; with `leave_out`,
    examples that make this impossible for the decoys of similar questions get none. Answers are compared by their
    words, or with `published` by characters, as in the authors' code for qaVG. A decoy is accepted up to the Wu-Palmer
    similarity `threshold`. `similarity` says where the vectors of questions come from: the "corpus", "sentence:MODEL",
    or a word2vec or GloVe file. `guards` turns on the filters beyond the paper.

    Asking: `sets` are the sets of options to study, `ask` those of them to ask a model about (all of them if none
    of these exists), `hide` what else is hidden from it, `rotations` the most places by which options are shifted.

    Blind baselines learn in `folds` parts from at most `most` examples by the `scorer`. `kinds` names a column that
    lists how each option was made. `margin` is the distance from chance from which a verdict is given.

    `repair` is the made set that exports write: the first "sound" one of iou+qou, qou and iou, or the one you name.
    """

    name: ClassVar[str] = "decoys"

    score: str = "auto"
    by: tuple[str, ...] = ()
    sets: tuple[OptionSet, ...] = (ORIG, IOU, QOU, REPAIRED, "all")
    ask: tuple[OptionSet, ...] = (ORIG, REPAIRED)
    hide: tuple[Hidden, ...] = (ALONE,)
    rotations: int = 1
    repair: Repair = "sound"
    k: int = 3
    drawing: Drawing = "nearest"
    published: Published = "none"
    threshold: float = 0.9
    similarity: str = "corpus"
    guards: bool = True
    near: int = 50
    leave_out: bool = False
    folds: int = 3
    most: int = 20_000
    scorer: str = "logistic"
    kinds: str = "idx_types"
    margin: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        check_choices(self)
        if not self.sets:
            raise SettingError(f"sets among {', '.join(get_args(OptionSet))}", "none", "name at least one")
        for name, least in (("k", 1), ("folds", 2), ("most", 1), ("rotations", 0), ("near", 1)):
            if getattr(self, name) < least:
                raise SettingError(f"{name} of at least {least}", str(getattr(self, name)), f"raise {name}")

    @property
    def studied_sets(self) -> tuple[str, ...]:
        """Name the sets to study: `sets`, and the control of random decoys if any decoys are drawn."""
        return self.sets if self.sets == (ORIG,) else tuple(dict.fromkeys((*self.sets, RANDOM)))

    @classmethod
    def upgrade_plan(cls, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Translate the settings of a study by an older version."""
        upgraded = replace_setting(settings, "compat", "published", {"clean": "none", "release": QAVG})
        if upgraded.pop("paper", False):
            upgraded |= {"ask": upgraded.get("sets", cls.sets), "hide": get_args(Hidden), "rotations": 3}
        return upgraded

    def settings(self) -> dict[str, object]:
        """Return all settings by name, as they are recorded with the results."""
        return asdict(self)
