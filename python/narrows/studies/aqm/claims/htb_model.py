"""What a late timer costs an HTB class: its token bucket, simulated alone.

Linux' htb sends while tokens >= 0, each packet costs its time at the rate, tokens are capped at the burst's
time; a class without tokens waits for a timer until they are 0 again. If the timer is later than the bucket
is deep, tokens are lost (net/sched/sch_htb.c: htb_accnt_tokens, htb_class_mode). This is a lower bound of
the real rate: in Linux each arriving packet also runs the qdisc, so a class may be served before its timer.
"""

import numpy as np

from narrows.headers import FULL_FRAME_BYTES

ROUNDS = 20_000
SEED = 1


def late_timer_rate_bps(rate_bps: float, burst_bytes: float, low_s: float, high_s: float) -> float:
    """Rate (in the shaper's bytes) of a backlogged class whose timers are late by low_s to high_s."""
    depth_s = burst_bytes * 8 / rate_bps
    frame_s = FULL_FRAME_BYTES * 8 / rate_bps
    late = np.random.Generator(np.random.PCG64(SEED)).uniform(low_s, high_s, ROUNDS)
    tokens, now, frames = 0.0, 0.0, 0
    for delay in late:
        while tokens >= 0:
            tokens -= frame_s
            frames += 1
        elapsed = -tokens + float(delay)
        now += elapsed
        tokens = min(depth_s, tokens + elapsed)
    return frames * FULL_FRAME_BYTES * 8 / now
