"""What the figures of the call read (`narrows.tools.reading`)."""

from __future__ import annotations

from narrows.tools.reading import Figures

FIGURES: Figures = {
    "call_height": "the picture's height in most seconds",
    "call_frame_rate": "frames a second",
    "call_freezes_per_min": "what the browser counts as freezes",
    "call_packets_lost": "a count of packets",
    "call_cpu_limited_s": "a check of the trial",
}
