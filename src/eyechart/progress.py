"""Progress of long work: whoever works says how far it is, whoever watches decides how that is shown.

The watcher is set around the work, not handed through it, so that a pure function deep inside can speak of its steps.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar

Advance = Callable[[int], None]
Progress = Callable[[str, int], AbstractContextManager[Advance]]


@contextmanager
def quiet(label: str, total: int) -> Iterator[Advance]:  # noqa: ARG001 - the shape of every progress
    """Show no progress."""
    yield lambda _: None


_watcher: ContextVar[Progress] = ContextVar("progress", default=quiet)


@contextmanager
def watched_by(progress: Progress) -> Iterator[None]:
    """Show in this way what is tracked meanwhile."""
    token = _watcher.set(progress)
    try:
        yield
    finally:
        _watcher.reset(token)


def tracked(label: str, total: int) -> AbstractContextManager[Advance]:
    """Begin work of so many steps; the function it yields is told how many more are done."""
    return _watcher.get()(label, total)


@contextmanager
def tracked_share(label: str) -> Iterator[Callable[[float], None]]:
    """Begin work that knows only which share of it is done, from 0 to 1."""
    done = 0
    with tracked(label, 100) as advance:

        def reach(share: float) -> None:
            nonlocal done
            advance(round(100 * share) - done)
            done = round(100 * share)

        yield reach
