"""What is still on its way when an item ends is waited for: late is not lost."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import lab
from narrows.store.whose import with_labels

pytestmark = pytest.mark.kernel


def figures(directory: Path, text: str) -> dict[tuple[str, str | None, str], float]:
    """Figures of one run by source, direction and name."""
    (made,) = lab.make([lab.plan(directory, text)], directory / "out")
    metrics = pl.read_parquet(made.ok().directory / "metrics.parquet")
    named = with_labels(metrics).select("whose", "direction", "quantity", "value")
    return {(source, way, name): value for source, way, name, value in named.iter_rows()}


def test_probes_of_a_path_longer_than_their_stream_are_late_and_not_lost(tmp_path: Path) -> None:
    found = figures(
        tmp_path,
        """
        link = Link(rate="50 Mbit/s", base_rtt="3.1 s")
        datagrams = udp_probe(interval="100 ms", duration="1 s")
        echoes = icmp_echo(interval="100 ms", duration="1 s")
        """,
    )
    for probe in ("datagrams", "echoes"):
        assert found[probe, None, "probe_received"] == found[probe, None, "probe_sent"] == 11
        assert found[probe, None, "probe_loss_ratio"] == 0


def test_behind_seconds_of_queue_the_loss_is_what_the_queue_dropped(tmp_path: Path) -> None:
    # 500 packets of 1514 bytes at 1 Mbit/s are 6 s, twice what was waited for at first.
    found = figures(
        tmp_path,
        """
        link = Link(rate="1 Mbit/s", base_rtt="20 ms", queue=pfifo(limit=500))
        load = bulk(direction="down", cca="cubic", flows=8, duration="10 s")
        probe = udp_probe(interval="10 ms", duration="10 s")
        sample(tcp_info=None, qdisc=None, link=None)
        """,
    )
    dropped = sum(found["bottleneck/probe", way, "tap_dropped"] for way in ("down", "up"))
    assert dropped > 0
    lost = found["probe", None, "probe_sent"] - found["probe", None, "probe_received"]
    assert lost == dropped
