"""Nine out-of-distribution test sets from one dataset (VQA-VS, Si et al., Findings of EMNLP 2022).

Each example has a concept of each shortcut: its question type (QT), the word (KW) and the object (KO) that are most
informative about its answer, the best two of each (KWP, KOP), and their combinations:

    MI(w, a) = log( f(w, a) / (f(w) f(a) / K) )                               Eq. 6; Eq. 9 for objects
    e(G) = - sum_m p(a_m) log p(a_m),  normalised by log M                    Eq. 7
    E = sum_n e(G_n) R_n over the groups of the training data                 Eq. 8

The examples of one concept form a group, M is its number of answers. A group below 0.9 is imbalanced; in it an answer
with fewer examples than 1.2 times the mean is tail, any other is head. The tails of a shortcut are its OOD test set.

Deliberate differences from the paper, which came without construction code:
- the data keep their own splits (`eyechart read resplit` merges and divides them as in the paper): merging would make
  test rows of a given model's training rows;
- ties go to the more frequent text and pairs are ordered by MI; the tokeniser, examples without a word or object, and
  which examples are counted in f are settings;
- a group with one answer has entropy 1, as in GQA-OOD's code: it is balanced;
- every accuracy and every drop has an interval clustered by image, and each drop is accompanied by a matched one.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import polars as pl

from eyechart.audits.splits.judge import judge_model
from eyechart.audits.splits.published import study_published
from eyechart.audits.splits.settings import SplitsSettings
from eyechart.audits.splits.study import study_data
from eyechart.data.dataset import Dataset
from eyechart.data.furniture import Furniture, Option
from eyechart.data.predictions import Predictions
from eyechart.data.probes import PLAIN_CONDITION, Prober
from eyechart.data.protocols import Engine
from eyechart.data.result import Result

FURNITURE = Furniture(
    about="shortcuts",
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
            "What `splits` groups by, such as `KO` or `question_type+keyword`; may be repeated. Default: all nine.",
            several=True,
            metavar="CONCEPT",
        ),
    ),
)


@dataclass(frozen=True)
class SplitsAudit(SplitsSettings):
    """Separate the rare answers of each concept and measure how much worse a model does on them."""

    needs: ClassVar[tuple[str, ...]] = ("question", "answer")
    furniture: ClassVar[Furniture] = FURNITURE

    def study(self, data: Dataset, engine: Engine) -> Result:
        """Find concepts and groups and label the judged examples as head or tail; or label them by published sets."""
        if self.from_folder:
            return study_published(self, data, Path(self.from_folder))
        return study_data(self, data, engine)

    def beyond_plain(self, data: Dataset) -> tuple[str, ...]:  # noqa: ARG002 - part of the contract
        """Return no condition: only the unchanged examples are asked."""
        return ()

    def probe(self, data: Dataset, study: Result, round: int = 0) -> Iterator[tuple[str, pl.DataFrame]]:  # noqa: A002, ARG002
        """Yield probes of the judged examples as they are."""
        yield PLAIN_CONDITION, Prober(data).plain(study.rows["id"])

    def judge(self, data: Dataset, study: Result, predictions: Predictions, engine: Engine) -> Result:
        """Measure accuracy on heads, tails and all, and the drops."""
        return judge_model(self, data, study, predictions, engine)
