"""The responsiveness test in virtual time, where the right answer is known."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import lab

pytestmark = pytest.mark.kernel

TEST = 'test = rpm(variant="draft-08", tests="download", start_jitter="0 s")\n'


def figures(made: lab.Made) -> dict[str, float]:
    table = pl.read_parquet(made.ok().directory / "metrics.parquet")
    own = table.filter(pl.col("item").cast(pl.String) == "test", pl.col("hop").is_null())
    return dict(own.select(pl.col("quantity").cast(pl.String), "value").iter_rows())


def test_bufferbloat_is_told_from_fair_queueing_and_the_queue_explains_the_probes(tmp_path: Path) -> None:
    queues = 'queue=axis("queue", [fq_codel(), pfifo(limit=250)])'
    link = f'link = Link(rate="10 Mbit/s", base_rtt="20 ms", {queues})\n'
    fair, bloated = (figures(m) for m in lab.make(lab.plans(tmp_path, link + TEST), tmp_path / "out"))
    # The path alone: a round trip of 20 ms, within a packet's time.
    assert fair["rpm_idle_tcp_ms"] == pytest.approx(20, abs=0.2)
    # Fair queueing keeps strangers out of the queue: 3000/min less the packets before them (1.2 ms each).
    assert 2500 < fair["rpm_foreign"] <= 3000
    # 250 packets of 1514 bytes at 10 Mbit/s are 303 ms: a full queue is 60000 / 323 = 186/min. It is rarely
    # empty, and never longer; a lost SYN takes a second more.
    assert 60 < bloated["rpm_foreign"] < 500
    assert fair["rpm"] > 3 * bloated["rpm"]
    # On the loaded connections themselves the requests stand behind the connection's own data in both.
    assert fair["rpm_loaded"] < fair["rpm_foreign"] / 5
    for each in (fair, bloated):
        assert each["rpm_goodput_bps"] == pytest.approx(9.3e6, rel=0.06)


def test_an_unloaded_wide_link_has_the_responsiveness_of_its_base_rtt(tmp_path: Path) -> None:
    # A window of 64 KB per connection and at most 13 of them cannot fill 1 Gbit/s x 100 ms: no queue, ever.
    text = (
        'link = Link(rate="1 Gbit/s", base_rtt="100 ms", queue=pfifo(), '
        'sysctls={"all": {"net.ipv4.tcp_rmem": "4096 65536 65536", '
        '"net.ipv4.tcp_wmem": "4096 65536 65536"}})\n'
    )
    (made,) = lab.make(lab.plans(tmp_path, text + TEST), tmp_path / "out")
    found = figures(made)
    # 60000 / 100 ms = 600; a coalescing of 0.1 ms per part and the packets' own time are the rest.
    assert found["rpm_foreign"] == pytest.approx(600, rel=0.02)
