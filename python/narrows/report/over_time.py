"""What draws a run over time in a browser, and the data that a page carries for it.

The script and uPlot (npm, `report/client`) stand in the page itself, or the site gives them. A page's data
are thinned until all of its runs together fit: a file that opens from a disk, without a network.
"""

import base64
import json
import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from narrows.comparing.conditions import facet_title, varying
from narrows.figures.over_time import STRETCHES, Line, OverTime, over_time
from narrows.metrics.statistics.arrays import Floats
from narrows.runs.observed import Observed, label

CLIENT = Path(__file__).parent / "client"
UPLOT = CLIENT / "node_modules/uplot"
SCRIPTS = {"uplot.js": UPLOT / "dist/uPlot.iife.min.js", "over_time.js": CLIENT / "over_time.js"}
STYLES = {"uplot.css": UPLOT / "dist/uPlot.min.css"}
CARRIED_MOST = 100
"""Runs whose series a page carries."""
CARRIED_BYTES = 2_500_000
"""All of them together, as they stand in the page."""
FEWEST_STRETCHES = 60
TRIED = 3
"""Runs by whose size it is seen how far all must be thinned."""
GAP = 8
"""A line has a hole where values are so many times further apart than they mostly are."""
DIGITS = 4


@dataclass(frozen=True)
class Carried:
    """A run's series as a page holds them: deflated JSON in base64."""

    run_id: str
    name: str
    data: str


@dataclass(frozen=True)
class Scripts:
    """What a page needs to draw: its text, or addresses of the site where that gives it."""

    texts: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    style: str = ""


def scripts(site: str = "") -> Scripts | None:
    """For a page of its own, or for one of a site that has them below this address; None where uPlot is not
    installed."""
    if not is_there():
        return None
    if site:
        return Scripts(addresses=tuple(f"{site}/{name}" for name in SCRIPTS))
    texts = tuple(file.read_text(encoding="utf-8").replace("</", "<\\/") for file in SCRIPTS.values())
    return Scripts(texts, style="".join(file.read_text(encoding="utf-8") for file in STYLES.values()))


def is_there() -> bool:
    """Whether uPlot is installed; without it pages have Matplotlib's pictures alone."""
    return SCRIPTS["uplot.js"].is_file()


def carried(runs: Sequence[Observed]) -> list[Carried]:
    """The series of some runs, thinned alike until they fit; of more than a page can carry the first
    repetition of each condition comes first."""
    chosen = chosen_runs(runs)
    stretches = STRETCHES // 2
    few = [_carried(run, runs, stretches) for run in chosen[:TRIED]]
    tried = [len(one.data) for one in few if one is not None]
    if tried and (size := max(tried) * len(chosen)) > CARRIED_BYTES:
        stretches = max(FEWEST_STRETCHES, int(stretches * CARRIED_BYTES / size))
    return [one for run in chosen if (one := _carried(run, runs, stretches)) is not None]


def _carried(run: Observed, runs: Sequence[Observed], stretches: int) -> Carried | None:
    known = over_time(run, stretches=stretches)
    if known is None:
        return None
    plain = json.dumps(to_json(run, known), separators=(",", ":"), allow_nan=False)
    data = base64.b64encode(zlib.compress(plain.encode(), 6)).decode("ascii")
    return Carried(run.run_id, name_of(run, runs), data)


def chosen_runs(runs: Sequence[Observed]) -> list[Observed]:
    """At most `CARRIED_MOST`, repetitions last, in the order of the runs."""
    with_files = [run for run in runs if run.ok and run.folder is not None]
    turn: dict[tuple[str, ...], int] = {}
    order = []
    axes = varying(with_files)
    for run in with_files:
        key = tuple(label(run, axis) for axis in axes)
        turn[key] = turn.get(key, -1) + 1
        order.append(turn[key])
    first = sorted(range(len(order)), key=lambda k: (order[k], k))[:CARRIED_MOST]
    return [with_files[k] for k in sorted(first)]


def name_of(run: Observed, runs: Sequence[Observed]) -> str:
    """What tells it apart from the other runs."""
    axes = [*varying(runs), *(["seed"] if len({each.key.get("seed") for each in runs}) > 1 else [])]
    return facet_title(axes, [label(run, axis) for axis in axes]) or run.run_id


def to_json(run: Observed, known: OverTime) -> dict[str, Any]:
    """As the script reads it: times in seconds, values of four digits, null where one is not known."""
    wide = (known.span_ns[1] - known.span_ns[0]) / 1e9
    places = max(0, min(9, math.ceil(4 - math.log10(wide))))
    return {
        "run": run.run_id,
        "whole": [each / 1e9 for each in known.whole_ns],
        "span": [each / 1e9 for each in known.span_ns],
        "items": list(known.items),
        "colours": list(known.colours),
        "panels": [
            {
                "key": panel.key,
                "title": panel.title,
                "unit": panel.unit,
                "note": panel.note,
                "folded": panel.folded,
                "lines": [_line(line, places) for line in panel.lines],
            }
            for panel in known.panels
        ],
    }


def _line(line: Line, places: int) -> dict[str, Any]:
    data = line.data
    t, columns = data.t, [each for each in (data.value, data.low, data.high) if each is not None]
    if line.style in ("line", "step") and t.size > 2:
        steps = np.diff(t)
        holes = np.flatnonzero(steps > GAP * max(float(np.median(steps)), 1e-9)) + 1
        t = np.insert(t, holes, (t[holes - 1] + t[holes]) / 2)
        columns = [np.insert(each, holes, np.nan) for each in columns]
    told: dict[str, Any] = {"name": line.name, "item": line.item, "style": line.style}
    told["t"] = np.round(t, places).tolist()
    for name, values in zip(("v", "lo", "hi"), columns, strict=False):
        told[name] = _short(values)
    return told


def _short(values: Floats) -> list[float | None]:
    """With so many digits as a screen shows; null for what is not known."""
    size = np.abs(np.where(np.isfinite(values) & (values != 0), values, 1.0))
    place = DIGITS - 1 - np.floor(np.log10(size))
    up, down = 10.0 ** np.maximum(place, 0), 10.0 ** np.maximum(-place, 0)
    short = np.round(values * up / down) * down / up
    plain: list[float | None] = short.tolist()
    return [None if value != value else value for value in plain]
