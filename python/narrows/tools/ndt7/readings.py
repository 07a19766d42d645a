"""What the figures of NDT7 read (`narrows.tools.reading`)."""

from __future__ import annotations

from narrows.tools.reading import LATENCY, THROUGHPUT, Figures, Reading, SpeedTest

FIGURES: Figures = {
    "ndt7_throughput_bps": Reading(THROUGHPUT, words="NDT7 throughput"),
    "ndt7_min_rtt_ms": Reading(LATENCY, words="NDT7 latency (MinRTT)"),
    "ndt7_rtt_mean_ms": Reading(LATENCY, "mean", "NDT7 mean RTT"),
    "ndt7_elapsed_s": "how long the test took",
    "ndt7_retransmission_ratio": "what TCP sent again",
}
SPEED_TEST = SpeedTest(
    rate="ndt7_throughput_bps",
    min_rtt="ndt7_min_rtt_ms",
    elapsed="ndt7_elapsed_s",
    retransmissions="ndt7_retransmission_ratio",
    rtt_series="tcp_info.rtt",
)
