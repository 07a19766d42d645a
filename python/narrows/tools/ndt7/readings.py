"""What the figures of NDT7 mean (`narrows.tools.reading`)."""

from narrows.tools.reading import LATENCY, LESS, THROUGHPUT, Figure, Figures, Load, Reading

FIGURES: Figures = {
    "ndt7_throughput_bps": Reading(THROUGHPUT, words="NDT7 throughput"),
    "ndt7_min_rtt_ms": Reading(LATENCY, words="NDT7 latency (MinRTT)"),
    "ndt7_rtt_mean_ms": Reading(LATENCY, "mean", "NDT7 mean RTT"),
    "ndt7_elapsed_s": Figure("time that the test took"),
    "ndt7_retransmission_ratio": Figure("share of bytes sent again", LESS),
}
LOAD = Load(elapsed="ndt7_elapsed_s", rtt="tcp_info.rtt")
