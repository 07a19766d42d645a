"""Interarrival jitter of RFC 3550: a smoothed estimate, not a mean.

Definition (RFC 3550, section 6.4.1 and appendix A.8): with S the sending and R the receiving time, for each
pair of consecutive packets in order of ARRIVAL D = (R_j - R_i) - (S_j - S_i), and J = J + (|D| - J) / 16,
from 0. The value reported is the last J, so it tells of about the last 16 packets. A lost packet is
skipped: its neighbours become consecutive. The clocks need not agree, only run at one rate.

Floating point; the RFC's appendix rounds in units of the media clock, which is not modelled. It differs
from `narrows.metrics.latency.jitter` (mean over all pairs in order of sending, broken by a loss) and from
`narrows.metrics.latency.ipdv` (signed).

Unit: that of the times (ns).
"""

import numpy as np

from narrows.metrics.statistics.arrays import Floats, Values, ascends
from narrows.metrics.statistics.columns import aligned

GAIN = 1.0 / 16.0
MEMORY = 2048  # packets: (15/16)^2047 is below 1e-57


def rfc3550_jitter_series(sent_ns: Values, received_ns: Values) -> Floats | None:
    """J after each arrival but the first, in order of arrival; None with fewer than two packets received."""
    sent, received = aligned(sent_ns=sent_ns, received_ns=received_ns)
    if received.size < 2:
        return None
    if not ascends(received):  # order of arrival is the definition; only rows are moved
        order = np.argsort(received, kind="stable")
        sent, received = sent[order], received[order]
    from scipy.signal import lfilter  # slow to import, for who has two packets

    distance = np.abs(np.diff(received - sent))
    series: Floats = np.asarray(lfilter([GAIN], [1.0, GAIN - 1.0], distance), dtype=np.float64)
    return series


def rfc3550_jitter(sent_ns: Values, received_ns: Values) -> float | None:
    """The last J; None with fewer than two packets received. What is older than MEMORY has decayed."""
    sent, received = aligned(sent_ns=sent_ns, received_ns=received_ns)
    if not ascends(received):
        order = np.argsort(received, kind="stable")
        sent, received = sent[order], received[order]
    series = rfc3550_jitter_series(sent[-MEMORY:], received[-MEMORY:])
    return None if series is None else float(series[-1])
