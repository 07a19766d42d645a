"""What its figures mean."""

from narrows.tools.reading import LATENCY, LESS, THROUGHPUT, Figure, Reading

FIGURES = {
    "my_http_bps": Reading(THROUGHPUT, words="my HTTP test, speed"),
    "my_http_loaded_ms": Reading(LATENCY, words="my HTTP test, answer while loaded"),
    "my_http_idle_ms": Figure("my HTTP test, idle answer", LESS),
}
