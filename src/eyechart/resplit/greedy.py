"""Put whole groups of examples out of the training distribution, while train keeps the words they are made of.

The way of VQA-CP (Agrawal et al. 2018), whose code was not released, as VisFIS built GQA-101k (Ying et al. 2022):
groups in random order go to the OOD side until it has its share; whenever more than 20 concepts of it are in no train
group, train gets the group that has most of them. What is left goes to train.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.statistics.rows import Bools, Ints

UNCOVERED = 20  # concepts of the OOD side that train may lack before it is given a group


class Groups(NamedTuple):
    """Numbered groups in the order in which they are dealt: their sizes, and their numbered concepts, both ways."""

    sizes: Ints
    of_group: Ints  # concepts, group after group
    group_starts: Ints
    of_concept: Ints  # groups, concept after concept
    concept_starts: Ints

    @classmethod
    def of(cls, sizes: Ints, pairs: pl.DataFrame) -> "Groups":
        """Lay out the pairs of (group, concept) both ways."""
        by_group, by_concept = pairs.sort("group", "concept"), pairs.sort("concept", "group")
        return cls(
            sizes,
            by_group["concept"].to_numpy(),
            _starts(by_group["group"], len(sizes)),
            by_concept["group"].to_numpy(),
            _starts(by_concept["concept"], 0),
        )


class Dealt(NamedTuple):
    """Which groups are out of distribution, and how many of their concepts train lacks."""

    ood: Bools
    uncovered: int


def deal(groups: Groups, share: float) -> Dealt:
    """Give the OOD side its share of the examples."""
    wanted = share * groups.sizes.sum()
    n_concepts = len(groups.concept_starts) - 1
    free, ood = np.ones(len(groups.sizes), np.bool_), np.zeros(len(groups.sizes), np.bool_)
    lacking, known = np.zeros(n_concepts, np.bool_), np.zeros(n_concepts, np.bool_)
    hopeless = np.zeros(n_concepts, np.bool_)  # in no group that is left
    filled, at = 0, 0
    while filled < wanted and at < len(free):
        open_ = np.flatnonzero(lacking & ~hopeless)
        if len(open_) > UNCOVERED:
            best = _covering(groups, open_, free)
            if best is None:
                hopeless[open_] = True
                continue
            free[best] = False
            known[_concepts(groups, best)] = True
            lacking &= ~known
        elif free[at]:
            free[at], ood[at] = False, True
            filled += int(groups.sizes[at])
            mine = _concepts(groups, at)
            lacking[mine[~known[mine]]] = True
        else:
            at += 1
    in_train = np.repeat(~ood, np.diff(groups.group_starts))
    known[groups.of_group[in_train]] = True
    return Dealt(ood, int((lacking & ~known).sum()))


def _covering(groups: Groups, concepts: Ints, free: Bools) -> int | None:
    """Find the free group that has most of the concepts, of equals the first; none where no free group has any."""
    having = np.concatenate([groups.of_concept[slice(*groups.concept_starts[one : one + 2])] for one in concepts])
    having = having[free[having]]
    return int(np.bincount(having).argmax()) if len(having) else None


def _concepts(groups: Groups, group: int) -> Ints:
    return groups.of_group[groups.group_starts[group] : groups.group_starts[group + 1]]


def _starts(numbers: pl.Series, n: int) -> Ints:
    """Give the place at which each number begins in a sorted column; there are n numbers, or as many as occur."""
    sizes = np.bincount(numbers.to_numpy(), minlength=n)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
