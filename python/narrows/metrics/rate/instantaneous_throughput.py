"""Instantaneous throughput: bytes that left a point per bin of time.

Definition: sum of the bytes whose departure falls in [k*bin, (k+1)*bin), times 8, over the bin length, for
every bin of [start, stop): bins without a departure are 0 (nothing left: that is a measurement, not a
missing value). The layer is that of the bytes given; the tap counts what `tc -s` counts (IP packet plus 14
bytes of Ethernet header). The default bin is 10 ms.

Unit: bit/s. Source: as used for the paper's Figures 7 to 9 (Ray et al., arXiv 2511.19213, section 4.2),
which do not state their bin; 10 ms is our choice and is written with each figure.
"""

import numpy as np

from narrows.metrics.statistics.arrays import Floats, Values
from narrows.metrics.statistics.columns import aligned
from narrows.units import NS_PER_S

BIN_NS = 10_000_000


def instantaneous_throughput(
    departure_ns: Values, size_bytes: Values, start_ns: int, stop_ns: int, bin_ns: int = BIN_NS
) -> tuple[Floats, Floats]:
    """(start of each bin in ns, bit/s in it) for whole bins in [start, stop)."""
    t, size = aligned(departure_ns=departure_ns, size_bytes=size_bytes)
    bins = max(0, (stop_ns - start_ns) // bin_ns)
    inside = (t >= start_ns) & (t < start_ns + bins * bin_ns)
    index = ((t[inside] - start_ns) // bin_ns).astype(np.int64)
    total = np.bincount(index, weights=size[inside], minlength=bins)
    return start_ns + np.arange(bins, dtype=np.float64) * bin_ns, total * 8.0 * NS_PER_S / bin_ns
