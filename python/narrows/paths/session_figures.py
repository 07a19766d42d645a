"""Figures of many sessions: distributions by group, proxies by delay, busy against quiet hours.

What is drawn is in `groups`, `proxies` and `busy_hours`; here it only gets axes.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from matplotlib.axes import Axes

from narrows.figures.drawing import Drawing, Missing, Result
from narrows.figures.style import canvas, panel_columns, panels_of, styled
from narrows.paths.busy_hours import busy_quiet_ratios
from narrows.paths.groups import LEAST, cdf
from narrows.units import NS_PER_MS

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#4d4d4d", "#a6761d")
MOST = len(COLOURS)
EDGES_MS = (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)


@dataclass(frozen=True)
class Property:
    """A column of sessions, what it is called on an axis, and by what it is divided for that."""

    column: str
    words: str
    unit: str
    scale: float = 1.0
    logarithmic: bool = True

    @property
    def axis(self) -> str:
        return f"{self.words} [{self.unit}]" if self.unit else self.words


PROPERTIES = (
    Property("base_rtt_ns", "base RTT", "ms", NS_PER_MS),
    Property("peak_queueing_delay_ns", "peak queueing delay", "ms", NS_PER_MS),
    Property("peak_queueing_ratio", "peak queueing delay over base RTT", ""),
    Property("ack_aggregation", "ACK aggregation", "MSS", logarithmic=False),
    Property("throughput_bps", "throughput over active time", "Mbit/s", 1e6),
    Property("capacity_bps", "capacity", "Mbit/s", 1e6),
    Property("jitter_ns", "RTT jitter", "ms", NS_PER_MS),
    Property("initial_rwnd_bytes", "initial receive window", "KB", 1e3),
)


def by_group(sessions: pl.DataFrame, one: Property, by: Sequence[str]) -> Result:
    """The CDF of a property: all sessions, and a panel for each column with a line for each of its values."""
    name, title = f"cdf_{one.column}", f"{one.words[:1].upper()}{one.words[1:]}"
    whole = cdf(sessions, one.column)
    if whole.is_empty():
        known = sessions[one.column].drop_nulls().len()
        return Missing(name, title, f"{known} sessions have one, and a distribution needs {LEAST}")
    panels = [("all sessions", [("all", whole)])]
    for column in by:
        curves = cdf(sessions, one.column, [column])
        if not curves.is_empty():
            sizes = curves.group_by(column).agg(pl.first("sessions")).sort("sessions", descending=True)
            largest = sizes[column].head(MOST).to_list()
            panels.append((column, [(str(v), curves.filter(pl.col(column) == v)) for v in largest]))
    columns = panel_columns([title for title, _ in panels])
    low = float(whole["value"][0])
    figure, cells = panels_of(len(panels), columns, row_in=1.9)
    with styled():
        for axes, (heading, lines) in zip(cells, panels, strict=True):
            for colour, (label, curve) in zip(COLOURS, lines, strict=False):
                x = curve["value"].to_numpy() / one.scale
                words = f"{label} ({curve['sessions'][0]})"
                axes.step(x, curve["share"].to_numpy(), where="post", color=colour, label=words)
            _axes(axes, one, heading, len(lines) > 1, low)
    count = int(whole["sessions"][0])
    caption = f"In brackets how many sessions have one; the {MOST} largest groups. n = {count} sessions."
    return Drawing(name, title, caption, (), figure)


def _axes(axes: Axes, one: Property, heading: str, several: bool, low: float) -> None:
    if one.logarithmic and low > 0:
        axes.set_xscale("log")
    axes.set_title(heading)
    axes.set_ylim(0, 1.01)
    axes.set_xlabel(one.axis)
    axes.set_ylabel("share of sessions ≤ x")
    if several:
        axes.legend(fontsize=6, loc="lower right")


def medians(sessions: pl.DataFrame, column: str, *, least: int = LEAST) -> Result:
    """The CDF over the values of a column, countries say, of their sessions' median base RTT."""
    name, title = f"medians_by_{column}", f"Median base RTT by {column}"
    found = (
        sessions.drop_nulls([column, "base_rtt_ns"])
        .group_by(column)
        .agg(pl.len().alias("sessions"), pl.col("base_rtt_ns").median() / NS_PER_MS)
        .filter(pl.col("sessions") >= least)
        .sort("base_rtt_ns")
    )
    if found.height < 2:
        return Missing(name, title, f"fewer than two of {column} have {least} sessions")
    figure, [[axes]] = canvas(1, 1, 3.4)
    with styled():
        share = np.arange(1, found.height + 1) / found.height
        axes.step(found["base_rtt_ns"].to_numpy(), share, where="post", color=COLOURS[0])
        axes.set_xscale("log")
        axes.set_ylim(0, 1.01)
        axes.set_xlabel("median base RTT [ms]")
        axes.set_ylabel(f"share of {column} ≤ x")
    return Drawing(
        name, title, f"n = {found.height} of {column}, each with {least} sessions or more.", (), figure
    )


def proxied_by(sessions: pl.DataFrame, one: Property) -> Result:
    """The share of sessions that are called proxied, in classes of a delay."""
    name, title = f"proxied_by_{one.column}", f"Sessions through proxies, by {one.words}"
    if "proxied" not in sessions.columns:
        return Missing(name, title, "the metadata has no device and asn")
    known = sessions.drop_nulls(["proxied", one.column])
    places = np.searchsorted(EDGES_MS, known[one.column].to_numpy() / one.scale, side="left")
    proxied = known["proxied"].to_numpy().astype(bool)
    counts = np.bincount(places, minlength=len(EDGES_MS) + 1)
    if not counts.sum():
        return Missing(name, title, "no session can be judged")
    share = np.bincount(places, weights=proxied, minlength=len(EDGES_MS) + 1) / np.maximum(counts, 1)
    labels = [
        f"≤ {EDGES_MS[0]:g}",
        *(f"{a:g}–{b:g}" for a, b in itertools.pairwise(EDGES_MS)),
        f"> {EDGES_MS[-1]:g}",
    ]
    figure, [[axes]] = canvas(1, 1)
    with styled():
        shown = np.flatnonzero(counts)
        axes.bar(shown, share[shown], color=COLOURS[0])
        axes.set_xticks(shown, [f"{labels[i]}\n({counts[i]})" for i in shown], fontsize=6)
        axes.set_ylim(0, 1.01)
        axes.set_xlabel(f"{one.axis}; in brackets the sessions")
        axes.set_ylabel("share proxied")
    return Drawing(name, title, f"n = {int(counts.sum())} sessions that can be judged.", (), figure)


def proxied_ases(sessions: pl.DataFrame) -> Result:
    """The share of ASs that have at least so many of their sessions proxied."""
    name, title = "proxied_by_as", "How much of an AS is proxied"
    if "proxied" not in sessions.columns:
        return Missing(name, title, "the metadata has no device and asn")
    found = (
        sessions.drop_nulls(["proxied", "asn"])
        .group_by("asn")
        .agg(pl.len().alias("sessions"), pl.col("proxied").mean())
        .filter(pl.col("sessions") >= LEAST)
        .sort("proxied")
    )
    if found.is_empty():
        return Missing(name, title, f"no AS has {LEAST} sessions that can be judged")
    figure, [[axes]] = canvas(1, 1, 3.4)
    with styled():
        at_least = 1 - np.arange(found.height) / found.height
        axes.step(found["proxied"].to_numpy() * 100, at_least, where="pre", color=COLOURS[0])
        axes.set_ylim(0, 1.01)
        axes.set_xlabel("sessions proxied [%]")
        axes.set_ylabel("share of ASs with at least x")
    return Drawing(name, title, f"n = {found.height} ASs, each with {LEAST} sessions or more.", (), figure)


def busy_ratio(sessions: pl.DataFrame, one: Property) -> Result:
    """Busy over quiet hours, percentile by percentile, for each pair of country and network."""
    name, title = f"busy_{one.column}", f"Busy over quiet hours: {one.words}"
    ratios = busy_quiet_ratios(sessions, one.column)
    if ratios is None:
        return Missing(name, title, "the metadata lacks country, network or utc_offset_h")
    if ratios.is_empty():
        return Missing(name, title, "no pair has enough sessions in its quiet window")
    figure, [[axes]] = canvas(1, 1)
    with styled():
        pairs = ratios.select("country", "network").unique(maintain_order=True).rows()
        for colour, (country, network) in zip(COLOURS, pairs, strict=False):
            own = ratios.filter((pl.col("country") == country) & (pl.col("network") == network))
            axes.plot(own["percentile"], own["ratio"], color=colour, label=f"{country} {network}")
        axes.axhline(1, color="#bbbbbb", linewidth=0.8, zorder=0)
        axes.set_xlabel("percentile")
        axes.set_ylabel("busy over quiet")
        axes.legend(fontsize=6)
    return Drawing(
        name, title, f"n = {len(pairs)} pairs; the first {min(len(pairs), MOST)} are drawn.", (), figure
    )
