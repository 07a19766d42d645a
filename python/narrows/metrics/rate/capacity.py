"""Capacity of a link whose rate moves: its mean over a time.

Definition: the integral of the rate over the window, divided by the window's length. The rate is a step
function: each step holds from its time until the next, the first also before it, the last for ever. An outage
is a rate of 0 and counts as what it is.

Unit: bit/s at the layer of the rate. Source: the definition of a mean.
"""

from collections.abc import Sequence


def mean_capacity_bps(steps: Sequence[tuple[int, int]], window: tuple[int, int]) -> float:
    """The mean rate from `window[0]` to `window[1]` (nanoseconds) of steps (time in nanoseconds, bit/s)."""
    start, stop = window
    if stop <= start or not steps:
        raise ValueError("a mean needs a window and a rate")
    total = 0
    for n, (_, bps) in enumerate(steps):
        begins = start if n == 0 else max(start, steps[n][0])
        ends = stop if n + 1 == len(steps) else min(stop, steps[n + 1][0])
        total += bps * max(0, ends - begins)
    return total / (stop - start)
