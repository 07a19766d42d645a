"""What `make bench` computes from what it watched; its rows themselves need guests."""

import pytest
from measure import BenchError, Spread, wall_per_virtual_s

NS = 1_000_000_000
LATE_NS = 20  # as the agent prints a second's line


def lines(*walls: float) -> list[tuple[int, float]]:
    """One line of progress at each virtual second from 0 on."""
    return [(second * NS + LATE_NS, wall) for second, wall in enumerate(walls)]


def test_the_last_second_counts_although_its_line_is_late() -> None:
    assert wall_per_virtual_s(lines(0.2, 3.2, 5.2, 6.2), 0, 3) == pytest.approx(2.0)


def test_only_the_stretch_asked_for_counts() -> None:
    assert wall_per_virtual_s(lines(0.2, 9.2, 10.2, 11.4, 99.0), 1, 3) == pytest.approx(1.1)


@pytest.mark.parametrize("stamps", [[], lines(0.2), [(0, 0.1), (NS // 4, 0.3)]])
def test_too_short_is_missing_not_zero(stamps: list[tuple[int, float]]) -> None:
    assert wall_per_virtual_s(stamps, 0, 3) is None


def test_a_spread_of_nothing_is_an_error() -> None:
    with pytest.raises(BenchError, match="nothing was measured"):
        Spread.of([])
