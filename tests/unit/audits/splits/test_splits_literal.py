"""Concepts, groups, heads and tails are those of a slow implementation that reads like the paper."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyechart.audits.splits import SplitsAudit
from eyechart.audits.splits.settings import NINE
from eyechart.data.dataset import Dataset
from eyechart.data.images import Images
from eyechart.data.result import Result
from eyechart.data.tables import OBJECT
from eyechart.engines import Local

TYPES = ("what is", "how many")
EXAMPLES = st.lists(
    st.tuples(
        st.sampled_from(TYPES),
        st.sets(st.sampled_from(["red", "big", "cat"]), max_size=3),
        st.sets(st.sampled_from(["tree", "dog", "cup"]), max_size=3),
        st.sampled_from(["yes", "no", "two", "blue"]),
        st.sampled_from(["train", "val", "test", "test"]),
    ),
    min_size=1,
    max_size=60,
).filter(lambda rows: any(row[-1] == "test" for row in rows))


class Example(NamedTuple):
    """What the paper speaks of."""

    kind: str
    words: set[str]
    objects: set[str]
    answer: str
    split: str


def dataset(examples: Sequence[Example]) -> Dataset:
    rows = {
        "id": [f"{at:03}" for at in range(len(examples))],
        "image": [f"{at:03}" for at in range(len(examples))],
        "question": [" ".join([one.kind, *sorted(one.words)]) + "?" for one in examples],
        "answer": [one.answer for one in examples],
        "question_type": [one.kind for one in examples],
        "split": [one.split for one in examples],
    }
    objects = [[{"label": label, "box": None, "score": None} for label in sorted(one.objects)] for one in examples]
    images = pl.DataFrame(
        {"image": rows["image"], "objects": objects}, schema={"image": pl.String, "objects": pl.List(OBJECT)}
    )
    return Dataset("random", pl.DataFrame(rows), Images(images))


def ranked(candidates: Sequence[set[str]], answers: Sequence[str]) -> list[list[str]]:
    """Order the candidates of each example by Eq. 6, ties by frequency and text."""
    f_w = Counter(word for words in candidates for word in words)
    f_a = Counter(answers)
    f_wa = Counter((word, answer) for words, answer in zip(candidates, answers, strict=True) for word in words)

    def mi(word: str, answer: str) -> float:
        return round(math.log(f_wa[word, answer] / (f_w[word] * f_a[answer] / len(answers))), 9)

    return [
        sorted(words, key=lambda word, answer=answer: (-mi(word, answer), -f_w[word], word))  # type: ignore[misc]
        for words, answer in zip(candidates, answers, strict=True)
    ]


def concepts(examples: Sequence[Example]) -> list[dict[str, str | None]]:
    answers = [one.answer for one in examples]
    words, objects = (ranked([one[field] for one in examples], answers) for field in (1, 2))  # type: ignore[misc]
    found = []
    for one, named, seen in zip(examples, words, objects, strict=True):
        parts = {"QT": one.kind, "KW": named[0] if named else None, "KO": seen[0] if seen else None}
        pairs = {"KWP": named[:2], "KOP": seen[:2]}
        labels: dict[str, str | None] = {}
        for name in NINE:
            some = pairs[name] if name in pairs else [parts[part] for part in name.split("+")]
            whole = None not in some and len(some) == (2 if name in pairs else name.count("+") + 1)
            labels[name] = " + ".join(map(str, some)) if whole else None
        found.append(labels)
    return found


class Sides(NamedTuple):
    """Head or tail of each example, and E."""

    of: list[str | None]
    imbalance: float | None


def sides(labels: Sequence[str | None], answers: Sequence[str], threshold: float, alpha: float) -> Sides:
    """Apply Sec. 3.4 to the examples of one part."""
    groups: dict[str, list[str]] = defaultdict(list)
    for label, answer in zip(labels, answers, strict=True):
        if label is not None:
            groups[label].append(answer)
    tail: dict[str, dict[str, bool]] = {}
    total = 0.0
    for name, members in groups.items():
        counts = Counter(members)
        shares = [n / len(members) for n in counts.values()]
        entropy = -sum(p * math.log(p) for p in shares) / math.log(len(counts)) if len(counts) > 1 else 1.0
        total += entropy * len(members)
        if entropy < threshold:
            mean = len(members) / len(counts)
            tail[name] = {answer: n < alpha * mean for answer, n in counts.items()}
    found = [
        None if label not in tail else ("tail" if tail[label][answer] else "head")
        for label, answer in zip(labels, answers, strict=True)
    ]
    n = sum(map(len, groups.values()))
    return Sides(found, total / n if n else None)


def study(examples: Sequence[Example], **choices: object) -> Result:
    return SplitsAudit(**choices).study(dataset(examples), Local())  # type: ignore[arg-type]


@settings(deadline=None, max_examples=60)
@given(rows=EXAMPLES, threshold=st.sampled_from([0.5, 0.9, 0.99]), alpha=st.sampled_from([0.7, 1.0, 1.2]))
def test_the_study_is_what_the_paper_says(rows: list[tuple[object, ...]], threshold: float, alpha: float) -> None:
    examples = [Example(*row) for row in rows]  # type: ignore[arg-type]
    labels = concepts(examples)
    judged = [at for at, one in enumerate(examples) if one.split == "test"]
    train = [at for at, one in enumerate(examples) if one.split == "train"]

    found = study(examples, threshold=threshold, alpha=alpha)

    assert found.tables["labels"].drop("example").to_dicts() == [labels[at] for at in judged]
    imbalance = dict(found.tables["concepts"].select("concept", "imbalance").iter_rows())
    for name in NINE:
        mine, theirs = (
            sides([labels[at][name] for at in part], [examples[at].answer for at in part], threshold, alpha)
            for part in (judged, train)
        )
        assert found.rows[name].to_list() == mine.of
        # Without train examples of a concept, E is that of the judged ones.
        expected = mine.imbalance if theirs.imbalance is None else theirs.imbalance
        assert imbalance[name] == (None if expected is None else pytest.approx(expected))


@settings(deadline=None, max_examples=30)
@given(rows=EXAMPLES)
def test_overlaps_are_those_of_sets(rows: list[tuple[object, ...]]) -> None:
    examples = [Example(*row) for row in rows]  # type: ignore[arg-type]
    labels = concepts(examples)
    train = [at for at, one in enumerate(examples) if one.split == "train"]
    judged = [at for at, one in enumerate(examples) if one.split == "test"]
    found = study(examples)

    heads, tails = {}, {}
    for name in NINE:
        for part, side, sets in ((train or judged, "head", heads), (judged, "tail", tails)):
            of = sides([labels[at][name] for at in part], [examples[at].answer for at in part], 0.9, 1.2).of
            sets[name] = {at for at, one in zip(part, of, strict=True) if one == side}
    jaccard = {(one, other): rest for one, other, *rest in found.tables["jaccard"].iter_rows()}
    coincidence = {(one, other): rest for one, other, *rest in found.tables["coincidence"].iter_rows()}
    for one in NINE:
        for other in NINE:
            either, own = heads[one] | heads[other], tails[one]
            assert jaccard[one, other] == shared(heads[one] & heads[other], either)
            assert coincidence[one, other] == shared(own & tails[other], own)


def shared(both: set[int], among: set[int]) -> list[float | None]:
    return [len(both), len(among), len(both) / len(among) if among else None]


def test_groups_and_concepts_count_the_same_examples() -> None:
    """Table 1 adds up: head, tail, balanced and without a concept are all of the judged examples."""
    kinds = [Example(TYPES[at % 2], {"red"}, {"dog"}, "yes" if at % 5 else "no", "test") for at in range(40)]
    tables = study(kinds).tables

    table = tables["concepts"]
    assert (table.select(pl.sum_horizontal("head", "tail", "balanced", "without")).to_series() == 40).all()
    sums = tables["groups"].group_by("concept").agg(pl.col("head", "tail").sum())
    without_pairs = table.filter(pl.col("groups") > 0).select("concept", "head", "tail")
    assert without_pairs.sort("concept").equals(sums.sort("concept"))
