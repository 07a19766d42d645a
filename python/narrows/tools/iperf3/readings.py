"""What the figures of iperf3 mean (`narrows.tools.reading`)."""

from narrows.tools.reading import LESS, THROUGHPUT, Figure, Figures, Load, Reading, Series

FIGURES: Figures = {
    "iperf3_goodput_bps": Reading(THROUGHPUT, words="iperf3 goodput"),
    "iperf3_sent_bps": Figure("rate that its sender wrote, queued or not"),
    "iperf3_retransmits": Figure("packets sent again", LESS),
    "iperf3_jitter_ms": Figure("jitter of UDP", LESS),
    "iperf3_loss_ratio": Figure("loss of UDP", LESS),
}
LOAD = Load(steady=True)

SERIES = {"retransmits": Series("packets sent again", folded=True)}
