"""Freezes of a video: gaps between rendered frames that are long against the usual ones.

Definition (W3C webrtc-stats, freezeCount; libwebrtc video/video_quality_observer2.cc): a gap is a freeze if
it is at least max(3 d, d + 150 ms), d being the mean of the last 30 gaps. Versions differ in what d
contains:
- "libwebrtc": the mean, rounded down to whole ms, of the last 30 gaps WITH the gap in question, once there
are 5; the gap compares with >=. One long gap raises d and can hide itself: after four gaps of 40 ms one of
200 ms is none ((4 x 40 + 200) / 5 = 72, limit 222).
- "prior": the mean of up to 30 gaps BEFORE it, once there are 5, compared with > (how papers state the
rule).

Every gap enters later means, freezes too, as in libwebrtc. The time frozen is the sum of the gaps that
freeze.

Unit: ms in, counts and ms out.
"""

from dataclasses import dataclass

import numpy as np

from narrows.metrics.statistics.arrays import Floats, Values
from narrows.metrics.statistics.columns import ascending, sample

WINDOW_FRAMES = 30
MIN_FRAMES = 5
INCREASE_MS = 150.0
FACTOR = 3.0


@dataclass(frozen=True)
class Freezes:
    """How often and how long, of a video rendered over `observed_ms`."""

    count: int
    frozen_ms: float
    observed_ms: float
    frames: int


def freezes(rendered_ms: Values, variant: str = "libwebrtc") -> Freezes | None:
    """Takes the times at which frames were rendered, ascending; None where no gap can be judged."""
    if variant not in ("libwebrtc", "prior"):
        raise ValueError(f'variant {variant!r}: it is "libwebrtc" or "prior"')
    times = sample(rendered_ms)
    if times is None:
        return None
    gaps = np.diff(ascending(times, "rendered_ms"))
    if variant == "libwebrtc":
        judged = gaps[MIN_FRAMES - 1 :]
        usual = np.floor(_mean_of_last(gaps)[MIN_FRAMES - 1 :])
        frozen = judged >= np.maximum(FACTOR * usual, usual + INCREASE_MS)
    else:
        judged = gaps[MIN_FRAMES:]
        usual = _mean_of_last(gaps)[MIN_FRAMES - 1 : -1]
        frozen = judged > np.maximum(FACTOR * usual, usual + INCREASE_MS)
    if judged.size == 0:
        return None
    return Freezes(
        int(np.count_nonzero(frozen)),
        float(judged[frozen].sum()),
        float(times[-1] - times[0]),
        int(times.size),
    )


def _mean_of_last(gaps: Floats) -> Floats:
    """Mean of the up to WINDOW_FRAMES gaps that end with each."""
    sums = np.concatenate(([0.0], np.cumsum(gaps)))
    end = np.arange(1, gaps.size + 1)
    begin = np.maximum(0, end - WINDOW_FRAMES)
    means: Floats = (sums[end] - sums[begin]) / (end - begin)
    return means
