"""When a tool says that it loaded each direction, by what it declares (`narrows.tools.reading.Load`).

A speed test tells how long it measured until its last sample; a steady load takes its direction from its
start to its end; of others the series that they leave of a direction tell. An item of which nothing is said
here loads for as long as it runs, if it loads at all (`narrows.runs.items`).
"""

from collections.abc import Mapping
from typing import Any

import polars as pl

from narrows.plan.items import TcpBulk, TrafficItem
from narrows.plan.model import Plan
from narrows.runs.observed import DIRECTIONS, Window, is_background, is_probe, load_of, span
from narrows.store.whose import Name, Whose
from narrows.tools import reading
from narrows.units import NS_PER_S

SERIES = ("throughput", "request_rate", "interval_bytes")
"""What tools that load one direction after the other leave of each while they do."""
ENDS = ("client", "server")
"""The ends of a speed test: parts of its item in `samples`."""


def windows(
    plan: Plan, manifest: Mapping[str, Any], figures: Mapping[Name, float], samples: pl.DataFrame
) -> dict[tuple[str, str], Window]:
    """By item and direction, in ns. Text columns are plain text."""
    in_turn = {(c.id, str(way)): part for c in plan.composites for way, part in c.in_turn.items()}
    times = _times(samples)
    found = {}
    for part in plan.traffic:
        if is_probe(part) or is_background(part):
            continue
        item, load = part.item, _load(part)
        for way in DIRECTIONS:
            known = None
            if load.elapsed:
                ends = [each[1] for end in ENDS if (each := times.get((item, end, way)))]
                elapsed_s = figures.get(Name(load.elapsed, way, Whose(item)))
                if ends and elapsed_s is not None:
                    known = max(ends) - 1 - round(elapsed_s * NS_PER_S), max(ends)
            elif not load.steady:
                known = times.get((item, None, way))
            elif in_turn.get((item, way)) == part.id:
                known = span([part], manifest)
            if known is not None:
                found[item, way] = known
    return found


def _load(part: TrafficItem) -> reading.Load:
    tool = "bulk" if isinstance(part, TcpBulk) else getattr(part, "tool", "")
    return load_of(tool) or reading.Load()


def _times(samples: pl.DataFrame) -> dict[tuple[str, str | None, str], Window]:
    """First and last time of what an item says of a direction, by item, part and direction: of an end all
    that it says, else what is in `SERIES`."""
    meant = pl.col("part").is_in(ENDS) | pl.col("quantity").is_in(SERIES)
    t_ns = pl.col("t_ns")
    own = samples.filter(pl.col("direction").is_not_null() & pl.col("hop").is_null() & meant)
    spans = own.group_by("item", "part", "direction").agg(t_ns.min().alias("first"), t_ns.max().alias("last"))
    return {(item, part, way): (first, last + 1) for item, part, way, first, last in spans.iter_rows()}
