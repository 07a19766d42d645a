"""What a token bucket held at a time, from what had left it by then.

Definition: the bucket is full when it has been idle for long. Each packet takes its bytes, the rate gives
back until the bucket is full. So what is missing at a time is the work that a server of the same rate would
still have before it, had it been given the same packets (Lindley's recursion), and never more than the depth.

Unit: bytes, as the shaper counts them. Source: net/sched/sch_tbf.c, sch_htb.c.
"""

from collections.abc import Callable, Sequence

import numpy as np

from narrows.metrics.statistics.arrays import Floats


def bucket_levels(
    depth_bytes: float,
    t_ns: Floats,
    counted_bytes: Floats,
    given_bytes: Callable[[Floats], Floats],
    at_ns: Sequence[float],
) -> list[float]:
    """The level at each of the times `at_ns`, before what leaves then.

    `t_ns` ascend, with what each packet took; `given_bytes(t)` is what the rate gave until t, ascending too.
    """
    if t_ns.shape != counted_bytes.shape:
        raise ValueError(f"{t_ns.size} times but {counted_bytes.size} sizes; each packet needs both")
    given = given_bytes(t_ns)
    taken = np.cumsum(counted_bytes)
    missing = taken - given - np.minimum.accumulate(taken - counted_bytes - given) if t_ns.size else taken
    levels = []
    for at, given_then in zip(at_ns, given_bytes(np.asarray(at_ns, dtype=np.float64)), strict=True):
        last = int(np.searchsorted(t_ns, at, side="left")) - 1
        lacks = 0.0 if last < 0 else float(missing[last] - (given_then - given[last]))
        levels.append(min(depth_bytes, max(0.0, depth_bytes - max(0.0, lacks))))
    return levels
