"""The calibration's answer in plain words: how wrong the speed tests are, on what link, how sure that is.

It only words what `compare` found; what counts as close is an argument of the page (CLOSE_SHARE, CLOSE_MS)
and is said in the sentence.
"""

from collections.abc import Sequence
from typing import Any

import polars as pl

from narrows.calibrate.calibration import Calibration
from narrows.calibrate.compare import Summary
from narrows.calibrate.tables import amount, in_unit, of_tools
from narrows.spec.axis import SEED
from narrows.tools.reading import OWN, THIRD
from narrows.units import Duration, Rate

CLOSE_SHARE = 0.03
CLOSE_MS = 1.0
FOR_AN_INTERVAL = 6  # values: fewer give no 95 % interval of a median
SHOWN_LABELS = 6


def link(calibration: Calibration) -> list[tuple[str, str]]:
    """What was the same in all runs or swept: rate, base RTT, queue, and the scenario's other axes."""
    runs = calibration.runs
    down, up = (_texts(runs, f"rate_{way}_bps", lambda bps: str(Rate(int(bps)))) for way in ("down", "up"))
    facts = [("rate", down if down == up else f"{down} down, {up} up")]
    facts.append(("base RTT", _texts(runs, "base_rtt_ns", lambda ns: str(Duration(int(ns))))))
    # queues as the person wrote them, where they are an axis; else what Linux calls them
    queues = "queue" if "queue" in calibration.axes else "link_queue"
    facts.append(("queue", _texts(runs, queues, str)))
    if calibration.changes:
        facts.append(("changes", "; ".join(calibration.changes)))
    said = {"rate", "rate_up", "base_rtt", "queue"}
    axes = [axis for axis in calibration.axes if axis not in said]
    facts += [(axis.replace("key_", ""), _texts(runs, axis, str)) for axis in axes]
    return [*facts, ("seeds", str(runs[SEED].n_unique()))]


def in_short(calibration: Calibration) -> list[tuple[str, str]]:
    """Heading and sentence of each thing that there is to say."""
    mine = of_tools(calibration)
    rates = [s for s in mine if s.relative]
    said = []
    if rates:
        close = f"{_count(rates, CLOSE_SHARE)} within {100 * CLOSE_SHARE:.0f} %"
        said.append(
            ("Throughput", f"{close} of the capacity that was left{_truth(rates)}. {_extremes(rates)}")
        )
    for whose, heading, packets in (
        (THIRD, "Latency that others met", "what other traffic's packets met in the queue"),
        (OWN, "Latency that it met itself", "what the test's own packets met"),
    ):
        delays = [s for s in mine if not s.relative and s.whose == whose]
        if delays:
            close = _count(delays, CLOSE_MS)
            said.append((heading, f"{close} within {CLOSE_MS:g} ms of {packets}. {_extremes(delays)}"))
    inverted = [s for s in mine if s.inversions is not None and s.inversions.inverted]
    judged = [s for s in mine if s.inversions is not None]
    if judged:
        said.append(("Order", _order(inverted, judged)))
    return [*said, ("How sure", _sure(calibration))]


def loaded(calibration: Calibration) -> tuple[float, float] | None:
    """The download in bit/s, and by how many ms a third party's round trips grew in the way where they did
    more: medians of all runs, where the scenario has one condition and they were measured."""
    if calibration.table["condition"].n_unique() != 1:
        return None
    said = calibration.scores
    rates = said.filter(
        (pl.col("source") == "bottleneck/own") & (pl.col("metric") == "throughput_mean"), direction="down"
    )
    waits = said.filter(metric="working_latency_p50", series="rtt").group_by("run_id").agg(pl.max("value"))
    rate, wait = rates["value"].median(), waits["value"].median()
    return (rate, wait) if isinstance(rate, float) and isinstance(wait, float) else None


def _count(some: Sequence[Summary], close: float) -> str:
    """An answer is close where it is in every condition."""
    near = [s for s in some if s.least is not None and s.most is not None and max(-s.least, s.most) <= close]
    return f"{len(near)} of {len(some)} answers {'is' if len(near) == 1 else 'are'}" + (
        "" if _one_condition(some) else ", in every condition,"
    )


def _truth(some: Sequence[Summary]) -> str:
    low, high = min(s.truth for s in some), max(s.truth for s in some)
    if not _one_condition(some):
        return ""
    texts = list(dict.fromkeys((amount(some[0], low), amount(some[0], high))))
    return f" ({' to '.join(texts)} of payload)"


def _one_condition(some: Sequence[Summary]) -> bool:
    return all(s.least == s.most for s in some)


def _extremes(some: Sequence[Summary]) -> str:
    """The answers that are furthest below and above what was."""
    low = min((s for s in some if s.least is not None), key=lambda s: s.least or 0.0, default=None)
    high = max((s for s in some if s.most is not None), key=lambda s: s.most or 0.0, default=None)
    parts = []
    if low is not None and low.least is not None and low.least < 0:
        parts.append(f"furthest below it: {_named(low, low.least)}")
    if high is not None and high.most is not None and high.most > 0:
        parts.append(f"furthest above it: {_named(high, high.most)}")
    text = "; ".join(parts)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _named(one: Summary, value: float) -> str:
    is_worst = value == (one.worst_relative if one.relative else one.worst)
    where = f", {one.worst_condition}" if is_worst and one.least != one.most else ""
    return f"{in_unit(one, value)}, {one.tool} ({one.metric}, {one.direction}{where})"


def _order(inverted: Sequence[Summary], judged: Sequence[Summary]) -> str:
    if not inverted:
        return f"None of {len(judged)} answers puts two conditions that truly differ in the wrong order."
    most = max(inverted, key=lambda s: s.inversions.inverted / s.inversions.pairs if s.inversions else 0.0)
    assert most.inversions is not None
    return (
        f"{len(inverted)} of {len(judged)} answers put conditions in the wrong order; most often {most.tool} "
        f"({most.metric}, {most.direction}): {most.inversions.inverted} of {most.inversions.pairs} pairs."
    )


def _sure(calibration: Calibration) -> str:
    seeds = calibration.runs[SEED].n_unique()
    if seeds == 1:
        return (
            "Each test ran once on each link, so nothing is known of how far another run would differ: the "
            f"errors are of these runs alone. {FOR_AN_INTERVAL} seeds give a 95 % interval of the median."
        )
    more = "" if seeds >= FOR_AN_INTERVAL else f" A 95 % interval of a median needs {FOR_AN_INTERVAL} seeds."
    return (
        f"Errors are medians; the column seeds says how far {seeds} runs on the same link lie apart "
        f"(half their range, median of the conditions).{more}"
    )


def _texts(runs: pl.DataFrame, column: str, word: Any) -> str:
    labels = [word(v) for v in runs[column].drop_nulls().unique(maintain_order=True).to_list()]
    if not labels:
        return "none"
    more = f" and {len(labels) - SHOWN_LABELS} more" if len(labels) > SHOWN_LABELS else ""
    return ", ".join(dict.fromkeys(labels[:SHOWN_LABELS])) + more
