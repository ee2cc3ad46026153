"""Candidates for decoys: answers to similar questions, to other questions on the image, or to any question.

Candidates are grouped by place: an entry is an answer at one place, with its count there and its first donor. Where
several entries share a place (one question asked about many images), a race orders them: entry e of example i arrives
at -log(u) / n(e), with u a hash of seed, i and e, so that more frequent answers tend to come first.

Every example collects its own candidates, so any engine can do this for blocks of examples, whatever else is in a
block. Candidates removed by the filters are counted, and counts are added up. Each process caches the pairs it compared
recently, which changes no comparison.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np
import polars as pl

from eyechart.audits.decoys.filters import ACCEPTED, ALIKE, CONTAINS, EQUAL, TARGET, Filters, judge_pair
from eyechart.audits.decoys.lexicon import Lexicon
from eyechart.audits.decoys.texts import Int32s, Int64s, Ragged, starts_of
from eyechart.base.hashing import Hashes
from eyechart.base.kernels import Integer, kernel
from eyechart.data.protocols import Engine
from eyechart.engines.arrays import pack, unlocked, unpack

TRIES = 64  # answers looked at where they are drawn at random
BLOCK = 20_000  # examples of a batch


class Entries(NamedTuple):
    """The distinct answers at each place, the most frequent first."""

    starts: Int64s
    answers: Int32s
    counts: Int32s
    donors: Int32s  # the first example that gives the answer there
    ends: Int64s  # the counts summed up, all places after each other

    @classmethod
    def of(cls, places: pl.Series, answers: Int32s, n: int) -> Self:
        """Gather the answers given at each of n places; a null place and the answer -1 are left out."""
        rows = np.arange(len(answers), dtype=np.int32)
        table = pl.DataFrame({"place": places.cast(pl.Int64), "answer": answers, "row": rows})
        counted = (
            table.filter(pl.col("answer") >= 0)
            .drop_nulls("place")
            .group_by("place", "answer")
            .agg(pl.len().cast(pl.Int32).alias("n"), pl.col("row").min())
            .sort("place", "n", "answer", descending=[False, True, False])
        )
        starts = starts_of(np.bincount(counted["place"].to_numpy(), minlength=n))
        answer, counts, donors = (counted[name].to_numpy().astype(np.int32) for name in ("answer", "n", "row"))
        return cls(starts, answer, counts, donors, np.cumsum(counts, dtype=np.int64))

    def followed_by(self, other: "Entries") -> "Entries":
        """Append the entries of another list, numbered after those of this one."""
        answers, counts, donors = (np.concatenate(pair) for pair in zip(self[1:4], other[1:4], strict=True))
        starts = np.concatenate([self.starts, len(self.answers) + other.starts[1:]])
        return Entries(starts, answers, counts, donors, np.cumsum(counts, dtype=np.int64))

    def most_frequent(self, n: int) -> "Entries":
        """Keep the first n entries of each place."""
        sizes = np.diff(self.starts)
        keep = np.arange(len(self.answers)) - np.repeat(self.starts[:-1], sizes) < n
        answers, counts, donors = (column[keep] for column in (self.answers, self.counts, self.donors))
        return Entries(starts_of(np.minimum(sizes, n)), answers, counts, donors, np.cumsum(counts, dtype=np.int64))

    def answers_of(self, entries: Int32s) -> Int32s:
        """Return the answers of entries by their numbers; -1 stays."""
        return np.where(entries < 0, -1, np.append(self.answers, np.int32(-1))[entries]).astype(np.int32)


class Recipients(NamedTuple):
    """The examples to draw decoys for."""

    rows: Int32s
    targets: Int32s
    accepted: Ragged  # by example, the target among them
    keys: Hashes  # a random number for each example, from which its draws are made
    beside: Int32s  # decoys of a set of options that may be joined with the one to draw, -1 at the end


class Candidates(NamedTuple):
    """The entries that each example's target admits, padded by -1, and the number that each filter removed."""

    entries: Int32s
    taken: Int64s  # by whom it was compared with, and filter


def collect_in_blocks(step: "CandidateSearch", examples: Recipients, places: Int32s, engine: Engine) -> Candidates:
    """Collect candidates by blocks; `places` has a row for each example."""
    entries = np.empty((len(examples.rows), step.near), np.int32)
    taken = np.zeros((3, EQUAL + 1), np.int64)
    for table in engine.map(step, _blocks(examples, places)):
        entries[unpack(table, "example")] = unpack(table, "entries").reshape(-1, step.near)
        taken += unpack(table, "taken").reshape(taken.shape)
    return Candidates(entries, taken)


@dataclass(frozen=True)
class CandidateSearch:
    """Collect up to `near` candidates for each example of a batch: walk its places, or draw at random from one."""

    lexicon: Lexicon
    entries: Entries
    near: int
    random: bool

    def __call__(self, batch: pl.DataFrame) -> pl.DataFrame:
        """Return the candidates and the filters' counts in one row."""
        examples, places = _read(batch), batch["places"].to_numpy(writable=True)
        with np.errstate(over="ignore"):  # hashes overflow, which compiled kernels do silently
            if self.random:
                candidates = collect_random(self._filters, examples, self._unlocked_entries, places.ravel(), self.near)
            else:
                candidates = collect(self._filters, examples, self._unlocked_entries, places, self.near)
        return pack(example=examples.rows, entries=candidates.entries.ravel(), taken=candidates.taken.ravel())

    @cached_property
    def _filters(self) -> Filters:
        return Filters.of(unlocked(self.lexicon))

    @cached_property
    def _unlocked_entries(self) -> Entries:
        return unlocked(self.entries)


def _blocks(examples: Recipients, places: Int32s) -> Iterator[pl.DataFrame]:
    """Cut the examples into tables: the number of each, its target, key, accepted answers and places."""
    n, (starts, items) = len(examples.rows), examples.accepted
    for begin in range(0, n, BLOCK):
        end = min(begin + BLOCK, n)
        block = slice(begin, end)
        owners = np.repeat(np.arange(begin, end, dtype=np.int32), np.diff(starts[begin : end + 1]))
        accepted = pl.DataFrame({"example": owners, "accepted": items[starts[begin] : starts[end]]})
        grouped = accepted.group_by("example", maintain_order=True).agg("accepted")
        yield grouped.with_columns(  # as many: each example has an accepted answer, its target
            pl.Series("target", examples.targets[block]),
            pl.Series("key", examples.keys[block]),
            pl.Series("places", places[block]),
        )


def _read(batch: pl.DataFrame) -> Recipients:
    """Read the examples of a batch; decoys to be joined with do not affect candidates."""
    rows, targets, keys = (batch[name].to_numpy(writable=True) for name in ("example", "target", "key"))
    accepted = Ragged(starts_of(batch["accepted"].list.len().to_numpy()), unpack(batch, "accepted"))
    return Recipients(rows, targets, accepted, keys, np.empty((len(rows), 0), np.int32))


@kernel
def collect(filters: Filters, examples: Recipients, entries: Entries, places: Int32s, near: int) -> Candidates:
    """Walk the places of each example in order until `near` candidates are admitted by the target."""
    candidates, last_example = _no_candidates(filters, examples, near)
    for i in range(len(examples.rows)):
        n = 0
        for place in places[i]:
            if place < 0 or n == near:
                break
            for entry in _race(entries, place, examples.keys[i]):
                answer = entries.answers[entry]
                if n < near and last_example[answer] != i:
                    last_example[answer] = i
                    if _admits(filters, examples, i, answer, candidates.taken):
                        candidates.entries[i, n] = entry
                        n += 1
    return candidates


@kernel
def collect_random(filters: Filters, examples: Recipients, entries: Entries, places: Int32s, near: int) -> Candidates:
    """Draw from the single place of each example, each answer in proportion to its count there; -1 is no place."""
    candidates, last_example = _no_candidates(filters, examples, near)
    for i in range(len(examples.rows)):
        n = 0
        for attempt in range(TRIES if places[i] >= 0 else 0):
            entry = _draw_entry(entries, places[i], examples.keys[i], attempt)
            answer = entries.answers[entry]
            if n < near and last_example[answer] != i:
                last_example[answer] = i
                if _admits(filters, examples, i, answer, candidates.taken):
                    candidates.entries[i, n] = entry
                    n += 1
    return candidates


@kernel
def _no_candidates(filters: Filters, examples: Recipients, near: int) -> tuple[Candidates, Int32s]:
    """Allocate arrays for candidates, and for the last example that considered each answer."""
    entries = np.full((len(examples.rows), near), -1, np.int32)
    last_example = np.full(len(filters.lexicon.kinds), -1, np.int32)
    return Candidates(entries, np.zeros((3, EQUAL + 1), np.int64)), last_example


@kernel
def _admits(filters: Filters, examples: Recipients, i: int, answer: int, taken: Int64s) -> bool:
    """Compare a candidate with the target and all other accepted answers, and count the filter that rejects it."""
    target = examples.targets[i]
    accepted = examples.accepted.items[examples.accepted.starts[i] : examples.accepted.starts[i + 1]]
    for accepted_answer in accepted:
        if answer == accepted_answer:
            taken[TARGET if accepted_answer == target else ACCEPTED, EQUAL] += 1
            return False
    code = judge_pair(filters, target, answer)
    if code:
        taken[TARGET, code] += 1
        return False
    for accepted_answer in accepted:
        if filters.lexicon.everyone and accepted_answer != target:
            code = judge_pair(filters, accepted_answer, answer)
            # People sometimes answer "yes" or "many" where neither fits, which rules nothing out.
            if CONTAINS <= code <= ALIKE:
                taken[ACCEPTED, code] += 1
                return False
    return True


@kernel
def _race(entries: Entries, place: int, key: int) -> Int64s:
    """Order the entries of a place by a race: the more frequent ones tend to come first."""
    first, last = entries.starts[place], entries.starts[place + 1]
    arrivals = np.empty(last - first)
    for i in range(last - first):
        arrivals[i] = -np.log(draw_uniform(key, entries.answers[first + i])) / entries.counts[first + i]
    order: Int64s = first + np.argsort(arrivals)
    return order


@kernel
def _draw_entry(entries: Entries, place: int, key: int, attempt: int) -> int:
    """Draw an entry of a non-empty place with probability proportional to its count."""
    first, last = entries.starts[place], entries.starts[place + 1]
    below = entries.ends[first - 1] if first else 0
    wanted = below + np.int64((1.0 - draw_uniform(key, attempt)) * (entries.ends[last - 1] - below))
    return int(np.searchsorted(entries.ends, wanted, "right"))


@kernel
def draw_uniform(key: Integer, counter: Integer) -> float:
    """Draw a number of (0, 1] from a key and a counter: the finaliser of SplitMix64 over both."""
    bits = np.uint64(key) + np.uint64(np.int64(counter) + 1) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits = bits ^ (bits >> np.uint64(31))
    return (np.float64(bits >> np.uint64(11)) + 1.0) * 2.0**-53
