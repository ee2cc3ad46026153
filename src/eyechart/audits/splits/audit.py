"""The audit itself: settings, and which part does what."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from eyechart.audits.splits.names import NINE
from eyechart.dataset import Dataset
from eyechart.encode.salient import TIES
from eyechart.errors import SettingError
from eyechart.furniture import Furniture, Option
from eyechart.predictions import Predictions
from eyechart.probes import OWN, Prober
from eyechart.protocols import Engine
from eyechart.result import Result

QUESTION = "As good on rare answers as on frequent ones?"
RESERVED = frozenset({"id", "cluster", "part", "group", "accuracy", "union", "example"})  # columns of the rows
MEAN_LESS_SPREAD = "gqa-ood"  # the threshold of GQA-OOD's code
ALLOWED = {
    "counted": ("all", "train", "judged"),
    "missing": ("skip", "group"),
    "tokenizer": ("words", "basic_english"),
    "prefix": ("remove", "keep"),
    "telling": ("own", "all"),
    "ties": tuple(TIES),
    "order": ("mi", "text"),
    "compat": ("paper", "release"),
}
RANDOM = "eyechart read resplit DATA --set recipe=random --set unit={unit} -o NEW"
GONE = {
    "judge_split": "name what is judged with --judge",
    "resplit": f"divide the data by `{RANDOM.format(unit='question')}`, and study NEW",
    "seed": "give it to `eyechart read resplit`, which divides the data",
}
FURNITURE = Furniture(
    exports={
        "splits": "eyechart.audits.splits.export:export_splits",
        "splits-gqa": "eyechart.audits.splits.export:export_gqa_ood",
        "splits-models": "eyechart.audits.splits.export:export_models",
        "splits-selection": "eyechart.audits.splits.export:export_selection",
    },
    options=(
        Option(
            "--concept",
            "concepts",
            "What `splits` groups by, as `KO` or `question_type+keyword`; again for more. Default: nine.",
            several=True,
            metavar="CONCEPT",
        ),
    ),
)


@dataclass(frozen=True)
class SplitsAudit:
    """Set the rare answers of each concept apart and ask how much worse a model does on them.

    `concepts` are any of the nine, or columns and parts joined by `+`. `threshold` is an entropy, or `gqa-ood`: mean
    less standard deviation over the groups. `alpha` times the mean count is the cut of the tail. `counted` are the
    examples of f in Eq. 6; with `telling=all` keywords and key objects tell most about the answers to such questions,
    whatever the example's own answer is. `types` is `auto` (the data's, else learned), `learned`, or a file with a
    prefix a line. `group` is a `concept=group` whose answers are listed. `validation` asks for the val split too, so
    that models can be selected on it. `from_folder` holds somebody's published sets. A model fails on rare answers if
    it surely loses more than `margin` on any set.
    """

    name: ClassVar[str] = "splits"
    needs: ClassVar[tuple[str, ...]] = ("question", "answer")
    gone: ClassVar[Mapping[str, str]] = GONE
    furniture: ClassVar[Furniture] = FURNITURE

    score: str = "auto"
    by: tuple[str, ...] = ()
    concepts: tuple[str, ...] = NINE
    threshold: float | str = 0.9
    alpha: float = 1.2
    counted: str = "all"
    missing: str = "skip"
    types: str = "auto"
    tokenizer: str = "words"
    prefix: str = "remove"
    telling: str = "own"
    ties: str = "frequent"
    order: str = "mi"
    group: str = ""
    validation: bool = False
    from_folder: str = ""
    compat: str = "paper"
    margin: float = 0.05

    def __post_init__(self) -> None:
        for name, allowed in ALLOWED.items():
            if getattr(self, name) not in allowed:
                found = repr(getattr(self, name))
                raise SettingError(f"{name} as one of {', '.join(allowed)}", found, "choose one of these")
        if not self.concepts or len(set(self.concepts)) < len(self.concepts):
            raise SettingError("different concepts, at least one", repr(self.concepts), "name each once")
        taken = sorted(RESERVED & set(self.concepts))
        if taken:
            raise SettingError("concepts of other names than our own columns", ", ".join(taken), "rename the column")
        if self.alpha <= 0:
            raise SettingError("alpha above 0", str(self.alpha), "1.2 is the paper's")
        object.__setattr__(self, "threshold", _threshold(self.threshold))

    @classmethod
    def check_plan(cls, settings: Mapping[str, Any]) -> None:
        """Refuse to go on with a study of an older eyechart that divided the data anew."""
        unit = settings.get("resplit", "none")
        if unit != "none":
            advice = f"study again: `{RANDOM.format(unit=unit)}`, then `eyechart study NEW -a splits`"
            raise SettingError("a study by splits of data as they are divided", f"one of resplit={unit!r}", advice)

    def study(self, data: Dataset, engine: Engine) -> Result:
        """Find concepts and groups and label the judged examples head or tail; or label them by published lists."""
        from eyechart.audits.splits.published import study_published
        from eyechart.audits.splits.study import study_data

        if self.from_folder:
            return study_published(self, data, Path(self.from_folder))
        return study_data(self, data, engine)

    def beyond_plain(self, data: Dataset) -> tuple[str, ...]:  # noqa: ARG002 - part of the contract
        """Ask nothing else."""
        return ()

    def probe(self, data: Dataset, study: Result, round: int = 0) -> Iterator[tuple[str, pl.DataFrame]]:  # noqa: A002, ARG002
        """Ask for the judged examples as they are."""
        yield OWN, Prober(data).plain(study.rows["id"])

    def judge(self, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
        """Measure accuracy on heads, tails and all, and the drops."""
        from eyechart.audits.splits.judge import judge_model

        return judge_model(self, data, study, predictions, engine)

    def settings(self) -> dict[str, object]:
        """Record the settings."""
        return asdict(self)


def _threshold(given: float | str) -> float | str:
    if given == MEAN_LESS_SPREAD:
        return given
    try:
        return float(given)
    except ValueError:
        expected = f"threshold as a number or {MEAN_LESS_SPREAD!r}"
        raise SettingError(expected, repr(given), "0.9 is the paper's") from None
