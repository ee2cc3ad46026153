"""Open a run: build its pages, and serve them."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from eyechart.store import Store
from eyechart.viewing.app import make_app
from eyechart.viewing.asking.pages import Asker
from eyechart.viewing.asking.plan import ORIG, plan_questions
from eyechart.viewing.brought import gather
from eyechart.viewing.guard import Guard
from eyechart.viewing.pages import routes
from eyechart.viewing.serving import Doorway, serve

if TYPE_CHECKING:
    from fastapi import FastAPI


class People(NamedTuple):
    """What people are asked: how many examples, drawn with which seed, with which options."""

    items: int = 40
    seed: int = 0
    options: str = ORIG


def view_run(
    run: Store,
    doorway: Doorway,
    announce: Callable[[str], None],
    people: People | None = None,
    audits: tuple[str, ...] = (),
) -> None:
    """Serve the explorer of a run with the pages of audits that are named, or the place where people answer."""
    run.manifest  # noqa: B018 - says at once when this is no run
    serve(
        lambda guard: explorer(run, guard, audits) if people is None else asker(run, guard, people), doorway, announce
    )


def explorer(run: Store, guard: Guard, audits: tuple[str, ...] = ()) -> "FastAPI":
    """Build the explorer."""
    return make_app(routes(run, gather(audits)), guard)


def asker(run: Store, guard: Guard, people: People) -> "FastAPI":
    """Build the place where people answer; it shows nothing else, for the rest holds the answers."""
    pages = Asker(plan_questions(run, *people))
    return make_app(pages.shown(), guard, pages.sent())
