"""Burstiness of events, such as the drops at a queue, by the times between them.

Definition: with m and s the mean and the standard deviation of the times between consecutive events,

    B = (s - m) / (s + m)                                                  Goh and Barabási 2008
    A = (sqrt(n+1) r - sqrt(n-1)) / ((sqrt(n+1) - 2) r + sqrt(n-1))        Kim and Jo 2016, r = s / m

n the number of the times between events. -1 is perfectly regular, 0 as random as a Poisson process, 1 all
in one burst. B cannot exceed (sqrt(n-1) - 1) / (sqrt(n-1) + 1) and is biased towards regular for few
events; A corrects for that, so short runs can be compared with long ones. s is the population's standard
deviation (that maximum, and A, follow from it).

Drops at the same instant have a time of 0 between them and count as what they are: a burst.

Of many flows there are two trains of events, and their indices differ by far: all drops of a queue
(`burstiness`), and each flow's own drops (`burstiness_of_flows`, the median over flows). Where many flows
lose in one overflow, the first is near 1; the second says whether one flow's losses come together.

Unit: none, -1 to 1. Source: K.-I. Goh and A.-L. Barabási, EPL 81, 48002 (2008); E.-K. Kim and H.-H. Jo,
Phys. Rev. E 94, 032311 (2016).
"""

from dataclasses import dataclass

import numpy as np

from narrows.metrics.statistics.arrays import Values
from narrows.metrics.statistics.columns import aligned, ascending, sample


@dataclass(frozen=True)
class Burstiness:
    """B, A and the number of times between events."""

    goh_barabasi: float
    kim_jo: float
    intervals: int


def burstiness(event_ns: Values) -> Burstiness | None:
    """Takes ascending times of events; None with fewer than three, or when all are at one instant."""
    times = sample(event_ns, at_least=3)
    if times is None:
        return None
    gaps = np.diff(ascending(times, "event_ns"))
    mean, spread = float(np.mean(gaps)), float(np.std(gaps))
    if mean == 0.0:
        return None
    n, r = int(gaps.size), spread / mean
    most = float(np.sqrt(n - 1))
    finite = (np.sqrt(n + 1) * r - most) / ((np.sqrt(n + 1) - 2.0) * r + most)
    return Burstiness((spread - mean) / (spread + mean), float(finite), n)


@dataclass(frozen=True)
class FlowBurstiness:
    """Medians over the flows, the quartiles of B, the flows with an index and those with too few events."""

    goh_barabasi: float
    kim_jo: float
    lower_quartile: float
    upper_quartile: float
    flows: int
    left_out: int


def burstiness_of_flows(event_ns: Values, flow: Values, flows: int) -> FlowBurstiness | None:
    """The same for each flow's own events; None where no flow has three. `flow` numbers each event's flow,
    `flows` how many flows there are, those without an event too."""
    times, owner = aligned(event_ns=event_ns, flow=flow)
    order = np.lexsort((times, owner))
    times, owner = times[order], owner[order]
    found = []
    for own in np.split(times, np.flatnonzero(np.diff(owner)) + 1):
        one = burstiness(own)
        if one is not None:
            found.append((one.goh_barabasi, one.kim_jo))
    if not found:
        return None
    index, finite = np.array(found).T
    low, middle, high = np.quantile(index, (0.25, 0.5, 0.75))
    return FlowBurstiness(
        float(middle), float(np.median(finite)), float(low), float(high), len(found), flows - len(found)
    )
