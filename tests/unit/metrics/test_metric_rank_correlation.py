"""Spearman's rho and the area under the ROC curve on numbers worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from narrows.metrics.statistics.rank_correlation import area, ranks, spearman


def test_equal_values_share_the_mean_of_their_ranks() -> None:
    assert list(ranks(np.array([3.0, 1.0, 3.0, 2.0]))) == [3.5, 1.0, 3.5, 2.0]


def test_rho_is_of_the_ranks_and_not_of_the_values() -> None:
    one = np.array([1.0, 2.0, 3.0, 1000.0])
    assert spearman(one, one**3) == pytest.approx(1.0)
    # Ranks 1 2 3 4 against 2 1 4 3: 1 - 6 * 4 / (4 * 15) = 0.6.
    assert spearman(one, np.array([20.0, 10.0, 40.0, 30.0])) == pytest.approx(0.6)
    assert spearman(one, np.ones(4)) is None
    assert spearman(one[:2], one[:2]) is None
    with pytest.raises(ValueError, match="4 one, 2 other"):
        spearman(one, one[:2])


def test_the_area_counts_an_equal_pair_half() -> None:
    # 3 is above 1 and 2, 2 is above 1 and equal to 2: 3.5 of 4 pairs.
    assert area(np.array([3.0, 2.0]), np.array([1.0, 2.0])) == pytest.approx(0.875)
    assert area(np.array([]), np.array([1.0])) is None
