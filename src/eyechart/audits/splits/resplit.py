"""New splits of a dataset that change what is trained on, each a function of the data, a recipe and a seed.

`eyechart read resplit DATA --set recipe=NAME -o NEW` makes one; the new dataset records the recipe and its settings in
its counts, and the old split in its column `split_before`.

random            70 / 5 / 25 by question or by image, as VQA-VS
changing-priors   the answers of a question type are divided between train and test, as VQA-CP: one third to test
first-words       the same for questions that begin with the same three words, as GQA-101k: 15 % to test, and of the
                  rest 6 : 1 : 1.5 to train, val and test-id, which has train's distribution
head-share        train becomes a fixed number of examples, of which a share is head and the others tail of a concept
                  (Fig. 7 of VQA-VS); the other splits stay

changing-priors and first-words move whole groups of examples out of the training distribution, while train keeps the
words they consist of. This is the method of VQA-CP (Agrawal et al. 2018), whose code was not released, as VisFIS built
GQA-101k (Ying et al. 2022): groups in random order are given to the OOD side until it has its share; whenever more than
20 of its concepts are in no train group, train gets the group that has most of them. The remainder is given to train.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.splits.concepts import A_WORD, question_kinds
from eyechart.audits.splits.settings import TRAIN, SplitsSettings
from eyechart.audits.splits.study import find_splits
from eyechart.base.errors import DataError, SettingError
from eyechart.base.hashing import combine, hash_text, uniform
from eyechart.base.registry import unknown_choice, unknown_name
from eyechart.data.dataset import Dataset
from eyechart.data.division import Division
from eyechart.formats import read
from eyechart.formats.description import described
from eyechart.language.questions import question_words
from eyechart.statistics.rows import Bools, Ints

VAL, TEST = "val", "test"
BEFORE = "split_before"
SHARES = (0.7, 0.75)  # up to which train and val reach; the rest is test (VQA-VS, Sec. 3.1)
FIRST_WORDS = r"^\s*(\S+(?:\s+\S+){0,2})"
ID_SHARES = (6 / 8.5, 7 / 8.5)  # up to which train and val reach among what is not OOD; the rest is test-id
UNCOVERED = 20  # concepts of the OOD side that train may lack before it gets a group
# English words that say nothing about the topic of a question; train need not contain them.
# fmt: off
STOP_WORDS = (
    "a", "about", "an", "and", "any", "are", "as", "at", "be", "been", "being", "but", "by", "can", "could", "did",
    "do", "does", "doing", "for", "from", "had", "has", "have", "he", "her", "here", "him", "his", "how", "i", "if",
    "in", "into", "is", "it", "its", "many", "more", "most", "much", "my", "no", "not", "of", "on", "or", "our",
    "out", "over", "s", "she", "should", "so", "some", "such", "t", "than", "that", "the", "their", "them", "then",
    "there", "these", "they", "this", "those", "to", "too", "under", "up", "was", "we", "were", "what", "when",
    "where", "which", "who", "whose", "why", "will", "with", "would", "you", "your",
)
# fmt: on


@dataclass(frozen=True)
class ResplitSettings:
    """The settings of a recipe; None is the recipe's own default."""

    seed: int = 0
    unit: str = "question"
    share: float | None = None
    concept: str = "QT"
    size: int | None = None


class NewSplit(NamedTuple):
    """The new split of each example, null where it is left out, and a note for the counts."""

    split: pl.Series
    note: str


@described(
    needs="a dataset made by `eyechart read`, or a table; recipes: changing-priors, first-words, head-share, random",
    sample="eyechart read resplit DATA --set recipe=changing-priors --set seed=1 -o NEW\n"
    "eyechart read resplit DATA --set recipe=head-share --set concept=KW --set share=0.3 -o NEW",
)
def read_resplit(
    path: Path,
    *,
    recipe: str = "changing-priors",
    seed: int = 0,
    unit: str = "question",
    share: float | None = None,
    concept: str = "QT",
    size: int | None = None,
) -> Dataset:
    """Read a dataset and give its examples a new split; those without a reference answer are left out.

    `share` is that of the OOD test split (changing-priors, first-words) or of head examples in train (head-share),
    `size` the number of train examples of head-share, by `concept`; `unit` is what random divides: question or image.
    """
    return make_resplit(read(path), recipe, ResplitSettings(seed, unit, share, concept, size))


def make_resplit(data: Dataset, recipe: str, settings: ResplitSettings) -> Dataset:
    """Assign the examples of a dataset to a recipe's splits, and record recipe, settings and seed in its counts."""
    if recipe not in RECIPES:
        raise unknown_name("recipe", recipe, tuple(RECIPES))
    ordered = replace(data, examples=data.examples.sort("id")).take(pl.col("answer").is_not_null())
    new = RECIPES[recipe](ordered, settings)
    old = pl.col("split") if "split" in ordered.examples.columns else pl.lit(None, pl.String)
    examples = ordered.examples.with_columns(old.alias(BEFORE)).with_columns(new.split.alias("split"))
    assigned = examples.filter(pl.col("split").is_not_null())
    rows = [
        (None, "resplit", f"{recipe}, seed {settings.seed}, {new.note}", assigned.height),
        (None, "dropped by resplit", "no reference answer", data.examples.height - examples.height),
        (None, "dropped by resplit", "not drawn", examples.height - assigned.height),
    ]
    counts = pl.DataFrame(rows, schema=data.counts.schema, orient="row").filter(pl.col("n") > 0)
    return replace(data, name=f"{data.name}, {recipe}", examples=assigned, counts=pl.concat([data.counts, counts]))


def split_randomly(data: Dataset, settings: ResplitSettings) -> NewSplit:
    """Divide by a hash of each question's id, or of its image."""
    if settings.unit not in ("question", "image"):
        raise unknown_choice("unit", settings.unit, ("question", "image"))
    draws = uniform(hash_text(data.examples["id"] if settings.unit == "question" else data.clusters(), settings.seed))
    split = pl.Series(np.select([draws < edge for edge in SHARES], [TRAIN, VAL], TEST))
    return NewSplit(split, f"by {settings.unit}; not for models trained on the old train")


def change_priors(data: Dataset, settings: ResplitSettings) -> NewSplit:
    """Put whole (question type, answer) groups into train or test."""
    return _split_groups(data, question_kinds(data.examples, "auto"), settings, 1 / 3)


def split_first_words(data: Dataset, settings: ResplitSettings) -> NewSplit:
    """Put whole (first three words, answer) groups into train or test, and divide train at random."""
    new = _split_groups(data, data.examples["question"].str.extract(FIRST_WORDS), settings, 0.15)
    draws = uniform(hash_text(data.examples["id"], settings.seed))
    inside = pl.Series(np.select([draws < edge for edge in ID_SHARES], [TRAIN, VAL], "test-id"))
    return new._replace(split=inside.zip_with(new.split == TRAIN, new.split))


def share_heads(data: Dataset, settings: ResplitSettings) -> NewSplit:
    """Draw a train set with this share of head examples; other train examples are left out."""
    share = 0.5 if settings.share is None else settings.share
    if not 0 <= share <= 1:
        raise SettingError("share from 0 to 1", str(share), "0.5 is the recipe's own")
    if TRAIN not in data.splits():
        raise DataError("a train split to draw from", f"splits {', '.join(data.splits()) or 'none'}", "name one train")
    every = Division("division", learn=(TRAIN,), judge=())  # all splits count, and the others stay as they are
    study = find_splits(SplitsSettings(concepts=(settings.concept,)), data.under(every))
    in_train = study.parts.part == TRAIN
    tails, ids = study.tails[settings.concept].filter(in_train), study.parts.data.examples["id"].filter(in_train)
    heads, rare = ids.filter(~tails), ids.filter(tails)
    size = min(len(heads), len(rare)) if settings.size is None else settings.size
    n_heads = round(size * share)
    wanted = f"{n_heads} heads and {size - n_heads} tails of {settings.concept}"
    if n_heads > len(heads) or size - n_heads > len(rare) or size < 1:
        raise SettingError(wanted, f"{len(heads)} heads and {len(rare)} tails in train", "take a smaller size")
    drawn = pl.concat([_sample(heads, n_heads, settings.seed), _sample(rare, size - n_heads, settings.seed)])
    outside = pl.when(pl.col("split") != TRAIN).then(pl.col("split"))
    split = pl.when(pl.col("id").is_in(drawn.implode())).then(pl.lit(TRAIN)).otherwise(outside)
    return NewSplit(data.examples.select(split=split).to_series(), wanted)


def _sample(ids: pl.Series, n: int, seed: int) -> pl.Series:
    return ids.gather(np.argsort(hash_text(ids, seed), kind="stable")[:n])


RECIPES: dict[str, Callable[[Dataset, ResplitSettings], NewSplit]] = {
    "random": split_randomly,
    "changing-priors": change_priors,
    "first-words": split_first_words,
    "head-share": share_heads,
}


def _split_groups(data: Dataset, first: pl.Series, settings: ResplitSettings, default_share: float) -> NewSplit:
    """Assign the groups of (first, answer) to train or test, in the order of a hash that depends on the seed."""
    share = default_share if settings.share is None else settings.share
    if not 0 < share < 1:
        raise SettingError("share between 0 and 1", str(share), f"{default_share:.2f} is the recipe's own")
    rows = data.examples.select(first.alias("first").fill_null(""), "answer", "question")
    keys = rows.select("first", "answer").unique().sort("first", "answer")
    order = combine(hash_text(keys["first"], settings.seed), hash_text(keys["answer"], settings.seed))
    shuffled = keys[np.argsort(order, kind="stable")].with_row_index("group")
    group = rows.join(shuffled, on=["first", "answer"], how="left", validate="m:1", maintain_order="left")["group"]
    sizes = np.bincount(group.to_numpy(), minlength=keys.height)
    ood, uncovered = assign_groups(ConceptGroups.of(sizes, _group_concepts(rows, group)), share)
    split = pl.Series(ood).gather(group).replace_strict({True: TEST, False: TRAIN}, return_dtype=pl.String)
    return NewSplit(split, f"share {share:g}; {uncovered} words of test are not in train")


def _group_concepts(rows: pl.DataFrame, group: pl.Series) -> pl.DataFrame:
    """List the words of the questions and answers of each group, without stop words, as numbers."""
    texts = pl.concat_str("question", "answer", separator=" ", ignore_nulls=True)
    words = rows.select(group, question_words(texts).alias("concept")).explode(
        "concept", empty_as_null=False, keep_nulls=False
    )
    content = words.filter(pl.col("concept").str.contains(A_WORD) & ~pl.col("concept").is_in(STOP_WORDS))
    return content.unique().select(pl.col("group").cast(pl.Int64), pl.col("concept").rank("dense").cast(pl.Int64) - 1)


class ConceptGroups(NamedTuple):
    """Numbered groups in order of assignment: their sizes, and their numbered concepts, indexed both ways."""

    sizes: Ints
    of_group: Ints  # concepts, group after group
    group_starts: Ints
    of_concept: Ints  # groups, concept after concept
    concept_starts: Ints

    @classmethod
    def of(cls, sizes: Ints, pairs: pl.DataFrame) -> "ConceptGroups":
        """Index the pairs of (group, concept) both ways."""
        by_group, by_concept = pairs.sort("group", "concept"), pairs.sort("concept", "group")
        return cls(
            sizes,
            by_group["concept"].to_numpy(),
            _starts(by_group["group"], len(sizes)),
            by_concept["group"].to_numpy(),
            _starts(by_concept["concept"], 0),
        )

    def concepts(self, group: int) -> Ints:
        """Return the concepts of a group."""
        return self.of_group[self.group_starts[group] : self.group_starts[group + 1]]

    def covering(self, concepts: Ints, free: Bools) -> int | None:
        """Find the free group with most of the concepts, the first among ties; None if no free group has any."""
        having = np.concatenate(
            [self.of_concept[slice(*self.concept_starts[concept : concept + 2])] for concept in concepts]
        )
        having = having[free[having]]
        return int(np.bincount(having).argmax()) if len(having) else None


def assign_groups(groups: ConceptGroups, share: float) -> tuple[Bools, int]:
    """Give the OOD side its share of the examples; return its groups and how many of their concepts train lacks."""
    wanted = share * groups.sizes.sum()
    n_concepts = len(groups.concept_starts) - 1
    free, ood = np.ones(len(groups.sizes), np.bool_), np.zeros(len(groups.sizes), np.bool_)
    lacking, covered = np.zeros(n_concepts, np.bool_), np.zeros(n_concepts, np.bool_)
    hopeless = np.zeros(n_concepts, np.bool_)  # in no group that is left
    filled, group = 0, 0
    while filled < wanted and group < len(free):
        uncovered = np.flatnonzero(lacking & ~hopeless)
        if len(uncovered) > UNCOVERED:
            best = groups.covering(uncovered, free)
            if best is None:
                hopeless[uncovered] = True
                continue
            free[best] = False
            covered[groups.concepts(best)] = True
            lacking &= ~covered
        elif free[group]:
            free[group], ood[group] = False, True
            filled += int(groups.sizes[group])
            own = groups.concepts(group)
            lacking[own[~covered[own]]] = True
        else:
            group += 1
    in_train = np.repeat(~ood, np.diff(groups.group_starts))
    covered[groups.of_group[in_train]] = True
    return ood, int((lacking & ~covered).sum())


def _starts(numbers: pl.Series, n: int) -> Ints:
    """Return the position at which each number starts in a sorted column of n numbers, or of as many as occur."""
    sizes = np.bincount(numbers.to_numpy(), minlength=n)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
