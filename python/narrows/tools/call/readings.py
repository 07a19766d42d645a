"""What the figures of the call mean (`narrows.tools.reading`)."""

from __future__ import annotations

from narrows.tools.reading import CHECK, LESS, MORE, Figure, Figures

FIGURES: Figures = {
    "call_height": Figure("lines of the picture in most seconds", MORE),
    "call_frame_rate": Figure("frames a second", MORE),
    "call_freezes_per_min": Figure("freezes a minute", LESS),
    "call_packets_lost": Figure("packets lost", LESS),
    "call_cpu_limited_s": Figure("time limited by the processor", CHECK),
}
