"""Donors: for each example, another one to borrow a modality from, drawn by a counter-based hash.

Donor k of an example is a hash of (seed, id, modality, k) mapped evenly onto the examples its policy admits. The pool
is sorted by content and id before anything is drawn, so a donor is the same in any order of rows, in any batch, on any
machine, and independent of what was drawn before or is drawn after.

uniform           any example of the pool, itself included (Eq. 3 of the Perceptual Score)
other             any example with different content: never itself, never a twin
other-answer      ... and with a different reference answer
same-type         ... of the same question type, or answer type where there are no question types
same-answer-type  ... of the same answer type (yes/no, number, other)
same:COLUMN       ... with the same value in any column
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from eyechart.base.errors import DataError, SettingError
from eyechart.base.hashing import combine, hash_text, uniform
from eyechart.data.dataset import Dataset
from eyechart.data.images import PICTURES

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

POLICIES = ("uniform", "other", "other-answer", "same-type", "same-answer-type")
SAME = "same:"
TYPES = {"same-type": ("question_type", "answer_type"), "same-answer-type": ("answer_type",)}
TRIES = 64  # draws with the same answer that are discarded before an example's donors are listed
CELLS = 4_000_000  # of examples x pool, when they are listed


class Spans(NamedTuple):
    """The start and the number, in the sorted pool, of the examples that may be drawn for each example."""

    begin: Ints
    size: Ints


@dataclass(frozen=True)
class DonorPool:
    """The examples that have the modality, sorted by kind, content and id, with what the policy compares."""

    ids: pl.Series
    modality: str
    policy: str
    kinds: Spans
    twins: Spans
    answers: Ints
    choices: Ints  # how many donors each has
    by_pictures: bool  # whether donors must have as many pictures

    def place(self, rows: Ints, chance: npt.NDArray[np.float64]) -> Ints:
        """Map chances evenly onto the kind of each row, stepping over its twins."""
        twins = self.twins.size[rows]
        step = (chance * (self.kinds.size[rows] - twins)).astype(np.int64)
        before = self.twins.begin[rows] - self.kinds.begin[rows]
        return np.asarray(self.kinds.begin[rows] + step + np.where(step >= before, twins, 0), dtype=np.int64)

    def redraw(self, donors: Ints, able: Ints, key: npt.NDArray[np.uint64]) -> None:
        """Redraw where the donor has the same answer; list the donors of examples that fail too often."""
        wrong = able[self.answers[able] == self.answers[donors[able]]]
        for attempt in range(1, TRIES):
            if not wrong.size:
                return
            again = uniform(combine(key[wrong], np.full(1, attempt, np.uint64)))
            donors[wrong] = self.place(wrong, again)
            wrong = wrong[self.answers[wrong] == self.answers[donors[wrong]]]
        last = uniform(combine(key[wrong], np.full(1, TRIES, np.uint64)))
        block = max(1, CELLS // max(1, len(self.ids)))
        for start in range(0, wrong.size, block):
            rows = wrong[start : start + block]
            donors[rows] = self.list_and_place(rows, last[start : start + block])

    def list_and_place(self, rows: Ints, chance: npt.NDArray[np.float64]) -> Ints:
        """Choose uniformly among all admitted donors, by listing them."""
        admitted = self.answers[rows][:, None] != self.answers[None, :]
        admitted &= self.twins.begin[rows][:, None] != self.twins.begin[None, :]
        admitted &= self.kinds.begin[rows][:, None] == self.kinds.begin[None, :]
        number = (chance * admitted.sum(axis=1)).astype(np.int64)
        return np.asarray(np.argmax(np.cumsum(admitted, axis=1) > number[:, None], axis=1), dtype=np.int64)


def check_policy(policy: str) -> None:
    """Raise an error unless this is a policy."""
    if policy not in POLICIES and not (policy.startswith(SAME) and len(policy) > len(SAME)):
        expected = f"donors by one of {', '.join(POLICIES)} or {SAME}COLUMN"
        raise SettingError(expected, repr(policy), "choose one of these")


def make_pool(data: Dataset, modality: str, policy: str) -> DonorPool:
    """Sort the examples that have the modality, so that those with the same content are adjacent."""
    check_policy(policy)
    kind = _kind(data, policy)
    by_pictures = modality == "image" and data.images.has_several
    # The whole is swapped, for a whole of as many pictures.
    number = data.count_pictures().cast(pl.String) if by_pictures else pl.repeat("", data.height, eager=True)
    having = data.examples.with_columns(number.alias(PICTURES)).filter(pl.col(modality).is_not_null())
    kinds_of = [having[PICTURES], *([] if kind is None else [as_text(having[kind])])]
    # Aliases, since several of these may be the same column.
    table = pl.DataFrame(
        {
            "id": having["id"],
            "kind": pl.select(pl.concat_str(kinds_of, separator=" ", ignore_nulls=True)).to_series(),
            "content": as_text(having[modality]),
            "answer": having["answer"],
        }
    ).sort("kind", "content", "id", nulls_last=True)
    kinds = _spans(table.select("kind"))
    twins = _spans(table.select("kind", "content"))
    if policy == "uniform":
        twins = Spans(twins.begin, np.zeros_like(twins.size))
    answers = table["answer"].rank("dense").fill_null(0).to_numpy().astype(np.int64)
    choices = kinds.size - twins.size
    if policy == "other-answer":
        choices = choices - _same_answer(table)
    return DonorPool(table["id"], modality, policy, kinds, twins, answers, choices, by_pictures)


def draw(pool: DonorPool, seed: int, k: int) -> pl.DataFrame:
    """Draw donor k of every example of the pool that has donors: columns `id` and `donor`, sorted by id."""
    able = np.flatnonzero(pool.choices > 0)
    key = combine(hash_text(pool.ids, seed), hash_text(pl.Series([pool.modality])), np.full(1, k, np.uint64))
    donors = np.full(len(pool.ids), -1, np.int64)
    donors[able] = pool.place(able, uniform(key[able]))
    if pool.policy == "other-answer":
        pool.redraw(donors, able, key)
    return pl.DataFrame({"id": pool.ids.gather(able), "donor": pool.ids.gather(donors[able])}).sort("id")


def _kind(data: Dataset, policy: str) -> str | None:
    """Name the column that donor and example must share."""
    if policy.startswith(SAME):
        column = policy.removeprefix(SAME)
        data.scan(column)  # says so where there is none
        return column
    if policy not in TYPES:
        return None
    for column in TYPES[policy]:
        if column in data.examples.columns and data.examples[column].is_not_null().any():
            return column
    raise DataError(f"{' or '.join(TYPES[policy])} for donors of the same type", "none", f"use donors={SAME}COLUMN")


def as_text(column: pl.Series) -> pl.Series:
    """Write any column as text, so that lists of features can be compared as well."""
    return column.to_frame("it").select(pl.struct("it").struct.json_encode()).to_series()


def _spans(sorted_keys: pl.DataFrame) -> Spans:
    """Find the run of equal rows around each row of a sorted table; nulls are equal."""
    if sorted_keys.is_empty():
        return Spans(np.empty(0, np.int64), np.empty(0, np.int64))
    changed = sorted_keys.select(
        pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift()) for name in sorted_keys.columns)
    )
    first = changed.to_series().to_numpy().copy()
    first[0] = True
    starts = np.flatnonzero(first)
    run = np.cumsum(first) - 1
    return Spans(starts[run], np.diff(starts, append=sorted_keys.height)[run])


def _same_answer(table: pl.DataFrame) -> Ints:
    """Count the examples of its kind with different content and the same answer as each example."""
    same, twins = pl.len().over("kind", "answer"), pl.len().over("kind", "answer", "content")
    return table.select((same - twins).cast(pl.Int64)).to_series().to_numpy()
