"""Max-min fair rates, on numbers that are worked out by hand."""

from __future__ import annotations

import pytest

from narrows.metrics.fairness.max_min import max_min_rates


def test_who_wants_less_than_an_equal_part_gets_it_and_the_others_share_the_rest() -> None:
    # 12 over three: 1 is below 4; the other two share 11
    assert max_min_rates(12.0, [1.0, 20.0, 20.0]) == (1.0, 5.5, 5.5)
    # in any order
    assert max_min_rates(12.0, [20.0, 1.0, 20.0]) == (5.5, 1.0, 5.5)


def test_without_contention_each_gets_what_it_wants() -> None:
    assert max_min_rates(10.0, [2.0, 3.0]) == (2.0, 3.0)


def test_two_that_want_all_get_half_each() -> None:
    assert max_min_rates(8.0, [8.0, 8.0]) == (4.0, 4.0)


def test_fair_rates_never_exceed_the_capacity_nor_a_demand() -> None:
    demands = [0.3, 5.0, 2.2, 9.0, 0.0]
    rates = max_min_rates(7.0, demands)
    assert sum(rates) == pytest.approx(7.0)
    assert all(rate <= demand for rate, demand in zip(rates, demands, strict=True))


@pytest.mark.parametrize(("capacity", "demands"), [(0.0, [1.0]), (float("inf"), [1.0]), (1.0, [-1.0])])
def test_what_cannot_be_is_refused(capacity: float, demands: list[float]) -> None:
    with pytest.raises(ValueError, match=r"capacity|demands"):
        max_min_rates(capacity, demands)
