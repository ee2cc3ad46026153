"""Work is watched where someone watches, and nowhere else."""

from collections.abc import Iterator
from contextlib import contextmanager

from eyechart.audits.rules import RulesAudit
from eyechart.base.progress import Advance, tracked, tracked_share, watched_by
from eyechart.engines import Local
from eyechart.formats import read


class Watcher:
    """Write down what is tracked."""

    def __init__(self) -> None:
        self.steps: dict[str, list[int]] = {}

    @contextmanager
    def __call__(self, label: str, total: int) -> Iterator[Advance]:
        self.steps[label] = [total]
        yield self.steps[label].append


def test_steps_reach_the_watcher_and_stop_with_it() -> None:
    watcher = Watcher()
    with watched_by(watcher), tracked("walking", 3) as advance:
        advance(2)
    with tracked("resting", 1) as advance:
        advance(1)

    assert watcher.steps == {"walking": [3, 2]}


def test_shares_add_up_to_the_whole() -> None:
    watcher = Watcher()
    with watched_by(watcher), tracked_share("mining") as reach:
        for share in (0.004, 0.333, 0.9999, 1.0):
            reach(share)

    total, *steps = watcher.steps["mining"]
    assert sum(steps) == total == 100
    assert min(steps) >= 0


def test_the_study_of_rules_tells_how_far_mining_is() -> None:
    watcher = Watcher()
    with watched_by(watcher):
        RulesAudit().study(read("world", images=50), Local())

    total, *steps = watcher.steps["mining rules"]
    assert sum(steps) == total
