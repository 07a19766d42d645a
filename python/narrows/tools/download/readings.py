"""What the figures of the download mean (`narrows.tools.reading`)."""

from narrows.tools.reading import LESS, THROUGHPUT, Figure, Figures, Load, Reading, Series

FIGURES: Figures = {
    "download_goodput_bps": Reading(THROUGHPUT, words="download goodput"),
    "download_bytes": Figure("bytes received"),
    "download_chunks": Figure("chunks"),
    "download_batches": Figure("batches"),
    "download_barrier_share": Figure("share of time that connections waited for each other", LESS),
}
LOAD = Load(steady=True)

SERIES = {"download_rate": Series("rate of the download")}
