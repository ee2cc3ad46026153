"""The verbs study and audit, which work in a run folder like the command line and return the results."""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from eyechart.audits import Served, keep_served, make_audit, runnable
from eyechart.data.dataset import Dataset
from eyechart.data.protocols import Audit, Engine, Model
from eyechart.data.result import Result
from eyechart.data.results import Results
from eyechart.data.store import Store
from eyechart.engines import using
from eyechart.models import load
from eyechart.runs.doubts import warn_of_doubts
from eyechart.runs.interview import Asking
from eyechart.runs.run import NamedSplits, Run


def study(
    data: Dataset,
    audits: Iterable[str | Audit] | None = None,
    *,
    to: str | Path | None = None,
    learn: Sequence[str] | None = None,
    judge: Sequence[str] | None = None,
    engine: str | Engine = "local",
) -> Results:
    """Study the data by audits (by default all that can run), without a model.

    `to` is the run folder, a temporary one by default. `learn` and `judge` name splits, or `none`. `engine` says where
    to compute: `local`, `ray`, `ray:auto`, `ray:ADDRESS`, or an open engine.
    """
    with _run_folder(to) as folder, using(engine) as opened:
        run = Run(Store(folder), opened, asking=Asking(skip=audits is None))
        run.start(data, "eyechart.study(...)", parts=NamedSplits(learn, judge))
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
) -> Results:
    """Audit a model on data: study, probe, predict and judge; `asking` says how to ask it and what to allow.

    If no audits are named and the model's answers come from files, audits without answers there are left out.
    """
    answerer = load(model) if isinstance(model, str) else model
    with _run_folder(to) as folder, using(engine) as opened:
        asking = replace(asking or Asking(), skip=audits is None)
        run = Run(Store(folder, data.images.web), opened, asking=asking)
        warn_of_doubts([answerer], data)
        run.start(data, "eyechart.audit(...)", parts=NamedSplits(learn, judge))
        chosen = choose(audits, data)
        run.study(*(keep_served(chosen, [answerer], data) if audits is None else Served(chosen, {})))
        return _kept(run.audit(answerer), temporary=to is None)


def choose(audits: Iterable[str | Audit] | None, data: Dataset) -> list[Audit]:
    """Create audits by name, or all that the data have the columns for."""
    chosen = runnable(data) if audits is None else audits
    return [make_audit(item) if isinstance(item, str) else item for item in chosen]


def _kept(results: dict[str, Result], *, temporary: bool) -> Results:
    """Load the results into memory if their folder is about to be removed."""
    return Results({name: result.read() if temporary else result for name, result in results.items()})


@contextmanager
def _run_folder(to: str | Path | None) -> Iterator[Path]:
    if to is not None:
        yield Path(to)
        return
    with tempfile.TemporaryDirectory(prefix="eyechart-") as folder:
        yield Path(folder) / "run"
