"""Max-min fair allocation of a link, and what share of it a service got.

Definition: with demands d_i on a link of capacity C, the max-min fair rates are min(d_i, f), where f is such
that they add up to C; if all demands together are below C, each gets its demand. A service whose demand is
below an equal part therefore gets its demand, and its rivals share the rest. The share is the service's rate
over its max-min fair rate: 1 is fair, and above 1 it took from others.

Unit: that of the rates; shares have none. Source: D. Bertsekas and R. Gallager, Data Networks, section
6.5.2; the study of services under contention takes the most that a service takes alone as its demand.
"""

from __future__ import annotations

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


def max_min_shares(
    capacity: float, demands: Sequence[float | None], rates: Sequence[float | None]
) -> tuple[float | None, ...]:
    """What share of its fair rate each got; None of all where a demand is unknown, of one whose rate is
    unknown or whose fair rate is zero."""
    if len(demands) != len(rates):
        raise ValueError(f"{len(demands)} demands but {len(rates)} rates")
    known = [demand for demand in demands if demand is not None]
    if len(known) < len(demands):
        return (None,) * len(rates)
    fair = max_min_rates(capacity, known)
    return tuple(
        None if rate is None or not each else rate / each for rate, each in zip(rates, fair, strict=True)
    )
