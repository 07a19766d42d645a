"""What the figures of the responsiveness test read (`narrows.tools.reading`)."""

from __future__ import annotations

from narrows.tools.reading import RPM, THROUGHPUT, Figures, Load, Reading

FIGURES: Figures = {
    "rpm": Reading(RPM, words="RPM"),
    "rpm_foreign": Reading(RPM, words="RPM, foreign probes"),
    "rpm_loaded": Reading(RPM, words="RPM, self probes"),
    "rpm_goodput_bps": Reading(THROUGHPUT, words="RPM's goodput"),
    "rpm_connections": "how many connections there were",
    "rpm_intervals": "how many intervals there were",
    "rpm_foreign_probes": "how many probes there were",
    "rpm_self_probes": "how many probes there were",
    "rpm_goodput_confidence": "the tool's own word on how stable its result is",
    "rpm_responsiveness_confidence": "the tool's own word on how stable its result is",
    "rpm_idle_tcp_ms": "before the load",
}
LOAD = Load(("rpm_goodput_bps",))
