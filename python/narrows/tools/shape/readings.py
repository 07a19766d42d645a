"""What the series of a shaper are (`narrows.tools.reading`)."""

from narrows.tools.reading import Figures, Series

FIGURES: Figures = {}
SERIES = {
    "shaper_rate": Series("rate of the shaper"),
    "shaper_capacity": Series("rate of the line as it was last met"),
    "shaper_queue_beyond": Series("waiting beyond the shaper"),
}
