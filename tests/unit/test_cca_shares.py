"""Shares by congestion control of ordinary flows, while all of them ran."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import lab
from narrows.store import cca_shares, schema
from narrows.store.items import Span
from narrows.store.whose import with_labels

S = 10**9
TEXT = """
link = Link(rate="10 Mbit/s", base_rtt="20 ms", queue=pfifo(limit=50))
first = bulk(cca="cubic", duration="3 s")
second = bulk(cca="{}", start="1 s", duration="4 s")
"""


def found(tmp_path: Path, other: str, spans: dict[str, Span]) -> dict[tuple[str, str], float]:
    """`first` sends 8 Mbit/s alone until 1 s, then 3; `second` 1 Mbit/s until 3 s, then 9."""
    times = [n * S // 100 for n in range(500)]
    rates = {
        "first": [8e6 if t < S else 3e6 if t < 3 * S else 0.0 for t in times],
        "second": [0.0 if t < S else 1e6 if t < 3 * S else 9e6 for t in times],
    }
    samples = pl.concat(
        schema.conform(
            pl.DataFrame({"t_ns": times, "value": values}),
            "samples",
            {
                "hop": "bottleneck",
                "item": item,
                "direction": "down",
                "quantity": "throughput_10ms",
                "unit": "bit/s",
            },
        )
        for item, values in rates.items()
    )
    plan = lab.plan(tmp_path, TEXT.format(other))
    rows = cca_shares.figures("run", plan, spans, samples)
    return {(row["whose"], row["direction"]): row["value"] for row in with_labels(rows).to_dicts()}


def test_a_share_is_of_the_time_in_which_all_flows_were_there(tmp_path: Path) -> None:
    """From 1 to 3 s: 3 of 4 Mbit/s. Over the whole run it would be 14 of 34 Mbit."""
    spans = {"first": Span(0, 3 * S), "second": Span(S, 5 * S)}
    assert found(tmp_path, "reno", spans) == {
        ("cca/cubic", "down"): pytest.approx(0.75),
        ("cca/reno", "down"): pytest.approx(0.25),
    }


def test_there_is_no_share_of_one_cca_or_of_flows_that_never_met(tmp_path: Path) -> None:
    assert found(tmp_path, "cubic", {"first": Span(0, 3 * S), "second": Span(S, 5 * S)}) == {}
    assert found(tmp_path, "reno", {"first": Span(0, S), "second": Span(2 * S, 5 * S)}) == {}
    assert found(tmp_path, "reno", {"first": Span(0, S), "second": Span(None, None)}) == {}
