"""Inter-packet delay variation: the difference of consecutive delays, with its sign.

Definition (RFC 5481, section 4.1; RFC 3393 with adjacent packets selected): IPDV(i) = D(i) - D(i-1) for
packets consecutive in order of SENDING; undefined where either was lost. Its mean is near 0 whatever the
queue does, and it spreads to both sides; a slow change of delay, which PDV shows in full, hardly appears in
it. One late packet counts twice, once up and once down.

Unit: that of the delays.
"""

import numpy as np

from narrows.metrics.statistics.arrays import Floats, Values, raw


def ipdv(delay: Values) -> Floats | None:
    """IPDV of each pair of delays given in order of sending (None or NaN is lost); None without a pair."""
    steps = np.diff(raw(delay))
    steps = steps[~np.isnan(steps)]
    return steps if steps.size else None


def ipdv_range(delay: Values, p: float = 0.999) -> float | None:
    """Distance from the (1-p)- to the p-quantile of IPDV; None with fewer than two pairs."""
    x = ipdv(delay)
    if x is None or x.size < 2:
        return None
    low, high = np.quantile(x, [1.0 - p, p])
    return float(high - low)
