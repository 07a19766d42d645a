"""Time to fairness: when Jain's index came up to a threshold and stayed.

Definition: the first window from which on the index is at least the threshold (0.95) in every window, for
at least `hold_ns` of the record. A window in which nothing was delivered breaks it. Ours: publications use
many forms; the threshold, the hold and the window of the index belong with every value.

Unit: ns from `start_ns` (the start of the last flow, as a rule).
"""

import numpy as np

from narrows.metrics.statistics.arrays import Values, raw
from narrows.metrics.statistics.columns import ascending

THRESHOLD = 0.95


def time_to_fairness_ns(
    t_ns: Values, jain: Values, hold_ns: int, start_ns: int = 0, threshold: float = THRESHOLD
) -> int | None:
    """Time from start to lasting fairness; None if it was not reached, or not long enough before the end."""
    times, index = raw(t_ns), raw(jain)
    if times.size != index.size:
        raise ValueError(f"{times.size} times but {index.size} values of the index; each window needs both")
    times, index = times[~np.isnan(times)], index[~np.isnan(times)]
    if times.size < 2:
        return None
    ascending(times, "t_ns")
    unfair = np.flatnonzero(~(index >= threshold))  # a missing index is not fair
    first = int(unfair[-1]) + 1 if unfair.size else 0
    if first >= times.size or times[-1] - times[first] < hold_ns:
        return None
    return round(max(0.0, float(times[first]) - start_ns))
