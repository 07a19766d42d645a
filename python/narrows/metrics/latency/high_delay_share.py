"""Share of packets with high delay: round-trip times above 190 ms.

Definition: packets whose round-trip time exceeds 190 ms over packets that came back. Lost packets are not
in it: a queue that drops instead of delaying reads well here, so the loss belongs beside it.

Unit: none (share of 1). Source: the ITU's bar of 190 ms of round-trip time for real-time communication, as
the study of services under contention applies it to video calls; the limit is an argument.
"""

import numpy as np

from narrows.metrics.statistics.arrays import Values
from narrows.metrics.statistics.columns import sample

LIMIT_MS = 190.0


def high_delay_share(rtt_ms: Values, limit_ms: float = LIMIT_MS) -> float | None:
    """Share above the limit (not at it) of the packets present; None with fewer than two."""
    x = sample(rtt_ms)
    return None if x is None else float(np.count_nonzero(x > limit_ms) / x.size)
