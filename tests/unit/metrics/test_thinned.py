"""Series as a screen shows them: nothing that stands out is lost."""

from __future__ import annotations

import numpy as np

from narrows.metrics.statistics.thinned import counted, thinned


def test_few_values_stay_as_they_are() -> None:
    t = np.arange(10.0)
    found = thinned(t, t * 2, (2.0, 8.0), 3)
    assert found.t.tolist() == [2, 3, 4, 5, 6, 7]
    assert found.value.tolist() == [4, 6, 8, 10, 12, 14]
    assert found.low is None


def test_of_many_values_each_stretch_keeps_mean_least_and_greatest() -> None:
    t = np.arange(100.0)
    value = np.ones(100)
    value[37], value[38] = 9.0, -7.0
    found = thinned(t, value, (0.0, 100.0), 10)
    assert found.t.tolist() == [5, 15, 25, 35, 45, 55, 65, 75, 85, 95]
    assert found.low is not None
    assert found.high is not None
    assert (found.low.min(), found.high.max()) == (-7.0, 9.0)
    assert found.value[3] == (8 * 1 + 9 - 7) / 10


def test_a_stretch_without_a_value_has_none_and_a_lost_value_is_no_number() -> None:
    t = np.concatenate([np.arange(0.0, 30.0), np.arange(60.0, 100.0)])
    value = np.full(t.size, 2.0)
    value[:10], value[10] = np.nan, np.nan
    found = thinned(t, value, (0.0, 100.0), 10)
    assert found.t.tolist() == [5, 15, 25, 65, 75, 85, 95]
    assert np.isnan(found.value[0])
    assert found.value[1] == 2.0  # of the nine that are known


def test_what_is_counted_is_summed_with_zeros_between() -> None:
    found = counted(np.array([0.5, 0.6, 9.5]), np.array([1.0, 2.0, 4.0]), (0.0, 10.0), 5)
    assert found.value.tolist() == [3, 0, 0, 0, 4]
    assert found.t.tolist() == [1, 3, 5, 7, 9]
