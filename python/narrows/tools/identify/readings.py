"""What the figures of identify read (`narrows.tools.reading`)."""

from __future__ import annotations

from narrows.tools.reading import IP_OF_1250, THROUGHPUT, Figures, Load, Reading

FIGURES: Figures = {
    "identify_rate_bps": Reading(THROUGHPUT, words="identify, rate of the full queue", layer=IP_OF_1250),
    "identify_base_rtt_ms": "of the idle path",
    "identify_buffer_ms": "the longest wait in the full queue, not a delay under some load",
}
LOAD = Load(("identify_rate_bps",))
