"""What the figures of RRUL read (`narrows.tools.reading`)."""

from __future__ import annotations

from narrows.tools.reading import LATENCY, THROUGHPUT, Figures, Load, Reading

FIGURES: Figures = {
    "rrul_tcp_sum_bps": Reading(THROUGHPUT, words="RRUL sum of the flows"),
    "rrul_ping_loaded_avg_ms": Reading(LATENCY, "mean", "RRUL average ping"),
    "rrul_tcp_avg_bps": "of one flow",
    "rrul_tcp_totals_bps": "of both directions together",
    "rrul_ping_idle_avg_ms": "before the load",
    "rrul_ping_loaded_ms": "of one probe",
    "rrul_ping_idle_ms": "before the load",
}
LOAD = Load(("rrul_tcp_sum_bps",))
