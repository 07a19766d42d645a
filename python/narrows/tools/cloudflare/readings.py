"""What the figures of Cloudflare's client read (`narrows.tools.reading`)."""

from __future__ import annotations

from narrows.tools.reading import LATENCY, THROUGHPUT, Figures, Load, Reading

FIGURES: Figures = {
    "cloudflare_bandwidth_bps": Reading(THROUGHPUT, words="Cloudflare bandwidth"),
    "cloudflare_loaded_latency_ms": Reading(LATENCY, words="Cloudflare loaded latency"),
    "cloudflare_latency_ms": "before the load",
    "cloudflare_jitter_ms": "how delays vary",
    "cloudflare_loaded_jitter_ms": "how delays vary",
    "cloudflare_streaming_points": "a score",
    "cloudflare_gaming_points": "a score",
    "cloudflare_rtc_points": "a score",
}
LOAD = Load(("cloudflare_bandwidth_bps",))
