"""What the figures of Cloudflare's client mean (`narrows.tools.reading`)."""

from narrows.tools.reading import LATENCY, LESS, MORE, THROUGHPUT, Figure, Figures, Reading, Series

FIGURES: Figures = {
    "cloudflare_bandwidth_bps": Reading(THROUGHPUT, words="Cloudflare bandwidth"),
    "cloudflare_loaded_latency_ms": Reading(LATENCY, words="Cloudflare loaded latency"),
    "cloudflare_latency_ms": Figure("latency before the load", LESS),
    "cloudflare_jitter_ms": Figure("jitter before the load", LESS),
    "cloudflare_loaded_jitter_ms": Figure("jitter under load", LESS),
    "cloudflare_streaming_points": Figure("points for streaming", MORE),
    "cloudflare_gaming_points": Figure("points for gaming", MORE),
    "cloudflare_rtc_points": Figure("points for calls", MORE),
}

SERIES = {
    "request_rate": Series("rate of a request"),
    "request_duration": Series("duration of a request", folded=True),
    "request_bytes": Series("size of a request", folded=True),
}
