"""Datagrams above the MTU in a guest: every fragment is its item's, in every table."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import lab
from narrows.store.whose import with_labels

pytestmark = [pytest.mark.kernel, pytest.mark.slow]

TRAFFIC = """
link = Link(rate="20 Mbit/s", base_rtt="20 ms", mtu=576)
probe = udp_probe(payload="1472 B", interval="20 ms", duration="1 s")
capacity = udp_capacity(start=after(probe, "2 s"), tests="download", test_length="3 s")
"""


def test_fragments_of_a_probe_and_of_a_capacity_test_are_theirs(tmp_path: Path) -> None:
    (made,) = lab.make([lab.plan(tmp_path, TRAFFIC)], tmp_path / "out")
    folder = made.ok().directory
    flows = pl.read_parquet(folder / "flows.parquet").with_columns(
        pl.col("item", "direction").cast(pl.String)
    )
    assert flows.filter(pl.col("label").str.contains(":0")).height == 0
    # 50 or 51 probes of 1472 + 8 bytes in fragments of 552: three each, both ways.
    mine = flows.filter((pl.col("item") == "probe") & pl.col("label").str.contains("fragments"))
    assert dict(mine.select("direction", "arrived_packets").iter_rows()).keys() == {"down", "up"}
    assert all(count in (150, 153) for count in mine["arrived_packets"])
    metrics = with_labels(pl.read_parquet(folder / "metrics.parquet"))
    (passed,) = metrics.filter(
        (pl.col("whose") == "bottleneck/capacity")
        & (pl.col("quantity") == "tap_departed_bytes")
        & (pl.col("direction").cast(pl.String) == "down")
    )["value"]
    # 20 Mbit/s for about 3 s are 7.5 MB, and its search for the rate begins below.
    assert passed > 4e6
