"""The recipes: which split each example gets, null where it is left out.

random            70 / 5 / 25 by question or by image, as VQA-VS
changing-priors   the answers of a question type are divided between train and test, as VQA-CP: one third to test
first-words       the same for questions that begin with the same three words, as GQA-101k: 15 % to test, and of the
                  rest 6 : 1 : 1.5 to train, val and test-id, which has train's distribution
head-share        train becomes a fixed number of examples, of which a share is head and the others tail of a concept
                  (Fig. 7 of VQA-VS); the other splits stay
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.splits import SplitsAudit
from eyechart.audits.splits.concepts import A_WORD, question_kinds
from eyechart.audits.splits.parts import TRAIN
from eyechart.audits.splits.study import find_splits
from eyechart.dataset import Dataset
from eyechart.division import Division
from eyechart.encode.words import question_words
from eyechart.errors import DataError, SettingError
from eyechart.hashing import combine, hash_text, uniform
from eyechart.resplit.greedy import Groups, deal
from eyechart.resplit.stop_words import STOP_WORDS

VAL, TEST = "val", "test"
SHARES = (0.7, 0.75)  # up to which train and val reach; the rest is test (VQA-VS, Sec. 3.1)
FIRST_WORDS = r"^\s*(\S+(?:\s+\S+){0,2})"
ID_SHARES = (6 / 8.5, 7 / 8.5)  # up to which train and val reach among what is not OOD; the rest is test-id


@dataclass(frozen=True)
class Choice:
    """The settings of a recipe; None is the recipe's own default."""

    seed: int = 0
    unit: str = "question"
    share: float | None = None
    concept: str = "QT"
    size: int | None = None


class Resplit(NamedTuple):
    """The new split of each example, and what to know about it."""

    split: pl.Series
    note: str


def split_randomly(data: Dataset, choice: Choice) -> Resplit:
    """Divide by a hash of each question's id, or of its image."""
    if choice.unit not in ("question", "image"):
        raise SettingError("unit as question or image", repr(choice.unit), "choose one of these")
    draws = uniform(hash_text(data.examples["id"] if choice.unit == "question" else data.clusters(), choice.seed))
    split = pl.Series(np.select([draws < edge for edge in SHARES], [TRAIN, VAL], TEST))
    return Resplit(split, f"by {choice.unit}; not for models trained on the old train")


def change_priors(data: Dataset, choice: Choice) -> Resplit:
    """Put whole (question type, answer) groups into train or test."""
    return _ood(data, question_kinds(data.examples, "auto"), choice, 1 / 3)


def split_first_words(data: Dataset, choice: Choice) -> Resplit:
    """Put whole (first three words, answer) groups into train or test, and divide train at random."""
    dealt = _ood(data, data.examples["question"].str.extract(FIRST_WORDS), choice, 0.15)
    draws = uniform(hash_text(data.examples["id"], choice.seed))
    inside = pl.Series(np.select([draws < edge for edge in ID_SHARES], [TRAIN, VAL], "test-id"))
    return dealt._replace(split=inside.zip_with(dealt.split == TRAIN, dealt.split))


def _ood(data: Dataset, first: pl.Series, choice: Choice, usual: float) -> Resplit:
    """Deal the groups of (first, answer) in the order of a hash, in which the seed counts."""
    share = usual if choice.share is None else choice.share
    if not 0 < share < 1:
        raise SettingError("share between 0 and 1", str(share), f"{usual:.2f} is the recipe's own")
    rows = data.examples.select(first.alias("first").fill_null(""), "answer", "question")
    keys = rows.select("first", "answer").unique().sort("first", "answer")
    order = combine(hash_text(keys["first"], choice.seed), hash_text(keys["answer"], choice.seed))
    dealt_order = keys[np.argsort(order, kind="stable")].with_row_index("group")
    group = rows.join(dealt_order, on=["first", "answer"], how="left", validate="m:1", maintain_order="left")["group"]
    sizes = np.bincount(group.to_numpy(), minlength=keys.height)
    found = deal(Groups.of(sizes, _concepts(rows, group)), share)
    sides = {True: TEST, False: TRAIN}
    split = pl.Series(found.ood).gather(group).replace_strict(sides, return_dtype=pl.String)
    return Resplit(split, f"share {share:g}; {found.uncovered} words of test are not in train")


def _concepts(rows: pl.DataFrame, group: pl.Series) -> pl.DataFrame:
    """List the words of the questions and answers of each group, without stop words, as numbers."""
    texts = pl.concat_str("question", "answer", separator=" ", ignore_nulls=True)
    words = rows.select(group, question_words(texts).alias("concept")).explode(
        "concept", empty_as_null=False, keep_nulls=False
    )
    meant = words.filter(pl.col("concept").str.contains(A_WORD) & ~pl.col("concept").is_in(STOP_WORDS))
    return meant.unique().select(pl.col("group").cast(pl.Int64), pl.col("concept").rank("dense").cast(pl.Int64) - 1)


def share_heads(data: Dataset, choice: Choice) -> Resplit:
    """Draw a train set with this share of head examples; train examples that are neither or not drawn are left out."""
    share = 0.5 if choice.share is None else choice.share
    if not 0 <= share <= 1:
        raise SettingError("share from 0 to 1", str(share), "0.5 is the recipe's own")
    if TRAIN not in data.splits():
        raise DataError("a train split to draw from", f"splits {', '.join(data.splits()) or 'none'}", "name one train")
    every = Division("division", learn=(TRAIN,), judge=())  # all splits count, and those beside train stay as they are
    found = find_splits(SplitsAudit(concepts=(choice.concept,)), data.under(every))
    tails = found.tails[choice.concept].filter(found.parts.part == TRAIN)
    ids = found.parts.data.examples["id"].filter(found.parts.part == TRAIN)
    heads, rare = ids.filter(~tails), ids.filter(tails)
    size = min(len(heads), len(rare)) if choice.size is None else choice.size
    n_heads = round(size * share)
    wanted = f"{n_heads} heads and {size - n_heads} tails of {choice.concept}"
    if n_heads > len(heads) or size - n_heads > len(rare) or size < 1:
        raise SettingError(wanted, f"{len(heads)} heads and {len(rare)} tails in train", "take a smaller size")
    kept = pl.concat([_drawn(heads, n_heads, choice.seed), _drawn(rare, size - n_heads, choice.seed)])
    outside = pl.when(pl.col("split") != TRAIN).then(pl.col("split"))
    drawn = pl.when(pl.col("id").is_in(kept.implode())).then(pl.lit(TRAIN)).otherwise(outside)
    return Resplit(data.examples.select(split=drawn).to_series(), wanted)


def _drawn(ids: pl.Series, n: int, seed: int) -> pl.Series:
    return ids.gather(np.argsort(hash_text(ids, seed), kind="stable")[:n])


RECIPES: dict[str, Callable[[Dataset, Choice], Resplit]] = {
    "random": split_randomly,
    "changing-priors": change_priors,
    "first-words": split_first_words,
    "head-share": share_heads,
}
