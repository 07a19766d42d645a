"""What the figures of NDT7 mean (`narrows.tools.reading`)."""

from __future__ import annotations

from narrows.tools.reading import LATENCY, LESS, THROUGHPUT, Figure, Figures, Reading, SpeedTest

FIGURES: Figures = {
    "ndt7_throughput_bps": Reading(THROUGHPUT, words="NDT7 throughput"),
    "ndt7_min_rtt_ms": Reading(LATENCY, words="NDT7 latency (MinRTT)"),
    "ndt7_rtt_mean_ms": Reading(LATENCY, "mean", "NDT7 mean RTT"),
    "ndt7_elapsed_s": Figure("time that the test took"),
    "ndt7_retransmission_ratio": Figure("share of bytes sent again", LESS),
}
SPEED_TEST = SpeedTest(
    rate="ndt7_throughput_bps",
    min_rtt="ndt7_min_rtt_ms",
    elapsed="ndt7_elapsed_s",
    retransmissions="ndt7_retransmission_ratio",
    rtt_series="tcp_info.rtt",
)
