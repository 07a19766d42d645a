"""What the figures of the page read (`narrows.tools.reading`)."""

from __future__ import annotations

from narrows.tools.reading import Figures

FIGURES: Figures = {
    "page_load_ms": "until the load event",
    "page_visual_ms": "until 95 % of the visible region is painted",
    "page_first_paint_ms": "until the first contentful paint",
    "page_last_byte_ms": "until the last byte",
    "page_loads": "a count of loads",
    "page_loads_failed": "a count of loads",
    "page_requests": "a count of requests",
    "page_paints_after_last_byte": "loads whose first paint came after the last byte: a check of the trial",
}
