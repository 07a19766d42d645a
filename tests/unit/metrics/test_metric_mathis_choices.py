"""Other readings of the Mathis model, on made-up flows; every expected number is derived beside it."""

from __future__ import annotations

import polars as pl
import pytest

from narrows.metrics.fairness.mathis_choices import mathis_choices


def flows(**changes: object) -> pl.DataFrame:
    """Two flows whose own C is 1 and 2 on losses: T = 8 x 1000 B x C / (RTT sqrt(p)), RTT 0.1 s, p = 0.01."""
    columns: dict[str, object] = {
        "goodput_bps": [800e3, 1600e3], "sending_bps": [808e3, 1616e3], "rtt_ms": [100.0, 100.0],
        "rtt_p50_ms": [110.0, 110.0], "rtt_full_ms": [150.0, 150.0], "base_rtt_ms": [20.0, 20.0],
        "sent": [10_000, 10_000], "delivered": [2_500, 2_500], "dropped": [100, 100], "halvings": [25, 25],
        "lost": [400, 400], "reductions": [25, 25],
    }  # fmt: skip
    return pl.DataFrame(columns | changes)


def by_name(frame: pl.DataFrame) -> dict[str, tuple[float | None, float | None]]:
    return {one.name: (one.on_losses, one.on_halvings) for one in mathis_choices(frame, 1000.0, 1500)}


def test_each_choice_changes_one_thing() -> None:
    found = by_name(flows())
    # Equal x: least squares is the mean of the flows' own C, 1.5; on halvings p is a quarter, C a half.
    assert found["as defined"] == (pytest.approx(1.5), pytest.approx(0.75))
    assert found["RTT: median"] == (pytest.approx(1.65), pytest.approx(0.825))
    assert found["RTT: full queue"] == (pytest.approx(2.25), pytest.approx(1.125))
    assert found["RTT: base"] == (pytest.approx(0.3), pytest.approx(0.15))
    assert found["throughput: with retransmissions"] == (pytest.approx(1.515), pytest.approx(0.7575))
    assert found["packet: of the IP layer"] == (pytest.approx(1.0), pytest.approx(0.5))
    # p four times as large: C twice
    assert found["p: per packet delivered"] == (pytest.approx(3.0), pytest.approx(1.5))
    assert found["p: as the sender counts"] == (pytest.approx(3.0), pytest.approx(0.75))
    assert found["fit: median of the flows"] == (pytest.approx(1.5), pytest.approx(0.75))
    # own C 1 and 2: (1 + 1/2) / (1 + 1/4) = 1.2
    assert found["fit: least relative error"] == (pytest.approx(1.2), pytest.approx(0.6))


def test_what_was_not_recorded_gives_no_number() -> None:
    found = by_name(flows().drop("rtt_full_ms", "rtt_p50_ms"))
    assert "RTT: full queue" not in found
    assert "RTT: 95th percentile" not in found
    without = by_name(flows(dropped=[None, None]))
    assert without["as defined"] == (None, pytest.approx(0.75))
    assert mathis_choices(flows(), 0.0, 1500) == ()
