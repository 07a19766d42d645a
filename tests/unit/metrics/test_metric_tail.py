"""The kept part of a distribution gives the quantiles of the whole, or none."""

from __future__ import annotations

import numpy as np
import pytest

from narrows.metrics.statistics.ecdf import weighted_quantile
from narrows.metrics.statistics.tail import Tail, pooled_bin_quantile, pooled_quantile, upper_tail


def some(seed: int, size: int, scale: float = 1.0) -> np.ndarray:
    return np.round(scale * np.random.Generator(np.random.PCG64(seed)).gamma(2.0, size=size), 2)


def tails(parts: list[np.ndarray], share: float) -> list[Tail]:
    return [tail for part in parts if (tail := upper_tail(part, share=share)) is not None]


@pytest.mark.parametrize("p", [0.97, 0.99, 0.995, 0.999, 1.0])
def test_a_pooled_quantile_is_numpy_s_of_all_samples(p: float) -> None:
    parts = [some(1, 997), some(2, 500), some(3, 1203)]
    kept = tails(parts, 0.05)
    assert all(tail.values.size < 60 for tail in kept)
    assert pooled_quantile(kept, p) == np.quantile(np.concatenate(parts), p)


def test_whole_distributions_have_every_quantile() -> None:
    parts = [some(1, 11), some(2, 20), np.array([np.nan, 3.0])]
    kept = tails(parts, 1.0)
    assert all(tail.is_whole for tail in kept)
    every = np.concatenate(parts)
    every = every[~np.isnan(every)]
    for p in (0.0, 0.25, 0.5, 0.9):
        assert pooled_quantile(kept, p) == np.quantile(every, p)


def test_where_the_tails_do_not_reach_there_is_no_quantile() -> None:
    parts = [some(1, 1000), some(2, 1000, scale=9.0)]
    kept = tails(parts, 0.05)
    assert pooled_quantile(kept, 0.5) is None
    # Nearly all of the largest are of the second, of which only a twentieth is kept.
    assert pooled_quantile(kept, 0.96) is None
    assert pooled_quantile(kept, 0.99) == np.quantile(np.concatenate(parts), 0.99)
    assert pooled_bin_quantile(kept, 0.5) is None
    assert pooled_quantile([], 0.5) is None
    assert pooled_bin_quantile([], 0.5) is None
    assert upper_tail(np.array([np.nan])) is None


def test_bins_are_pooled_as_the_weighted_ecdf_does() -> None:
    edges = np.array([0.1, 0.2, 0.5, 1.0, 2.0])
    one, other = np.array([1000.0, 500.0, 90.0, 9.0, 0.0]), np.array([10.0, 800.0, 0.0, 40.0, 3.0])
    kept = [tail for counts in (one, other) if (tail := upper_tail(edges, counts, 0.05)) is not None]
    # 99 of 1599 packets and 43 of 853 are in the two highest bins that have any, a twentieth or more.
    assert [tail.values.size for tail in kept] == [2, 2]
    for p in (0.98, 0.99, 0.999, 1.0):
        assert pooled_bin_quantile(kept, p) == weighted_quantile(np.tile(edges, 2), np.append(one, other), p)
