"""The verbs of the front door: study and audit in memory, over the same run folder the command line uses."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from eyechart.audits import Served, keep_served, make_audit, runnable
from eyechart.dataset import Dataset
from eyechart.engines.opening import using
from eyechart.interview import Asking
from eyechart.models import load
from eyechart.protocols import Audit, Engine, Model
from eyechart.result import Result
from eyechart.run import Parting, Run
from eyechart.store import Store


def study(
    data: Dataset,
    audits: Iterable[str | Audit] | None = None,
    *,
    to: str | Path | None = None,
    learn: Sequence[str] | None = None,
    judge: Sequence[str] | None = None,
    engine: str | Engine = "local",
) -> dict[str, Result]:
    """Let audits (all that can run, where none are named) look at the data alone.

    `to` keeps the run folder; without it everything happens in a temporary one. `learn` and `judge` name splits, or
    `none`. `engine` says where the work is done: `local`, `ray`, `ray:auto`, `ray:ADDRESS`, or an engine that is open.
    """
    with _place(to) as folder, using(engine) as opened:
        run = Run(Store(folder), opened, asking=Asking(skip=audits is None))
        run.start(data, "eyechart.study(...)", parts=Parting(learn, judge))
        return _kept(run.study(choose(audits, data)), temporary=to is None)


def audit(
    data: Dataset,
    model: str | Model,
    audits: Iterable[str | Audit] | None = None,
    *,
    to: str | Path | None = None,
    learn: Sequence[str] | None = None,
    judge: Sequence[str] | None = None,
    asking: Asking | None = None,
    engine: str | Engine = "local",
) -> dict[str, Result]:
    """Audit a model on data: study, probe, predict and judge; `asking` says how it is asked and what is allowed.

    Where no audits are named and the model's answers lie in files, those without an answer there are left out.
    """
    answerer = load(model) if isinstance(model, str) else model
    with _place(to) as folder, using(engine) as opened:
        how = replace(asking or Asking(), skip=audits is None)
        run = Run(Store(folder, data.images.web), opened, asking=how)
        run.start(data, "eyechart.audit(...)", parts=Parting(learn, judge))
        chosen = choose(audits, data)
        run.study(*(keep_served(chosen, [answerer], data) if audits is None else Served(chosen, {})))
        return _kept(run.audit(answerer), temporary=to is None)


def choose(audits: Iterable[str | Audit] | None, data: Dataset) -> list[Audit]:
    """Make audits out of names; None means every one the data have the columns for."""
    chosen = runnable(data) if audits is None else audits
    return [make_audit(item) if isinstance(item, str) else item for item in chosen]


def _kept(results: dict[str, Result], *, temporary: bool) -> dict[str, Result]:
    """Read what lies in a folder that is about to go."""
    return {name: result.read() for name, result in results.items()} if temporary else results


@contextmanager
def _place(to: str | Path | None) -> Iterator[Path]:
    if to is not None:
        yield Path(to)
        return
    with tempfile.TemporaryDirectory(prefix="eyechart-") as folder:
        yield Path(folder) / "run"
