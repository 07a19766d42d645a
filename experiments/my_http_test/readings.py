"""What its figures read."""

from narrows.tools.reading import LATENCY, THROUGHPUT, Reading

FIGURES = {
    "my_http_bps": Reading(THROUGHPUT, words="my HTTP test, speed"),
    "my_http_loaded_ms": Reading(LATENCY, words="my HTTP test, answer while loaded"),
    "my_http_idle_ms": "before the load",
}
