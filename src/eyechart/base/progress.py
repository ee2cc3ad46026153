"""Report the progress of long work: the work reports its steps, and a watcher set around it decides how to show them.

The watcher is not passed through the work, so that a pure function deep inside can report its steps.
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
    """Show progress with this watcher inside the block."""
    token = _watcher.set(progress)
    try:
        yield
    finally:
        _watcher.reset(token)


def tracked(label: str, total: int) -> AbstractContextManager[Advance]:
    """Start work with this many steps; yield a function to call with the number of steps just done."""
    return _watcher.get()(label, total)


@contextmanager
def tracked_share(label: str) -> Iterator[Callable[[float], None]]:
    """Start work that knows only the share done so far, from 0 to 1."""
    done = 0
    with tracked(label, 100) as advance:

        def reach(share: float) -> None:
            nonlocal done
            advance(round(100 * share) - done)
            done = round(100 * share)

        yield reach
