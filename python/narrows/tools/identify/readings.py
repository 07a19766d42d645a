"""What the figures of identify mean (`narrows.tools.reading`)."""

from narrows.tools.reading import IP_OF_1250, THROUGHPUT, Figure, Figures, Reading

FIGURES: Figures = {
    "identify_rate_bps": Reading(THROUGHPUT, words="identify, rate of the full queue", layer=IP_OF_1250),
    "identify_base_rtt_ms": Figure("round trip of the idle path"),
    "identify_buffer_ms": Figure("longest wait in the full queue"),
}
