"""The figure of what limited connections over time, stacked."""

import polars as pl

from narrows.figures.drawing import Drawing, Missing, Result
from narrows.figures.style import canvas, styled
from narrows.paths.limits import WORDS, whom
from narrows.units import NS_PER_S

MOST = 4
COLOURS = {
    "application": "#56b4e9",
    "receiver": "#e69f00",
    "buffer": "#cc79a7",
    "queue": "#0072b2",
    "policer": "#a6761d",
    "loss": "#d55e00",
    "window": "#009e73",
    "unknown": "#bbbbbb",
}


def over_time(connections: pl.DataFrame, limits: pl.DataFrame) -> Result:
    """Shares of each interval by cause, of the connections with most payload; white is time without data."""
    name, title = "limits", "What limited the connections with most payload"
    keys = ["log", "connection"]
    known = connections.join(limits.select(keys).unique(), on=keys).sort("payload_bytes", descending=True)
    if known.is_empty():
        return Missing(name, title, "no connection was captured at its sender")
    shown = known.head(MOST).to_dicts()
    figure, grid = canvas(len(shown), 1)
    with styled():
        for axes, row in zip((line[0] for line in grid), shown, strict=True):
            own = limits.filter((pl.col("log") == row["log"]) & (pl.col("connection") == row["connection"]))
            own = own.sort("t_ns")
            length = own["length_ns"].to_numpy()
            x = (own["t_ns"].to_numpy() - row["start_ns"]) / NS_PER_S
            below = 0 * x
            for cause, words in WORDS.items():
                part = own[f"{cause}_ns"].to_numpy() / length
                if part.any():
                    axes.bar(
                        x,
                        part,
                        length / NS_PER_S,
                        bottom=below,
                        align="edge",
                        color=COLOURS[cause],
                        label=words,
                    )
                    below = below + part
            axes.set_title(whom(row))
            axes.set_ylim(0, 1.01)
            axes.set_ylabel("share of time")
            axes.set_xlabel("time since its first packet [s]")
            axes.legend(fontsize=6, loc="upper left", bbox_to_anchor=(1, 1))
    caption = (
        f"The first {len(shown)} of {known.height} connections; white is time in which no data was under way."
    )
    return Drawing(name, title, caption, (), figure)
