"""What scores of a path say of a connection or session that was captured at its sender.

Quality of Outcome (`narrows.metrics.latency.qoo`) by the draft's example of a requirement, of the round trips
of the data, of the share of segments that had to be sent again (what was sent again in vain is no loss), and
of the rate that the path gave. IQB and the bufferbloat grade are of both ways, at rest and under load, which
no one connection loads: there is none of them here.
"""

from collections.abc import Mapping
from typing import Any

from narrows.metrics.latency import qoo
from narrows.units import NS_PER_MS

LEAST_SAMPLES = 100
"""Round trips of which there is a 99th percentile."""


def qoo_of(row: Mapping[str, Any]) -> float | None:
    """Percent; None where an input is not known: of another place than the sender's, of few round trips, and
    where the path never limited and the rate says nothing."""
    needed, high = qoo.EXAMPLE, {99.0: row["rtt_p99_ns"], 99.9: row.get("rtt_p999_ns")}
    if row["vantage"] != "sender" or row["rtt_samples"] < LEAST_SAMPLES or None in high.values():
        return None
    rate = row["capacity_bps"] or row["throughput_bps"]
    if rate is None or (row["capacity_bps"] is None and rate < needed.throughput_bps):
        return None
    lost = (row["retransmitted_segments"] - row["needless_retransmissions"]) / row["data_segments"]
    return qoo.qoo_of({p: ns / NS_PER_MS for p, ns in high.items()}, lost, rate, needed)
