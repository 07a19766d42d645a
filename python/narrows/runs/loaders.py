"""What loaded the link, direction by direction, where no NDT7 test did: a bulk flow, iperf3, another test.

Reports draw it in the place of the speed test. Verdicts do not read it: a claim names its tool. Many flows
of a Dumbbell have metrics of their own (narrows.runs.many_flows).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import polars as pl

from narrows.plan.items import Command, TcpBulk, TrafficItem
from narrows.plan.model import Plan
from narrows.runs.observed import DIRECTIONS, EMPTY, SpeedTest, is_background, is_probe
from narrows.tools import registry
from narrows.tools.registry import READINGS

SERIES = ("throughput", "request_rate", "interval_bytes")
"""What tools that load one direction after the other leave of each while they do."""

Window = tuple[int, int] | None


def loaders(
    plan: Plan, manifest: Mapping[str, Any], metrics: pl.DataFrame, samples: pl.DataFrame
) -> dict[str, SpeedTest]:
    """The first of the experiment's items that has a rate in a direction. Text columns are plain text."""
    if plan.link.pairs:
        return {}
    in_turn = {(c.id, str(way)): part for c in plan.composites for way, part in c.in_turn.items()}
    speed_tests: dict[str, SpeedTest] = {}
    for source, parts in _sources(plan).items():
        for direction in DIRECTIONS:
            rate_bps = _rate_bps(metrics, source, direction)
            if direction in speed_tests or rate_bps is None:
                continue
            speed_tests[direction] = SpeedTest(
                source=source,
                direction=direction,
                rate_bps=rate_bps,
                min_rtt_ms=None,
                rtt_ms=EMPTY,
                retransmission_ratio=None,
                window=_window(
                    source,
                    direction,
                    parts,
                    in_turn.get((source, direction)),
                    manifest.get("items") or {},
                    samples,
                ),
            )
    return speed_tests


def _sources(plan: Plan) -> dict[str, list[TrafficItem]]:
    """What the tables call each tool, with the items of the plan that it is."""
    whole = {part: tool.id for tool in plan.composites for part in tool.parts}
    sources: dict[str, list[TrafficItem]] = {}
    for item in plan.traffic:
        if not is_probe(item) and not is_background(item):
            sources.setdefault(whole.get(item.id, item.id), []).append(item)
    return sources


def _rate_bps(metrics: pl.DataFrame, source: str, direction: str) -> float | None:
    rows = metrics.filter(
        (pl.col("source") == source)
        & (pl.col("direction") == direction)
        & pl.col("name").is_in(_rates())
        & pl.col("value").is_not_null()
    )
    return None if rows.is_empty() else float(rows["value"][0])


def _window(
    source: str,
    direction: str,
    parts: Sequence[TrafficItem],
    own_part: str | None,
    spans: Mapping[str, Mapping[str, Any]],
    samples: pl.DataFrame,
) -> Window:
    """When it loaded that direction; None where that is not known."""
    own = [part for part in parts if part.id == own_part] or parts
    if all(_loads_all_along(part) for part in own):
        known = [spans.get(part.id) or {} for part in own]
        starts = [int(span["start_ns"]) for span in known if span.get("start_ns") is not None]
        ends = [int(span["end_ns"]) for span in known if span.get("end_ns") is not None]
        return (min(starts), max(ends)) if starts and ends else None
    times = samples.filter(
        (pl.col("source") == source) & (pl.col("direction") == direction) & pl.col("series").is_in(SERIES)
    )["t_ns"]
    return None if times.is_empty() else (int(times.min()), int(times.max()) + 1)  # type: ignore[arg-type]


def _loads_all_along(item: TrafficItem) -> bool:
    return isinstance(item, TcpBulk) or (isinstance(item, Command) and item.tool in _steady())


@cache
def _rates() -> tuple[str, ...]:
    """Each tool's own figure of its rate."""
    return tuple(
        rate for each in registry.parts(READINGS) if hasattr(each, "LOAD") for rate in each.LOAD.rates
    )


@cache
def _steady() -> frozenset[str]:
    """Tools whose process loads one direction, or both at once, from its start to its end."""
    words = registry.words().items()
    loads = {word: getattr(registry.part(folder, READINGS), "LOAD", None) for word, folder in words}
    return frozenset(word for word, load in loads.items() if load is not None and load.steady)
