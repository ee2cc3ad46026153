"""Mine the rules that tell an answer from items (Dancette et al. 2021).

A rule says: examples with these items have this answer. Its support is the number of examples with the items, its joint
count that of those with the answer too, its confidence joint / support. Kept are, for each set of at most `max_items`
items, the most confident answer with a joint count of at least `min_support`, if its confidence is at least
`min_confidence` and the superset filter leaves it. The result depends on nothing but the set of examples.

Differences from the authors' code, which `compat="release"` does not bring back: fractions are compared exactly instead
of by quotients rounded to six digits, and ties that the code left to chance go to the smaller answer number. The empty
antecedent is no rule here (the code gave it a confidence left over from another); see `prior`.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from eyechart.errors import SettingError
from eyechart.kernels import Announce, announced
from eyechart.mining.found import Found, Thresholds, join_found
from eyechart.mining.levels import NO_ITEM, Encoded, Level, encode
from eyechart.mining.roots import Roots
from eyechart.mining.rules import Rules, in_order
from eyechart.mining.settings import MiningSettings
from eyechart.mining.superset import Flags, Nesting, make_table, mark_dominated
from eyechart.mining.threads import run
from eyechart.mining.transactions import Int32s, Int64s, Transactions
from eyechart.protocols import Engine

Progress = Callable[[float], None]

SAMPLE = 32  # one root in so many is searched first, to foretell the rest
ENOUGH = 16  # roots of a sample that can foretell anything
ABSURD = 4  # so many times max_rules foretold: not even begun
DEFAULTS = MiningSettings()


def prior(transactions: Transactions) -> Int64s:
    """Count the examples with each answer: the rules without items."""
    return np.bincount(transactions.answers[transactions.answers >= 0], minlength=transactions.n_answers)


def mine(
    transactions: Transactions,
    settings: MiningSettings = DEFAULTS,
    progress: Progress | None = None,
    announce: Announce | None = None,
    *,
    engine: Engine | None = None,
) -> Rules:
    """List the rules of the examples in their order.

    progress: told the share of the work that is done, from 0 to 1.
    announce: told in a sentence when kernels are compiled, and how many rules and how much memory to expect.
    engine: where the search is done; none, and the local one, are threads here.
    """
    with announced(announce), np.errstate(over="ignore"):
        encoded = encode(transactions, settings)
        found = _search(encoded, settings, progress or _ignore, announce or _ignore, engine)
        return in_order(found, undominated(found, settings), encoded)


def _ignore(_: object) -> None:
    """Tell nobody."""


def _search(
    encoded: Encoded, settings: MiningSettings, progress: Progress, announce: Announce, engine: Engine | None
) -> Found:
    """Find all rules but for the superset filter, first those of a sample of the roots."""
    thresholds = _thresholds(settings)
    singles = _single_rules(encoded.level, thresholds)
    if settings.max_items == 1:
        return singles
    roots = Roots(encoded.level, thresholds, settings, engine)
    sampled = np.arange(len(roots.heaviest)) % SAMPLE == SAMPLE // 2
    sample, rest = roots.heaviest[sampled], roots.heaviest[~sampled]
    for part in (sample, rest):
        for share in roots.search(part):
            if roots.n_rules > settings.max_rules:
                raise _too_many(settings, "more")
            progress(share)
        if part is sample and len(sample) >= ENOUGH:
            _foretell(roots.n_rules * SAMPLE, settings, announce)
    return join_found([singles, *roots.found()])


def _thresholds(settings: MiningSettings) -> Thresholds:
    return Thresholds(
        max_items=settings.max_items,
        min_support=settings.min_support,
        numerator=settings.min_confidence.numerator,
        denominator=settings.min_confidence.denominator,
        # A dropped rule still drops shorter ones in the paper's filter, so that all must be seen.
        prune=settings.superset in {"immediate", "any-subset"},
    )


def _single_rules(level: Level, thresholds: Thresholds) -> Found:
    joints, supports = level.joints.astype(np.int64), level.supports.astype(np.int64)
    kept = np.flatnonzero(joints * thresholds.denominator >= supports * thresholds.numerator)
    items = np.full((len(kept), thresholds.max_items), NO_ITEM, np.uint16)
    items[:, 0] = kept
    return Found(items, level.bests[kept], level.joints[kept], level.supports[kept], np.array([len(kept)]))


def _foretell(rules: int, settings: MiningSettings, announce: Announce) -> None:
    """Say what to expect, and refuse what is absurd."""
    if rules > ABSURD * settings.max_rules:
        raise _too_many(settings, f"about {rules:,}, by one first item in {SAMPLE}")
    gigabytes = rules * bytes_per_rule(settings) / 1e9
    announce(f"expecting about {rules:,} rules before the superset filter, which take {gigabytes:.1f} GB")


def bytes_per_rule(settings: MiningSettings) -> int:
    """Bound the memory a rule takes: as found, with its keys while sorted, and as returned."""
    found, sorting, returned = 2 * settings.max_items + 12, 28, 4 * settings.max_items + 13
    return found + max(sorting, 4 + returned)


def _too_many(settings: MiningSettings, found: str) -> SettingError:
    gigabytes = settings.max_rules * bytes_per_rule(settings) / 1e9
    return SettingError(
        f"at most {settings.max_rules:,} rules before the superset filter (max_rules, {gigabytes:.1f} GB)",
        found,
        "raise min_support or min_confidence, lower max_items, or raise max_rules if the memory is there",
    )


def undominated(found: Found, settings: MiningSettings) -> Int32s:
    """List the rules that the superset filter leaves."""
    dropped: Flags = np.zeros(len(found.answers), np.bool_)
    if settings.superset != "none" and settings.max_items > 1:
        table = make_table(found.items, settings.max_items - 1)
        nesting = _nesting(settings)

        def mark(part: NDArray[np.int64]) -> None:
            mark_dominated(found, table, part, nesting, dropped)

        edges = np.linspace(0, len(dropped), 8 * settings.threads + 1).astype(np.int64)
        for _ in run(mark, np.stack([edges[:-1], edges[1:]], axis=1), settings.threads):
            pass
    return np.flatnonzero(~dropped).astype(np.int32)


def _nesting(settings: MiningSettings) -> Nesting:
    compared = settings.max_items > 2 and settings.superset != "paper"
    return Nesting(
        immediate=settings.superset == "immediate",
        two_sided=settings.superset == "paper",
        known_length=settings.max_items if compared else -1,
        known_subset=(1 << max(settings.max_items - 2, 0)) - 1,
    )
