"""What the study of QUIC stacks reads of a run whose rate changes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from narrows.runs import queue_numbers
from narrows.runs.observed import Series

BIN_NS = 10_000_000
CHANGE_NS = 8_000_000_000


def made_up(mbps: list[float], *, changes: bool = True, drops: float = 0.0) -> Any:
    """A run whose link goes to 40 Mbit/s at 8 s, what left in each 10 ms from then on, drops at 1 and 4 s."""
    t_ns = CHANGE_NS + BIN_NS * np.arange(len(mbps), dtype=float)
    truth = SimpleNamespace(
        throughput_bps={"": Series(t_ns, 1e6 * np.array(mbps))},
        drops=Series(np.array([1e9, 4e9]), np.array([drops, drops])),
    )
    way = SimpleNamespace(changes=(SimpleNamespace(at_ns=CHANGE_NS, rate_bps=40_000_000),) if changes else ())
    return SimpleNamespace(
        places={"bottleneck": {"down": truth}},
        link=SimpleNamespace(down=way, up=way),
        manifest={"items": {"mine": {"start_ns": 0, "end_ns": 14_000_000_000}}},
        plan=SimpleNamespace(traffic=[SimpleNamespace(id="mine")]),
        configured_bps=lambda _way: 40_000_000,
    )


def test_a_link_is_filled_from_the_first_tenth_of_a_second_with_nine_tenths_of_its_rate() -> None:
    # One bin that is full is no tenth of a second.
    run = made_up([5.0] * 30 + [40.0] + [5.0] * 29 + [36.5] * 40)
    assert queue_numbers.refilled(run, "bottleneck down") == 600.0
    assert queue_numbers.refilled(made_up([35.0] * 100), "bottleneck down") is None
    assert queue_numbers.refilled(made_up([40.0] * 100, changes=False), "bottleneck down") is None


def test_what_is_dropped_at_the_start_is_of_the_first_three_seconds() -> None:
    assert queue_numbers.dropped_at_start(made_up([5.0], drops=7.0), "bottleneck down") == 7.0


def test_a_pause_ends_with_the_first_data_after_half_a_second_without() -> None:
    # Data from 8 s on, an acknowledgement in between, data again from 9 s on; drops at 1 and 4 s are before.
    left = [40.0] * 20 + [0.0] * 30 + [0.2] + [0.0] * 49 + [10.0] * 30 + [39.0] * 20
    run = made_up(left, drops=7.0)
    assert queue_numbers.filled_after_pause(run, "bottleneck down") == pytest.approx(300.0, abs=10.0)
    assert queue_numbers.dropped_after_pause(run, "bottleneck down") == 0.0
    steady = made_up([40.0] * 100, drops=7.0)
    assert queue_numbers.dropped_after_pause(steady, "bottleneck down") is None
    assert queue_numbers.filled_after_pause(steady, "bottleneck down") is None
