"""Candidates for decoys: answers to similar questions, to other questions on the image, or to any question.

Candidates stand in places: an entry is an answer somewhere, with how often it is given there and by whom. Where several
entries stand at the same place (one question asked of many images) their order is a race: entry e of example i arrives
at -log(u) / n(e), with u a hash of seed, i and e, so that whoever is given more often comes first more often.
"""

from typing import NamedTuple

import numpy as np
import polars as pl

from eyechart.audits.decoys.drawing.lists import Int32s, Int64s, Lists, starts_of
from eyechart.audits.decoys.drawing.pairs import ALIKE, CONTAINS, FILTERS, Lexicon, Limits, Memory, judge_pair
from eyechart.hashing import Hashes
from eyechart.kernels import Integer, kernel

EQUAL = len(FILTERS) + 1  # one more thing that keeps a candidate out: it is an accepted answer
TARGET, ACCEPTED, CHOSEN = range(3)  # whom a filter compared a candidate with
TRIES = 64  # answers looked at where they are drawn at random


class Entries(NamedTuple):
    """The distinct answers of each place, the most frequent first."""

    starts: Int64s
    answers: Int32s
    counts: Int32s
    donors: Int32s  # the first example that gives the answer there
    ends: Int64s  # the counts summed up, all places after each other


class Asked(NamedTuple):
    """The examples that want decoys."""

    rows: Int32s
    targets: Int32s
    accepted: Lists  # by example, the target among them
    lots: Hashes
    beside: Int32s  # decoys of a set of options that may be joined with the one to draw, -1 at the end


class Judges(NamedTuple):
    """All that is needed to compare two answers."""

    lexicon: Lexicon
    limits: Limits
    memory: Memory


class Candidates(NamedTuple):
    """For each asked example the entries that its target admits, -1 at the end; and how many fell to which filter."""

    entries: Int32s
    taken: Int64s  # by whom it was compared with, and filter


class Search(NamedTuple):
    """Candidates while they are collected."""

    judges: Judges
    asked: Asked
    entries: Entries
    found: Candidates
    seen: Int32s  # by answer: the last example that looked at it


def make_entries(places: pl.Series, answers: Int32s, n: int) -> Entries:
    """Gather the answers given at each of n places; a null place and the answer -1 are left out."""
    rows = np.arange(len(answers), dtype=np.int32)
    table = pl.DataFrame({"place": places.cast(pl.Int64), "answer": answers, "row": rows})
    found = (
        table.filter(pl.col("answer") >= 0)
        .drop_nulls("place")
        .group_by("place", "answer")
        .agg(pl.len().cast(pl.Int32).alias("n"), pl.col("row").min())
        .sort("place", "n", "answer", descending=[False, True, False])
    )
    starts = starts_of(np.bincount(found["place"].to_numpy(), minlength=n))
    answer, counts, donors = (found[name].to_numpy().astype(np.int32) for name in ("answer", "n", "row"))
    return Entries(starts, answer, counts, donors, np.cumsum(counts, dtype=np.int64))


def join_entries(one: Entries, other: Entries) -> Entries:
    """Put the entries of another list behind those of one; their numbers rise by as many as there are of the first."""
    answers, counts, donors = (np.concatenate(pair) for pair in zip(one[1:4], other[1:4], strict=True))
    starts = np.concatenate([one.starts, len(one.answers) + other.starts[1:]])
    return Entries(starts, answers, counts, donors, np.cumsum(counts, dtype=np.int64))


@kernel
def collect(judges: Judges, asked: Asked, entries: Entries, places: Int32s, near: int) -> Candidates:
    """Walk the places of each asked example in their order, up to `near` candidates that the target admits."""
    search = _begin(judges, asked, entries, near)
    for i in range(len(asked.rows)):
        n = 0
        for place in places[i]:
            if place < 0 or n == near:
                break
            for entry in race(entries, place, asked.lots[i]):
                n = _consider(search, i, n, entry)
    return search.found


@kernel
def collect_random(judges: Judges, asked: Asked, entries: Entries, places: Int32s, near: int) -> Candidates:
    """Draw from the one place of each asked example, each answer as often as it is given there; -1 is no place."""
    search = _begin(judges, asked, entries, near)
    for i in range(len(asked.rows)):
        n = 0
        for at in range(TRIES if places[i] >= 0 else 0):
            n = _consider(search, i, n, draw_entry(entries, places[i], asked.lots[i], at))
    return search.found


@kernel
def _begin(judges: Judges, asked: Asked, entries: Entries, near: int) -> Search:
    found = Candidates(np.full((len(asked.rows), near), -1, np.int32), np.zeros((3, EQUAL + 1), np.int64))
    return Search(judges, asked, entries, found, np.full(len(judges.lexicon.kinds), -1, np.int32))


@kernel
def _consider(search: Search, i: int, n: int, entry: int) -> int:
    """Keep an entry as the candidate n of example i, if there is room and its answer is new and admitted."""
    answer = search.entries.answers[entry]
    if n == search.found.entries.shape[1] or search.seen[answer] == i:
        return n
    search.seen[answer] = i
    if not admits(search.judges, search.asked, i, answer, search.found.taken):
        return n
    search.found.entries[i, n] = entry
    return n + 1


@kernel
def admits(judges: Judges, asked: Asked, i: int, answer: int, taken: Int64s) -> bool:
    """Compare a candidate with the target and with all other accepted answers, and count what keeps it out."""
    accepted = asked.accepted.items[asked.accepted.starts[i] : asked.accepted.starts[i + 1]]
    for other in accepted:
        if answer == other:
            taken[TARGET if other == asked.targets[i] else ACCEPTED, EQUAL] += 1
            return False
    code = judge_pair(judges.lexicon, judges.limits, judges.memory, asked.targets[i], answer)
    if code:
        taken[TARGET, code] += 1
        return False
    for other in accepted:
        if judges.limits.everyone and other != asked.targets[i]:
            code = judge_pair(judges.lexicon, judges.limits, judges.memory, other, answer)
            # People sometimes answer "yes" or "many" where neither fits: that rules nothing out.
            if CONTAINS <= code <= ALIKE:
                taken[ACCEPTED, code] += 1
                return False
    return True


@kernel
def race(entries: Entries, place: int, lot: int) -> Int64s:
    """Let the entries of a place race: the more frequent ones tend to come first."""
    first, last = entries.starts[place], entries.starts[place + 1]
    arrivals = np.empty(last - first)
    for at in range(last - first):
        arrivals[at] = -np.log(chance(lot, entries.answers[first + at])) / entries.counts[first + at]
    order: Int64s = first + np.argsort(arrivals)
    return order


@kernel
def draw_entry(entries: Entries, place: int, lot: int, at: int) -> int:
    """Draw an entry of a place that has any, with a chance in proportion to its count."""
    first, last = entries.starts[place], entries.starts[place + 1]
    below = entries.ends[first - 1] if first else 0
    wanted = below + np.int64((1.0 - chance(lot, at)) * (entries.ends[last - 1] - below))
    return int(np.searchsorted(entries.ends, wanted, "right"))


@kernel
def chance(lot: Integer, what: Integer) -> float:
    """Draw a number of (0, 1] for a lot and a thing: the finaliser of SplitMix64 over both."""
    bits = np.uint64(lot) + np.uint64(np.int64(what) + 1) * np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    bits = bits ^ (bits >> np.uint64(31))
    return (np.float64(bits >> np.uint64(11)) + 1.0) * 2.0**-53
