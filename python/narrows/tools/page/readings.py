"""What the figures of the page mean (`narrows.tools.reading`)."""

from narrows.tools.reading import CHECK, LESS, Figure, Figures, Series

FIGURES: Figures = {
    "page_load_ms": Figure("load time", LESS, ends=True, headline=True),
    "page_visual_ms": Figure("time until 95 % of the visible region is painted", LESS),
    "page_first_paint_ms": Figure("time until the first contentful paint", LESS),
    "page_last_byte_ms": Figure("time until the last byte", LESS),
    "page_loads": Figure("loads"),
    "page_loads_failed": Figure("loads that failed", LESS),
    "page_requests": Figure("requests"),
    "page_paints_after_last_byte": Figure("loads whose first paint came after the last byte", CHECK),
}

SERIES = {
    "page_load": Series("load time"),
    "page_visual": Series("time until 95 % is painted"),
    "page_first_paint": Series("time until the first paint"),
    "page_last_byte": Series("time until the last byte"),
}
