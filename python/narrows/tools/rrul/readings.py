"""What the figures of RRUL mean (`narrows.tools.reading`)."""

from narrows.tools.reading import LATENCY, LESS, MORE, THROUGHPUT, Figure, Figures, Reading

FIGURES: Figures = {
    "rrul_tcp_sum_bps": Reading(THROUGHPUT, words="RRUL sum of the flows"),
    "rrul_ping_loaded_avg_ms": Reading(LATENCY, "mean", "RRUL average ping"),
    "rrul_tcp_avg_bps": Figure("rate of one flow", MORE),
    "rrul_tcp_totals_bps": Figure("rate of both directions together", MORE),
    "rrul_ping_idle_avg_ms": Figure("average ping before the load", LESS),
    "rrul_ping_loaded_ms": Figure("ping of one probe under load", LESS),
    "rrul_ping_idle_ms": Figure("ping of one probe before the load", LESS),
}
