"""A rate that moves: steps over time, read from a trace file or generated from a seed.

`Link(rate=trace("drive.down"))`. Everywhere else such a rate is its own mean: limits in BDP, what the shaper
is set to before t = 0, and what the idle rig is calibrated at. A rate of 0 is an outage. Times are those of
the run; nothing here knows how a shaper follows the steps.
"""

import math
import random
from collections.abc import Iterator, Sequence
from statistics import NormalDist
from typing import Any

from narrows.errors import SpecError, UnitError
from narrows.spec.where import caller
from narrows.units import NS_PER_S, Duration, Rate

Speed = str | Rate
Time = str | Duration

MOST_BPS = 10 * 10**9
"""The fastest that the lab's links are checked at."""
ROUNDED_BPS = 1000
"""Generated rates are whole kbit/s, so that no machine's last bit of a logarithm matters."""

Step = tuple[int, int]
"""A time in nanoseconds and the rate from then on in bit/s."""


class MovingRate(Rate):
    """Rates over time. As a Rate it is its mean over the period, or over its steps if it has none."""

    __slots__ = ("called", "period_ns", "steps")

    def __init__(self, called: str, steps: Sequence[Step], end_ns: int, *, repeats: bool) -> None:
        self_set = object.__setattr__
        self_set(self, "called", called)
        self_set(self, "steps", tuple(_merged(steps)))
        self_set(self, "period_ns", end_ns if repeats else None)
        super().__init__(_mean_bps(self.steps, end_ns))

    called: str
    """What it is called in keys: the trace's file or the generator."""
    steps: tuple[Step, ...]
    """In order of time, the first at 0, each until the next."""
    period_ns: int | None
    """After this it begins again; None: the last rate stays."""

    def __reduce__(self) -> Any:
        return _again, (self.called, self.steps, self.period_ns, self._base)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, MovingRate) and (self.steps, self.period_ns) == (
            other.steps,
            other.period_ns,
        )

    def __hash__(self) -> int:
        return hash((self.steps, self.period_ns))

    def label(self) -> str:
        return self.called

    def __str__(self) -> str:
        return f"{self.called} (mean {Rate(self.bps)})"

    def scaled(self, factor: Any) -> Rate:  # type: ignore[override]
        """A fixed rate: its mean times a number."""
        return Rate(self.bps).scaled(factor)

    def until(self, end_ns: int) -> Iterator[Step]:
        """The steps of a run that ends then, repeated if the rate is."""
        base_ns = 0
        while True:
            for at_ns, bps in self.steps:
                if base_ns + at_ns >= end_ns:
                    return
                yield base_ns + at_ns, bps
            if self.period_ns is None:
                return
            base_ns += self.period_ns


def _again(called: str, steps: tuple[Step, ...], period_ns: int | None, mean_bps: int) -> MovingRate:
    again = MovingRate(called, steps, period_ns or steps[-1][0] + 1, repeats=period_ns is not None)
    object.__setattr__(again, "_base", mean_bps)
    return again


def _merged(steps: Sequence[Step]) -> Iterator[Step]:
    last = None
    for at_ns, bps in steps:
        if bps != last:
            yield at_ns, bps
        last = bps


def _mean_bps(steps: Sequence[Step], end_ns: int) -> int:
    ends = [at for at, _ in steps[1:]] + [end_ns]
    return sum(bps * (end - at) for (at, bps), end in zip(steps, ends, strict=True)) // end_ns


def made(called: str, steps: Sequence[Step], end_ns: int, *, repeats: bool) -> MovingRate:
    """A moving rate that a guest can follow; else an error of the line that asked for it."""
    most = max(bps for _, bps in steps)
    if most > MOST_BPS:
        raise SpecError(
            f"{called}: its rate reaches {Rate(most)}, more than a guest's link can ({Rate(MOST_BPS)})",
            where=caller(),
            remedy="scale the trace down",
        )
    if not most:
        raise SpecError(
            f"{called}: its rate is 0 throughout", where=caller(), remedy="a trace with some rate"
        )
    return MovingRate(called, steps, end_ns, repeats=repeats)


# ---- generators ------------------------------------------------------------------------------------------


def square(low: Speed, high: Speed, period: Time = "20 s") -> MovingRate:
    """High for half of each period, then low."""
    down, up, period_ns = _bps(low), _bps(high), _ns(period)
    return made(f"square-{Rate(down).label()}-{Rate(up).label()}", [(0, up), (period_ns // 2, down)],
                period_ns, repeats=True)  # fmt: skip


def sine(mean: Speed, amplitude: Speed, period: Time = "20 s", step: Time = "100 ms") -> MovingRate:
    """A sine about a mean, in steps; it begins at the mean and rises."""
    middle, swing, period_ns, step_ns = _bps(mean), _bps(amplitude), _ns(period), _ns(step)
    if swing > middle:
        raise SpecError(
            f"sine: an amplitude of {Rate(swing)} about {Rate(middle)} would go below 0",
            where=caller(),
            remedy="an amplitude of at most the mean",
        )
    if step_ns >= period_ns:
        raise SpecError("sine: the step is not shorter than the period", where=caller())
    steps = [(at, whole(middle + swing * math.sin(2 * math.pi * at / period_ns)))
             for at in range(0, period_ns, step_ns)]  # fmt: skip
    return made(f"sine-{Rate(middle).label()}", steps, period_ns, repeats=True)


def outage(rate: Speed, start: Time = "10 s", length: Time = "1 s", every: Time | None = None) -> MovingRate:
    """A rate with an outage: nothing for `length` from `start` on, and again after each `every`."""
    bps, start_ns, length_ns = _bps(rate), _ns(start), _ns(length)
    steps = [(0, bps), (start_ns, 0), (start_ns + length_ns, bps)]
    end_ns = start_ns + length_ns + 1 if every is None else _ns(every)
    if every is not None and end_ns <= start_ns + length_ns:
        raise SpecError(
            f"outage: the first one ends at {Duration(start_ns + length_ns)}, after every={Duration(end_ns)}",
            where=caller(),
            remedy="a longer every, or a shorter outage",
        )
    made_ = made(f"outage-{Duration(length_ns).label()}", steps, end_ns, repeats=every is not None)
    if every is None:
        object.__setattr__(made_, "_base", bps)
    return made_


LTE_SPREAD = 0.68
"""Standard deviation of the rate's logarithm. Mahimahi's TMobile-LTE-driving.down has p50 10.0 and p95 30.6
Mbit/s in bins of 1 s: ln(30.6 / 10.0) / 1.645."""
LTE_CORRELATION_S = 5.0
LTE_OUTAGES_PER_S, LTE_OUTAGE_S = 1 / 60, 0.5
"""Handovers that stall: one a minute, half a second on average; the traces' longest is 1.1 to 78 s."""


def lte_drive(
    mean: Speed = "12 Mbit/s", seed: int = 1, duration: Time = "120 s", step: Time = "20 ms"
) -> MovingRate:
    """Synthetic LTE in a moving car: a log-normal rate with a memory of 5 s, and outages. Begins again."""
    middle, length_ns, step_ns = _bps(mean), _ns(duration), _ns(step)
    draw = random.Random(f"narrows lte_drive {seed}")
    normal = NormalDist()
    kept = math.exp(-step_ns / (LTE_CORRELATION_S * NS_PER_S))
    level, dark_until = normal.inv_cdf(_open(draw)), -1.0
    steps: list[Step] = []
    for at in range(0, length_ns, step_ns):
        level = kept * level + math.sqrt(1 - kept * kept) * normal.inv_cdf(_open(draw))
        starts = draw.random() < LTE_OUTAGES_PER_S * step_ns / NS_PER_S
        lasts_s = -LTE_OUTAGE_S * math.log(_open(draw))
        if starts and at > dark_until:
            dark_until = at + lasts_s * NS_PER_S
        bps = middle * math.exp(LTE_SPREAD * level - LTE_SPREAD**2 / 2)
        steps.append((at, 0 if at < dark_until else min(whole(bps), MOST_BPS)))
    return made(f"lte_drive-{seed}", steps, length_ns, repeats=True)


LEO_SPREAD, LEO_RECONFIGURED_S, LEO_GAP_MS = 0.35, 15, 100
"""Starlink hands its terminals over every 15 s. How much the rate differs from one to the next and how long
the gap is are assumptions: no series of its capacity could be had."""


def leo(mean: Speed = "100 Mbit/s", seed: int = 1, duration: Time = "120 s") -> MovingRate:
    """Synthetic low Earth orbit: a new log-normal level every 15 s, after a gap of 100 ms. Begins again."""
    middle, length_ns = _bps(mean), _ns(duration)
    draw, normal = random.Random(f"narrows leo {seed}"), NormalDist()
    steps: list[Step] = []
    for at in range(0, length_ns, LEO_RECONFIGURED_S * NS_PER_S):
        level = normal.inv_cdf(_open(draw))
        bps = min(whole(middle * math.exp(LEO_SPREAD * level - LEO_SPREAD**2 / 2)), MOST_BPS)
        steps += [(at, 0), (at + LEO_GAP_MS * 1_000_000, bps)] if at else [(at, bps)]
    return made(f"leo-{seed}", steps, length_ns, repeats=True)


def _open(draw: random.Random) -> float:
    """A draw between 0 and 1, without both."""
    return min(max(draw.random(), 1e-12), 1 - 1e-12)


def whole(bps: float) -> int:
    """Whole kbit/s, in bit/s."""
    return round(bps / ROUNDED_BPS) * ROUNDED_BPS


def _bps(value: Speed) -> int:
    bps: int = _quantity(Rate, value).bps
    return bps


def _ns(value: Time) -> int:
    ns: int = _quantity(Duration, value).ns
    if not ns:
        raise SpecError(f"{value!r}: a time of nothing", where=caller())
    return ns


def _quantity(kind: Any, value: Any) -> Any:
    try:
        return kind.parse(value)
    except UnitError as error:
        raise SpecError(error.message, where=caller(), remedy=error.remedy) from None
