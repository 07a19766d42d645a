"""What the figures of the responsiveness test mean (`narrows.tools.reading`)."""

from narrows.tools.reading import LESS, MORE, RPM, THROUGHPUT, Figure, Figures, Reading, Series

FIGURES: Figures = {
    "rpm": Reading(RPM, words="RPM"),
    "rpm_foreign": Reading(RPM, words="RPM, foreign probes"),
    "rpm_loaded": Reading(RPM, words="RPM, self probes"),
    "rpm_goodput_bps": Reading(THROUGHPUT, words="RPM's goodput"),
    "rpm_connections": Figure("connections"),
    "rpm_intervals": Figure("intervals"),
    "rpm_foreign_probes": Figure("foreign probes"),
    "rpm_self_probes": Figure("self probes"),
    "rpm_goodput_confidence": Figure("its own confidence in the goodput", MORE),
    "rpm_responsiveness_confidence": Figure("its own confidence in the responsiveness", MORE),
    "rpm_idle_tcp_ms": Figure("connection time before the load", LESS),
}

SERIES = {
    **{f"{kind}_{part}": Series(f"{kind} probes, {part.upper()}")
       for kind in ("foreign", "self") for part in ("tcp", "tls", "http")},
    "interval_bytes": Series("bytes in an interval", folded=True),
    "connections": Series("connections", folded=True),
}  # fmt: skip
