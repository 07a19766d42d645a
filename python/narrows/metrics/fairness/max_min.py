"""Max-min fair allocation of a link.

Definition: with demands d_i on a link of capacity C, the max-min fair rates are min(d_i, f), where f is such
that they add up to C; if all demands together are below C, each gets its demand. A service whose demand is
below an equal part therefore gets its demand, and its rivals share the rest.

Unit: that of the rates. Source: D. Bertsekas and R. Gallager, Data Networks, section
6.5.2; the study of services under contention takes the most that a service takes alone as its demand.
"""

import math
from collections.abc import Sequence


def max_min_rates(capacity: float, demands: Sequence[float]) -> tuple[float, ...]:
    """The fair rate of each; ValueError if the capacity is not above zero or a demand is below."""
    if not 0 < capacity < math.inf:
        raise ValueError(f"capacity {capacity}: it must be above zero")
    if any(not demand >= 0 for demand in demands):
        raise ValueError(f"demands {list(demands)}: none may be below zero or missing")
    left, waiting = capacity, sorted(range(len(demands)), key=lambda n: demands[n])
    rates = [0.0] * len(demands)
    while waiting:
        equal = left / len(waiting)
        least = waiting.pop(0)
        rates[least] = min(demands[least], equal)
        left -= rates[least]
    return tuple(rates)
