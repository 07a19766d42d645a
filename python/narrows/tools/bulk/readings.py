"""What the figures of our own bulk flows mean (`narrows.tools.reading`)."""

from narrows.tools.reading import LESS, THROUGHPUT, Figure, Figures, Load, Reading

FIGURES: Figures = {
    "bulk_goodput_bps": Reading(THROUGHPUT, words="bulk goodput"),
    "bulk_flows": Figure("flows"),
    "bulk_bytes_received": Figure("bytes received"),
    "bulk_retransmission_ratio": Figure("share of packets sent again", LESS),
    "bulk_min_rtt_ms": Figure("smallest round trip of one flow"),
}
LOAD = Load(steady=True)
