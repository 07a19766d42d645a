"""The calibration as tables for people: units in the head, one row per answer of a tool, never a made-up
cell.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from narrows.calibrate.calibration import Calibration
from narrows.calibrate.compare import Summary
from narrows.calibrate.readings import TOOL as TOOL_ORIGIN
from narrows.metrics.score import CROSS, OWN, THIRD

WHOSE = {OWN: "its own packets' delay", THIRD: "a third party's delay", CROSS: "capacity left"}
Rows = tuple[list[str], list[list[Any]]]


def rate(value: float | None) -> str | None:
    """A share in percent with its sign."""
    return None if value is None else f"{100 * value:+.1f} %"


def delay(value: float | None) -> str | None:
    """ms with sign."""
    return None if value is None else f"{value:+.1f} ms" if abs(value) < 100 else f"{value:+.0f} ms"


def error(one: Summary) -> str | None:
    """The median error in the unit that reads best."""
    return rate(one.bias.relative_median) if one.relative else delay(one.bias.median)


def spread(one: Summary) -> str | None:
    """The middle half of the errors, or why there is none."""
    if one.no_spread is not None:
        return f"none: {one.no_spread}"
    if one.relative:
        return None if one.bias.relative_iqr is None else f"{100 * one.bias.relative_iqr:.1f} %"
    return None if one.bias.iqr is None else f"{one.bias.iqr:.1f} ms"


def worst(one: Summary) -> str | None:
    """The condition with the largest error, and that error."""
    value = rate(one.worst_relative) if one.relative else delay(one.worst)
    return None if value is None else f"{value} at {one.worst_condition}"


def inverted(one: Summary) -> str | None:
    """`3 of 28` pairs of conditions in the wrong order."""
    return None if one.inversions is None else f"{one.inversions.inverted} of {one.inversions.pairs}"


def of_tools(found: Calibration) -> list[Summary]:
    """The tools' own answers, in order."""
    return in_order(s for s in found.summaries if s.origin == TOOL_ORIGIN)


def in_order(summaries: Iterable[Summary]) -> list[Summary]:
    """By tool, then quantity, metric, direction and truth."""
    return sorted(
        summaries, key=lambda s: (s.tool, s.quantity != "throughput", s.metric, s.direction, s.whose)
    )


def answers(found: Calibration) -> Rows:
    """Each tool's own answers against the truth."""
    columns = ["tool", "answer", "load", "against", "runs", "bias", "spread (IQR)", "inverted pairs", "worst"]
    rows = [
        [s.tool, s.metric, s.direction, WHOSE[s.whose], s.bias.n, error(s), spread(s), inverted(s), worst(s)]
        for s in of_tools(found)
    ]
    return columns, rows


def cost_rows(found: Calibration) -> Rows:
    """What a test costs."""
    columns = ["tool", "runs", "median MB", "least MB", "most MB"]
    rows = [
        [r["tool"], r["n"], *(round(r[k] / 1e6, 1) for k in ("median_bytes", "least_bytes", "most_bytes"))]
        for r in found.costs.iter_rows(named=True)
    ]
    return columns, rows


def parameter_rows(found: Calibration) -> Rows:
    """How far the tools' own answers move with their own parameters."""
    columns = ["tool", "changed", "answer", "load", "pairs", "median", "5 % to 95 % of pairs"]
    rows = [
        [
            r["usual"], r["variation"], r["metric"], r["direction"], r["n"], rate(r["median"]),
            f"{rate(r['p5'])} to {rate(r['p95'])}",
        ]
        for r in found.parameters.sort("usual", "variation", "metric", "direction").iter_rows(named=True)
        if r["origin"] == TOOL_ORIGIN and r["median"] is not None
    ]  # fmt: skip
    return columns, rows
