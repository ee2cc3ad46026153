"""Adjusted p-values, against statsmodels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from statsmodels.stats.multitest import multipletests

from eyechart import statistics
from eyechart.base.errors import DataError, UnknownNameError

THEIRS = {"bh": "fdr_bh", "by": "fdr_by", "holm": "holm"}


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=50), st.sampled_from(sorted(THEIRS)))
def test_adjusted_p_values_agree_with_statsmodels(p: list[float], method: str) -> None:
    np.testing.assert_allclose(statistics.adjust(p, method), multipletests(p, method=THEIRS[method])[1], atol=1e-12)


@pytest.mark.parametrize("method", THEIRS)
def test_unknown_p_values_stay_unknown_and_do_not_count(method: str) -> None:
    found = statistics.adjust([0.04, np.nan, 0.01, np.nan], method)

    assert np.isnan(found[[1, 3]]).all()
    np.testing.assert_array_equal(found[[0, 2]], statistics.adjust([0.04, 0.01], method))


@pytest.mark.parametrize("method", THEIRS)
def test_no_p_values_stay_none(method: str) -> None:
    assert statistics.adjust([], method).size == 0


def test_values_that_are_no_p_values_and_unknown_methods_are_refused() -> None:
    with pytest.raises(DataError, match=r"p-values from 0 to 1"):
        statistics.adjust([0.2, 1.2])
    with pytest.raises(UnknownNameError, match="one of bh, by, holm"):
        statistics.adjust([0.2], "bonferoni")
