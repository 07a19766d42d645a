"""Delay variation and sequence anomalies per feedback interval of a UDP capacity test, and what they ask for.

Definition (RFC 9097, section 8.1; ITU-T Y.1540 Annex B; BBF TR-471): feedback comes every 50 ms. The delay
range of a feedback interval is how far its delays rise above the smallest delay seen so far in the test.
The rate goes up when there were no more anomalies than tolerated and the range stays below the lower
threshold (30 ms); down when there were more or the range passes the upper threshold (90 ms); between them
it holds. Anomalies are packets lost, reordered or duplicated.

Versions: RFC 9097 speaks of any anomaly (tolerated = 0); the reference program udpst tolerates 10 (its
DEF_SEQ_ERR_TH), which is the default here. Our reading: the range of an interval is its largest excess over
the running minimum, its own packets included, and the delay may be one-way or round-trip.

Not modelled: the table of rates, how many steps a decision moves, and the confirmation of congestion.

Unit: times in ns, delays in ms.
"""

import numpy as np
import polars as pl

from narrows.metrics.statistics.arrays import Values
from narrows.metrics.statistics.columns import aligned, ascending, first_of_each

FEEDBACK_NS = 50_000_000
LOWER_MS = 30.0
UPPER_MS = 90.0
UDPST_TOLERATED = 10


def delay_range_per_feedback(
    received_ns: Values, delay_ms: Values, start_ns: int = 0, feedback_ns: int = FEEDBACK_NS
) -> pl.DataFrame | None:
    """t_ns (start), delay_range_ms and packets of each interval that has any; None with fewer than two."""
    times, delay = aligned(received_ns=received_ns, delay_ms=delay_ms)
    if times.size < 2:
        return None
    ascending(times, "received_ns")
    if times[0] < start_ns:
        raise ValueError(
            f"a packet was received at {times[0]:.0f} ns, before the test began at {start_ns} ns"
        )
    above = delay - np.minimum.accumulate(delay)
    first = first_of_each(times, start_ns, feedback_ns)
    index = (times[first] - start_ns) // feedback_ns
    return pl.DataFrame(
        {
            "t_ns": start_ns + index.astype(np.int64) * feedback_ns,
            "delay_range_ms": np.maximum.reduceat(above, first),
            "packets": np.diff(np.concatenate((first, [times.size]))),
        }
    )


def decision(
    delay_range_ms: float | None,
    anomalies: int,
    tolerated: int = UDPST_TOLERATED,
    lower_ms: float = LOWER_MS,
    upper_ms: float = UPPER_MS,
) -> str | None:
    """Whether the rate goes "up", "hold" or "down"; None where there is no delay to judge by."""
    if anomalies > tolerated:
        return "down"
    if delay_range_ms is None or np.isnan(delay_range_ms):
        return None
    if delay_range_ms > upper_ms:
        return "down"
    return "up" if delay_range_ms < lower_ms else "hold"
