"""What the figures of our own bulk flows read (`narrows.tools.reading`)."""

from __future__ import annotations

from narrows.tools.reading import THROUGHPUT, Figures, Load, Reading

FIGURES: Figures = {
    "bulk_goodput_bps": Reading(THROUGHPUT, words="bulk goodput"),
    "bulk_flows": "how many flows there were",
    "bulk_bytes_received": "a count of bytes",
    "bulk_retransmission_ratio": "what TCP sent again",
    "bulk_min_rtt_ms": "the smallest round trip of one flow",
}
LOAD = Load(("bulk_goodput_bps",), steady=True)
