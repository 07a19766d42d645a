"""What the figures of a QUIC stack mean (`narrows.tools.reading`)."""

from narrows.tools.reading import (
    IP,
    LATENCY,
    LESS,
    OWN,
    QUIC_PAYLOAD,
    THROUGHPUT,
    Figure,
    Figures,
    Load,
    Reading,
)

FIGURES: Figures = {
    "quic_goodput_bps": Reading(THROUGHPUT, words="QUIC goodput", layer=QUIC_PAYLOAD),
    "quic_tap_bps": Reading(THROUGHPUT, words="QUIC, all packets that passed", layer=IP),
    "quic_bytes": Figure("bytes received"),
    "quic_flows": Figure("connections"),
    "quic_sent_packets": Figure("packets sent, by the stack's count"),
    "quic_lost_packets": Figure("packets lost, by the stack's count", LESS),
    "quic_spurious_packets": Figure("packets that it held for lost, and that were not", LESS),
    "quic_unnoticed_packets": Figure("packets dropped that it did not hold for lost"),
    "quic_rtt_p50_ms": Reading(LATENCY, words="QUIC's smoothed RTT", whose=(OWN,)),
    "quic_rtt_ms": Figure("smoothed RTT at the end, by the stack"),
}
LOAD = Load(steady=True)
