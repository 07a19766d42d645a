"""Every AQM of the spec does its work in the real kernel: the link fills, it drops or marks, delay is held.

And L4S: which queue of DualPI2 a packet uses, by the tap's ECN bits and by the qdisc's own counters.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import lab
from narrows.store.whose import with_labels

pytestmark = pytest.mark.kernel

RATE_BPS = 20e6
LOAD = """
link = Link(rate="20 Mbit/s", base_rtt="20 ms", queue={queue})
flow = bulk(cca={cca!r}, flows=4, duration="8 s", ecn={ecn})
sample(qdisc="500 ms")
tap("summary")
"""


def made(tmp_path: Path, text: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Metrics and samples of the one run."""
    (one,) = lab.make(lab.plans(tmp_path, text), tmp_path / "out")
    one.ok()
    return pl.read_parquet(one.directory / "metrics.parquet"), pl.read_parquet(
        one.directory / "samples.parquet"
    )


def figure(metrics: pl.DataFrame, name: str, source: str = "bottleneck") -> float:
    """One figure of the downstream bottleneck."""
    rows = with_labels(metrics).filter(
        (pl.col("quantity") == name)
        & (pl.col("whose") == source)
        & ((pl.col("direction") == "down") | pl.col("direction").is_null())
    )
    assert rows.height == 1, (name, source, rows)
    return float(rows["value"][0])


def settled_ms(samples: pl.DataFrame, after_s: float = 3) -> float:
    """Median over time of the 10 ms bins' median sojourn, downstream, once slow start is over."""
    rows = samples.filter(
        (pl.col("quantity").cast(pl.String) == "sojourn_p50_10ms")
        & (pl.col("direction") == "down")
        & (pl.col("t_ns") >= int(after_s * 1e9))
        & (pl.col("t_ns") < int(8e9))
    )
    assert rows.height > 100
    value = rows["value"].median()
    assert isinstance(value, float)
    return value / 1e6


@pytest.mark.parametrize(
    ("queue", "low_ms", "high_ms"),
    [
        # around the target of each: 15 ms, 10 ms, 15 ms
        ("pie()", 7, 22),
        ("docsis_pie()", 4, 16),
        ("fq_pie()", 5, 22),
        # between RED's thresholds: 30 and 90 KB are 12 and 36 ms at 20 Mbit/s
        ('red(limit="400 KB", min="30 KB", max="90 KB", probability="10 %")', 8, 36),
        # CoDel-like: a flow's queue is under 5 ms most of the time
        ("cake()", 0.5, 12),
        ('cake(diffserv="diffserv4")', 0.5, 12),
        ('cake(diffserv="besteffort", flow_isolation="flowblind")', 0.5, 12),
        ("dualpi2()", 7, 22),
    ],
)
def test_an_aqm_fills_the_link_drops_and_holds_its_delay(
    tmp_path: Path, queue: str, low_ms: float, high_ms: float
) -> None:
    metrics, samples = made(tmp_path, LOAD.format(queue=queue, cca="cubic", ecn=False))
    carried_bps = figure(metrics, "tap_departed_bytes") * 8 / 8
    assert carried_bps > 0.9 * RATE_BPS
    assert figure(metrics, "tap_dropped") > 0
    assert figure(metrics, "tap_marked") == 0
    assert low_ms <= settled_ms(samples) <= high_ms


@pytest.mark.parametrize(
    "queue", ["pie(ecn=True)", "fq_pie(ecn=True)", "cake()", "dualpi2()", 'red(limit="400 KB", ecn=True)']
)
def test_an_aqm_marks_what_may_be_marked(tmp_path: Path, queue: str) -> None:
    metrics, _ = made(tmp_path, LOAD.format(queue=queue, cca="cubic", ecn=True))
    assert figure(metrics, "tap_arrived_ect0") > 1000
    assert figure(metrics, "tap_marked") > 0
    # PIE and FQ-PIE drop while their probability is above 10 % (RFC 8033), as in slow start.
    if "pie" not in queue:
        assert figure(metrics, "tap_dropped") < figure(metrics, "tap_marked")


L4S = """
link = Link(rate="50 Mbit/s", base_rtt="20 ms", queue=dualpi2(nqb={nqb}))
classic = bulk(cca="cubic", duration="10 s")
scalable = bulk(cca="dctcp", l4s=True, duration="10 s")
sparse = udp_probe(dscp="NQB", duration="10 s")
sample(qdisc="500 ms")
tap("summary")
"""


def last(samples: pl.DataFrame, series: str) -> float:
    """The last value of a counter of the downstream DualPI2."""
    rows = samples.filter(
        (pl.col("quantity").cast(pl.String) == series)
        & (pl.col("hop").cast(pl.String) == "qdisc-down")
        & (pl.col("part").cast(pl.String) == "dualpi2 110:")
    ).sort("t_ns")
    return float(rows["value"][-1])


@pytest.mark.parametrize("nqb", [False, True])
def test_l4s_traffic_uses_the_low_latency_queue_and_nqb_only_with_a_filter(tmp_path: Path, nqb: bool) -> None:
    metrics, samples = made(tmp_path, L4S.format(nqb=nqb))
    # What arrived as ECT(1) or CE, by the tap, is what the qdisc counted into its L queue; NQB's packets
    # besides. The last sample may stand before the last packets.
    low = figure(metrics, "tap_arrived_ect1") + figure(metrics, "tap_arrived_ce")
    if nqb:
        low += figure(metrics, "tap_arrived", "bottleneck/sparse")
    assert last(samples, "packets_l") == pytest.approx(low, rel=0.05)
    assert low > 5000
    assert 0 < last(samples, "step_marks") <= last(samples, "marks")
    # Cubic's packets are Not-ECT, DCTCP's ECT(1) but for the SYN.
    assert figure(metrics, "tap_arrived_ect1", "bottleneck/classic") == 0
    assert figure(metrics, "tap_arrived_ect0", "bottleneck/scalable") == 0
    assert figure(metrics, "tap_marked", "bottleneck/scalable") > 0
    # Each sees its own queue: around 15 ms, and about the step's 1 ms.
    assert figure(metrics, "sojourn_p50_ms", "bottleneck/classic") > 7
    assert figure(metrics, "sojourn_p99_ms", "bottleneck/scalable") < 3
    if nqb:
        assert figure(metrics, "sojourn_p99_ms", "bottleneck/sparse") < 3
    else:
        assert figure(metrics, "sojourn_p50_ms", "bottleneck/sparse") > 7
    # DualPI2's coupling: neither starves.
    shares = [figure(metrics, "bulk_goodput_bps", item) for item in ("classic", "scalable")]
    assert min(shares) > 0.25 * sum(shares)


def test_iperf3_can_be_l4s_too(tmp_path: Path) -> None:
    text = """
    link = Link(rate="20 Mbit/s", base_rtt="20 ms", queue=dualpi2())
    test = iperf3(cca="dctcp", l4s=True, duration="5 s")
    """
    metrics, _ = made(tmp_path, text)
    assert figure(metrics, "tap_arrived_ect1", "bottleneck/test") > 3000
    assert figure(metrics, "tap_arrived_ect0", "bottleneck/test") == 0
    assert figure(metrics, "tap_marked", "bottleneck/test") > 0
    assert figure(metrics, "sojourn_p99_ms", "bottleneck/test") < 3
    assert figure(metrics, "iperf3_goodput_bps", "test") > 0.75 * RATE_BPS
