"""The calibration as tables for people: units in the head, one row per answer of a tool, never a made-up
cell.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from narrows.calibrate.calibration import Calibration
from narrows.calibrate.compare import Summary
from narrows.calibrate.readings import TOOL as TOOL_ORIGIN
from narrows.tools.reading import CROSS, OWN, THIRD

WHOSE = {OWN: "its own packets' delay", THIRD: "a third party's delay", CROSS: "capacity left"}
Rows = tuple[list[str], list[list[Any]]]


def rate(value: float | None) -> str | None:
    """A share in percent with its sign."""
    return None if value is None else f"{signed(100 * value, 1)} %"


def delay(value: float | None) -> str | None:
    """ms with sign."""
    return None if value is None else f"{signed(value, 1 if abs(value) < 100 else 0)} ms"


def signed(value: float, digits: int) -> str:
    """With its sign, a true minus; what rounds to nothing has none."""
    text = f"{value:+.{digits}f}"
    return text[1:] if not text.strip("+-0.") else text.replace("-", "−")


def error(one: Summary) -> str | None:
    """The median error in the unit that reads best."""
    return in_unit(one, one.typical)


def in_unit(one: Summary, value: float | None) -> str | None:
    """A value of the summary's errors: a share of the truth, or ms."""
    return rate(value) if one.relative else delay(value)


def between(one: Summary) -> str | None:
    """The lowest and the highest of the conditions' errors."""
    low, high = in_unit(one, one.least), in_unit(one, one.most)
    return low if low == high or low is None else f"{low} to {high}"


def seeds(one: Summary) -> str | None:
    """How far the seeds of one condition lie apart; one seed says nothing of that."""
    if one.seeds_reach is None:
        return "one seed"
    return f"± {100 * one.seeds_reach:.1f} %" if one.relative else f"± {one.seeds_reach:.1f} ms"


def amount(one: Summary, value: float) -> str:
    """A reading or a truth itself."""
    shown, unit = (value / 1e6, "Mbit/s") if one.relative else (value, "ms")
    return f"{signed(shown, decimals(shown) if one.relative else 1).removeprefix('+')} {unit}"


def decimals(value: float) -> int:
    """One; below 1 as many as show three digits that count, so that 37 kbit/s are not 0.0 Mbit/s."""
    return 1 if abs(value) >= 1 or not value else 2 - math.floor(math.log10(abs(value)))


def amounts(one: Summary, values: Sequence[float]) -> str:
    """The lowest and the highest of some conditions."""
    low, high = amount(one, min(values)), amount(one, max(values))
    return low if low == high else f"{low.rpartition(' ')[0]} to {high}"


def worst(one: Summary) -> str | None:
    """The condition with the largest error."""
    value = one.worst_relative if one.relative else one.worst
    return None if value is None else one.worst_condition


def inverted(one: Summary) -> str | None:
    """`3 of 28` pairs of conditions in the wrong order."""
    return None if one.inversions is None else f"{one.inversions.inverted} of {one.inversions.pairs}"


def of_tools(calibration: Calibration) -> list[Summary]:
    """The tools' own answers, in order."""
    return in_order(s for s in calibration.summaries if s.origin == TOOL_ORIGIN)


def in_order(summaries: Iterable[Summary]) -> list[Summary]:
    """By tool, then quantity, metric, direction and truth."""
    return sorted(
        summaries, key=lambda s: (s.tool, s.quantity != "throughput", s.metric, s.direction, s.whose)
    )


def answers(calibration: Calibration) -> Rows:
    """Each tool's own answers against the truth; of one condition the amounts, of several how they range."""
    head, mine = ["tool", "answer", "load", "against"], of_tools(calibration)
    if calibration.table["condition"].n_unique() == 1:
        return [*head, "runs", "reading", "truth", "error", "seeds"], [
            [*_names(s), s.bias.n, amount(s, s.seen), amount(s, s.truth), error(s), seeds(s)] for s in mine
        ]
    columns = [
        *head, "runs", "readings", "truths", "error, median", "by condition", "seeds", "inverted",
        "furthest off at",
    ]  # fmt: skip
    return columns, [
        [
            *_names(s), s.bias.n, amounts(s, [c.seen for c in s.conditions]),
            amounts(s, [c.truth for c in s.conditions]), error(s), between(s), seeds(s), inverted(s),
            worst(s),
        ]
        for s in mine
    ]  # fmt: skip


def by_condition(calibration: Calibration) -> Rows:
    """Each tool's own answers under each condition: the reading beside the truth and the error."""
    columns = ["tool", "answer", "load", "against", "condition", "runs", "reading", "truth", "error"]
    return columns, [
        [*_names(s), c.condition, c.n, amount(s, c.seen), amount(s, c.truth), in_unit(s, c.error)]
        for s in of_tools(calibration)
        for c in s.conditions
    ]


def _names(one: Summary) -> list[Any]:
    return [one.tool, one.metric, one.direction, WHOSE[one.whose]]


def _megabytes(count: float) -> float:
    return round(count / 1e6, decimals(count / 1e6))


def cost_rows(calibration: Calibration) -> Rows:
    columns = ["tool", "runs", "median MB", "least MB", "most MB"]
    rows = [
        [r["tool"], r["n"], *(_megabytes(r[k]) for k in ("median_bytes", "least_bytes", "most_bytes"))]
        for r in calibration.costs.iter_rows(named=True)
    ]
    return columns, rows


def parameter_rows(calibration: Calibration) -> Rows:
    """How far the tools' own answers move with their own parameters."""
    columns = ["tool", "changed", "answer", "load", "pairs", "median", "5 % to 95 % of pairs"]
    ordered = calibration.parameters.sort("usual", "variation", "metric", "direction")
    rows = [
        [
            r["usual"], r["variation"], r["metric"], r["direction"], r["n"], rate(r["median"]),
            f"{rate(r['p5'])} to {rate(r['p95'])}",
        ]
        for r in ordered.iter_rows(named=True)
        if r["origin"] == TOOL_ORIGIN and r["median"] is not None
    ]  # fmt: skip
    return columns, rows
