"""What a score says of a connection of a capture."""

from __future__ import annotations

from typing import Any

import pytest

from narrows.paths.scores import qoo_of

ROW: dict[str, Any] = {
    "vantage": "sender", "rtt_samples": 5000, "rtt_p99_ns": 150_000_000, "rtt_p999_ns": 160_000_000,
    "capacity_bps": 20e6, "throughput_bps": 18e6, "retransmitted_segments": 12,
    "needless_retransmissions": 12, "data_segments": 1000,
}  # fmt: skip


def test_quality_of_outcome_is_by_the_drafts_example() -> None:
    # The example: p99 between 100 ms (optimal) and 200 (unacceptable): half; nothing was lost.
    assert qoo_of(ROW) == pytest.approx(50.0)
    # 12 of 1000 lost: (0.02 - 0.012) / (0.02 - 0.001).
    assert qoo_of(ROW | {"needless_retransmissions": 0}) == pytest.approx(100 * 0.008 / 0.019)
    assert qoo_of(ROW | {"capacity_bps": 3e6}) == 0.0


@pytest.mark.parametrize(
    "less",
    [
        {"vantage": "middle"},
        {"rtt_samples": 20},
        {"rtt_p999_ns": None},
        # The path never limited, and what was sent is less than the example asks for.
        {"capacity_bps": None, "throughput_bps": 1e6},
    ],
)
def test_without_an_input_there_is_none(less: dict[str, Any]) -> None:
    assert qoo_of(ROW | less) is None
