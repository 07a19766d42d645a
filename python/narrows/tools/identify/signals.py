"""Losses and marks of a phase: at which delay, beside how many packets, and whether by CoDel's law. Pure."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from narrows.tools.identify.records import Floats, Phase

FEW = 8
LAW_RUN = 6
LAW_MOST = 24
INTERVALS_S = (0.02, 0.5)
CLOCK_ROWS, CLOCK_COUNTS, CLOCK_INTERVALS_S = (16, 24, 32), 12, (0.05, 0.2)
"""Signals in a row, what CoDel's count may begin at, and intervals: its own is 100 ms."""


@dataclass(frozen=True)
class Signals:
    """Losses and marks of one phase, as they left the queue."""

    count: int
    spread_s: float | None
    """How far the delay at them spreads: the 90th less the 10th percentile."""
    delay_s: float | None
    """The median of the delay at them."""
    first_delay_s: float | None
    """At the first of them."""
    held: float | None
    """What was on the way at them, beyond the idle path, in packets of flow A's size: the median."""
    held_spread: float | None
    """How far that spreads: the 90th less the 10th percentile."""
    first_held: float | None
    """At the first of them."""
    least_held: float | None
    """At the one with the least."""
    law: float | None
    """How far their spacings are from CoDel's law, as a share of them; None: too few."""
    law_run: int
    """How many spacings that rests on."""
    interval_s: float | None
    """CoDel's interval, if that is the law."""
    clock: float | None
    """How far their times are from it, as a share of the mean spacing; None: too few."""
    clock_run: int
    """How many signals that rests on."""
    clock_interval_s: float | None
    """CoDel's interval by their times."""


def signals(phase: Phase, which: tuple[int, ...]) -> Signals:
    """Losses and marks of some flows of a phase; each at the arrival of the packet behind it."""
    times, delays, helds = [], [], []
    held = _held(phase)
    for n in which:
        flow = phase.flows[n]
        there = np.flatnonzero(~flow.lost)
        hit = np.flatnonzero(flow.lost | flow.marked)
        if not len(there) or not len(hit):
            continue
        behind = np.searchsorted(there, hit)
        known = behind < len(there)
        times.append(flow.arrived_s[there[behind[known]]])
        delays.append(flow.delay_s[there[np.maximum(behind[known] - 1, 0)]])
        helds.append(held(flow.sent_s[hit[known]]))
    if not times:
        return Signals(0, None, None, None, None, None, None, None, None, 0, None, None, 0, None)
    time, delay, there_at = np.concatenate(times), np.concatenate(delays), np.concatenate(helds)
    order = np.argsort(time, kind="stable")
    time, delay, there_at = time[order], delay[order], there_at[order]
    law, run, interval = codel_law(time)
    clock = codel_clock(time)
    few = len(delay) < FEW
    return Signals(
        count=len(delay),
        spread_s=None if few else float(np.percentile(delay, 90) - np.percentile(delay, 10)),
        delay_s=None if few else float(np.median(delay)),
        first_delay_s=None if few else float(np.median(delay[:3])),
        held=None if few else float(np.median(there_at)),
        held_spread=None if few else float(np.percentile(there_at, 90) - np.percentile(there_at, 10)),
        first_held=None if few else float(np.median(there_at[:3])),
        least_held=None if few else float(there_at.min()),
        law=law,
        law_run=run,
        interval_s=interval,
        clock=clock[0],
        clock_run=clock[1],
        clock_interval_s=clock[2],
    )


def _held(phase: Phase) -> Callable[[Floats], Floats]:
    """How much is on the way at some times of sending, beyond the idle path: what was sent before and does
    arrive, less what had arrived by then, in packets of the first flow's size."""
    there = [~flow.lost for flow in phase.flows]
    sent = np.concatenate([flow.sent_s[got] for flow, got in zip(phase.flows, there, strict=True)])
    left = np.concatenate([(f.sent_s + f.delay_s)[got] for f, got in zip(phase.flows, there, strict=True)])
    size = np.repeat([f.bytes / phase.flows[0].bytes for f in phase.flows], [int(got.sum()) for got in there])
    entered, went = np.argsort(sent), np.argsort(left)
    into = np.concatenate(([0.0], np.cumsum(size[entered])))
    out = np.concatenate(([0.0], np.cumsum(size[went])))
    sent, left = sent[entered], left[went]

    def at(time: Floats) -> Floats:
        found: Floats = into[np.searchsorted(sent, time)] - out[np.searchsorted(left, time, side="right")]
        return found

    return at


def codel_clock(time_s: Floats) -> tuple[float | None, int, float | None]:
    """How far the first signals are from CoDel's law in time, as a share of their mean spacing, how many they
    are, and the interval. CoDel adds I / sqrt(count) to the time at which the last was due, so what a medium
    adds does not add up, and a long row stays close to the law. The closest row for its length counts."""
    best: tuple[float | None, int, float | None] = (None, 0, None)
    for skip in range(4):
        for row in CLOCK_ROWS:
            part = time_s[skip : skip + row]
            if len(part) < row or part[-1] <= part[0]:
                break
            for count in range(1, CLOCK_COUNTS):
                law = np.concatenate(([0.0], np.cumsum(1 / np.sqrt(count + np.arange(row - 1.0)))))
                interval, start = np.polyfit(law, part, 1)
                if not CLOCK_INTERVALS_S[0] <= interval <= CLOCK_INTERVALS_S[1]:
                    continue
                off = float(np.sqrt(np.mean((part - start - interval * law) ** 2)))
                off *= (row - 1) / float(part[-1] - part[0])
                if best[0] is None or off / math.sqrt(row) < best[0] / math.sqrt(best[1]):
                    best = (off, row, float(interval))
    return best


def codel_law(time_s: Floats) -> tuple[float | None, int, float | None]:
    """How far the first signals are from CoDel's law: the median relative error of the spacings, how many
    were taken, and the interval of the line through 1 / spacing^2. The longest run that is closest counts."""
    best: tuple[float | None, int, float | None] = (None, 0, None)
    for skip in (0, 1, 2):
        spacing = np.diff(time_s[skip : skip + LAW_MOST + 1])
        for run in range(LAW_RUN, len(spacing) + 1):
            part = spacing[:run]
            if (part <= 0).any():
                break
            n = np.arange(run, dtype=np.float64)
            slope, start = np.polyfit(n, 1 / part**2, 1)
            line = start + slope * n
            if slope <= 0 or (line <= 0).any():
                continue
            interval = 1 / math.sqrt(slope)
            if not INTERVALS_S[0] <= interval <= INTERVALS_S[1]:
                continue
            error = float(np.median(np.abs(1 / np.sqrt(line) / part - 1)))
            if best[0] is None or error < best[0] * 0.9 or (error < 0.05 and run > best[1]):
                best = (error, run, interval)
    return best
