"""What the figures of iperf3 read (`narrows.tools.reading`)."""

from __future__ import annotations

from narrows.tools.reading import THROUGHPUT, Figures, Load, Reading

FIGURES: Figures = {
    "iperf3_goodput_bps": Reading(THROUGHPUT, words="iperf3 goodput"),
    "iperf3_sent_bps": "what its sender wrote, queued or not",
    "iperf3_retransmits": "what TCP sent again",
    "iperf3_jitter_ms": "how delays vary, of UDP",
    "iperf3_loss_ratio": "loss, of UDP",
}
LOAD = Load(("iperf3_goodput_bps",), steady=True)
