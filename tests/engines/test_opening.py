"""Engines are opened by name, and what cannot be opened is one clear line."""

import pickle
import sys

import numpy as np
import pytest

from eyechart.audits.accuracy import Accuracy
from eyechart.base.errors import DataError, MissingExtraError, SettingError, UnknownNameError
from eyechart.data.dataset import Dataset
from eyechart.engines import Local, open_engine, using
from eyechart.engines.arrays import unlocked
from eyechart.mining.counting import QueryMatches
from eyechart.runs.verbs import study


def test_local_is_the_engine_of_this_process() -> None:
    assert open_engine("local") == Local()


def test_an_engine_that_is_handed_over_is_used_as_it_is() -> None:
    own = Local()

    with using(own) as opened:
        assert opened is own


@pytest.mark.parametrize(
    ("spec", "error", "said"),
    [("rai", UnknownNameError, "did you mean 'ray'"), ("local:2", SettingError, "nothing after 'local:'")],
)
def test_a_wrong_name_is_one_clear_error(spec: str, error: type[Exception], said: str, tiny: Dataset) -> None:
    with pytest.raises(error, match=said):
        study(tiny, [Accuracy()], engine=spec)


def test_a_missing_extra_says_how_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)

    with pytest.raises(MissingExtraError, match=r"pip install 'eyechart\[ray\]'"):
        open_engine("ray")


def test_an_error_with_three_parts_travels_between_processes() -> None:
    error = DataError("one thing", "another", "look again")
    back = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes

    assert type(back) is DataError
    assert (str(back), back.advice) == (str(error), "look again")


def test_shared_arrays_are_seen_without_a_copy() -> None:
    """What is read-only can be handed to kernels that know only arrays they may write to, and is the same memory."""
    locked, free = np.arange(5, dtype=np.int32), np.arange(3, dtype=np.int32)
    locked.flags.writeable = False
    seen = unlocked(QueryMatches(locked, free))

    assert seen.queries.flags.writeable
    assert np.shares_memory(seen.queries, locked)
    assert seen.examples is free
