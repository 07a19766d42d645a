"""Whether a run of the fitted path came out as the capture did, and which part did not. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from narrows.whatif.fit import FittedPath
from narrows.whatif.measured import Measured
from narrows.whatif.tables import Floats

GOODPUT, SECONDS, RTT, RTT_P95, RTT_SECONDS, LOSS = 0.10, 0.30, 0.12, 0.20, 0.25, 3.0
"""The marks: goodput to 10 %, second by second to 30 % on average, the RTT's percentiles to 12 % on average
and the 95th to 20 %, its medians second by second to 25 % on average, segments lost to a factor of 3 (five
segments are added to both: few tell nothing)."""
FEW = 5


@dataclass(frozen=True)
class Distance:
    """How far a run is from the capture, each part over its mark: 1 is just met."""

    parts: dict[str, float]

    @property
    def worst(self) -> float:
        """The largest part; above 1 the capture is not met."""
        return max(self.parts.values())

    @property
    def met(self) -> bool:
        """Whether every mark is met."""
        return self.worst <= 1

    @property
    def misses(self) -> str:
        """The part that is furthest off."""
        return max(self.parts, key=lambda name: self.parts[name])


def distance(run: Measured, capture: Measured) -> Distance:
    length = max(len(run.seconds), len(capture.seconds))
    one, other = (np.pad(each.seconds, (0, length - len(each.seconds))) for each in (run, capture))
    parts = {
        "goodput": abs(np.log(run.goodput_bps / capture.goodput_bps)) / GOODPUT,
        "goodput second by second": np.abs(one - other).sum() / capture.seconds.sum() / SECONDS,
        "RTT": np.abs(np.log(run.levels / capture.levels)).mean() / RTT,
        "RTT's 95th percentile": abs(np.log(run.rtt_p95_s / capture.rtt_p95_s)) / RTT_P95,
        "RTT second by second": _apart(run.delays, capture.delays) / RTT_SECONDS,
        "losses": abs(np.log(_lost(run) / _lost(capture))) / np.log(LOSS),
    }
    return Distance({name: float(part) for name, part in parts.items()})


def _apart(one: Floats, other: Floats) -> float:
    """Mean difference of the logarithms, of the seconds that both have."""
    both = min(len(one), len(other))
    steps = np.abs(np.log(one[:both] / other[:both]))
    return float(np.nanmean(steps)) if np.isfinite(steps).any() else 0.0


def _lost(of: Measured) -> float:
    return of.loss + FEW / max(of.segments, 1)


def why_not(path: FittedPath, nearest: Distance) -> str:
    """Why a capture cannot answer, from what is known of it."""
    limits = path.limits
    if path.rate_bps is None and limits["application"] > 0.3:
        return f"its application limited it for {limits['application']:.0%} of the time: no capacity was seen"
    if path.rate_bps is None and limits["receiver"] > 0.3:
        return (
            f"the receiver's window limited it for {limits['receiver']:.0%} of the time: no capacity was seen"
        )
    if path.rate_bps is None:
        return "no queue stood in it, so no capacity was seen"
    if limits["application"] > 0.3:
        return f"its application limited it for {limits['application']:.0%} of the time, and how is not known"
    if nearest.met:
        return "too few of the runs as it was come out as it did: what decided it was chance"
    miss = (
        f"run again as it was, it misses the capture's {nearest.misses} ({nearest.worst:.1f} times the mark)"
    )
    return f"{miss}: other traffic that reacts, or a path that the fit has no word for"
