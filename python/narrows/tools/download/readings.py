"""What the figures of the download read (`narrows.tools.reading`)."""

from __future__ import annotations

from narrows.tools.reading import THROUGHPUT, Figures, Load, Reading

FIGURES: Figures = {
    "download_goodput_bps": Reading(THROUGHPUT, words="download goodput"),
    "download_bytes": "a count of bytes",
    "download_chunks": "a count of chunks",
    "download_batches": "a count of batches",
    "download_barrier_share": "the share of time that connections waited for each other",
}
LOAD = Load(("download_goodput_bps",), steady=True)
