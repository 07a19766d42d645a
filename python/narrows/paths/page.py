"""One page: what limited whom, and what the paths of sessions are like by the groups that metadata knows."""

from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
from jinja2 import PackageLoader, PrefixLoader

from narrows.figures.drawing import Result
from narrows.paths import conversations, limits, limits_figure, tables
from narrows.paths import session_figures as figures
from narrows.paths.busy_hours import LEAST_QUIET
from narrows.paths.groups import SHARES, percentiles
from narrows.report.build import Built, draw
from narrows.report.environment import REPORT, environment

KNOWN = ("device_type", "network", "isp_type", "cdn", "device", "country")
"""Columns of metadata that sessions are grouped by where no other is asked for."""
MOST_VALUES = 200
MOST_SENTENCES = 20
LIMITS, PROPERTIES, SESSIONS, PROXIES, HOURS = (
    "What limited whom",
    "Distributions",
    "Between groups",
    "Proxies",
    "Busy hours",
)


def build(sessions: pl.DataFrame, by: Sequence[str], out: Path) -> Built:
    """Write OUT/report.html."""
    delays = figures.PROPERTIES[:2]
    connections = tables.load(out, "connections")
    made: list[tuple[str, Callable[[], Result]]] = [
        (LIMITS, _later(limits_figure.over_time, connections, tables.load(out, "limits")))
    ]
    made += [(PROPERTIES, _later(figures.by_group, sessions, one, by)) for one in figures.PROPERTIES]
    made += [(SESSIONS, _later(figures.medians, sessions, column)) for column in by]
    if "device" in sessions.columns or "asn" in sessions.columns:
        made += [(PROXIES, _later(figures.proxied_by, sessions, one)) for one in delays]
        made += [(PROXIES, _later(figures.proxied_ases, sessions))]
    if "utc_offset_h" in sessions.columns:
        made += [(HOURS, _later(figures.busy_ratio, sessions, delays[1]))]
        made += [(HOURS, _later(figures.busy_ratio, sessions, figures.PROPERTIES[4]))]
    drawn = draw(made, out / "figures")
    loader = PrefixLoader({"paths": PackageLoader("narrows.paths", "templates"), "report": REPORT})
    html = out / "report.html"
    sections = list(dict.fromkeys(figure.section for figure in drawn.figures))
    html.write_text(
        environment(loader)
        .get_template("paths/paths.html.j2")
        .render(
            sessions=sessions.height,
            logs=connections["log"].n_unique(),
            limits=limits.sentences(connections, MOST_SENTENCES),
            udp=conversations.sentences(tables.load(out, "udp"), MOST_SENTENCES),
            by=by,
            shares=[f"{share:.0%}" for share in SHARES],
            tables=_tables(sessions, by),
            sections=[(s, [f for f in drawn.figures if f.section == s]) for s in sections],
            missing=drawn.missing,
            least_quiet=LEAST_QUIET,
        ),
        encoding="utf-8",
    )
    return Built(html, drawn.files, drawn.missing)


def _later(make: Callable[..., Result], *arguments: object) -> Callable[[], Result]:
    return lambda: make(*arguments)


def _tables(sessions: pl.DataFrame, by: Sequence[str]) -> list[tuple[str, list[tuple[str, int, list[str]]]]]:
    """Percentiles of each property: all sessions, then each group."""
    tables = []
    for one in figures.PROPERTIES:
        rows = []
        for columns in ([], *([column] for column in by)):
            for row in percentiles(sessions, one.column, columns).head(MOST_VALUES).rows():
                *key, count = row[: len(columns) + 1]
                values = [f"{value / one.scale:.4g}" for value in row[len(columns) + 1 :]]
                label = f"{columns[0]} {key[0]}" if columns else "all"
                rows.append((label, count, values))
        if rows:
            tables.append((one.axis, rows))
    return tables
