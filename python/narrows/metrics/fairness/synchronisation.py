"""Synchronisation: whether flows reduce their windows together.

Definition: time is cut into windows of about one round-trip time. `together` is the chance that another
flow, drawn at random, reduces in the window in which a flow reduces:

    together = sum over windows of m (m - 1)  /  ((N-1) x sum over windows of m)

m the number of different flows that reduce in the window, N the number of all flows. `by_chance` is what it
would be if every flow reduced as often as it did, but independently: sum over pairs i, j of q_i q_j W /
((N-1) sum m), q a flow's share of windows with a reduction, W the number of windows. index = (together -
by_chance) / (1 - by_chance): 0 for independent flows, 1 for all together, below 0 where flows avoid each
other. Without the correction many flows that halve often look synchronised.

Ours; the quantity is that of work on TCP loss synchronisation, which has no common formula. Reductions that
an edge between windows parts are counted as apart: with a window w and reductions within d of each other,
up to d / w of them.

Unit: none (share of 1); times in ns.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from narrows.metrics.statistics.arrays import Values
from narrows.metrics.statistics.columns import aligned


@dataclass(frozen=True)
class Synchronisation:
    """Chance that another flow reduces too, what it would be by chance, and the corrected index."""

    together: float
    by_chance: float
    index: float | None  # None where by_chance is 1: every flow reduces in every window
    flows: int
    windows: int


def synchronisation(
    reduction_ns: Values, flow: Values, flows: int, window_ns: int, start_ns: int, stop_ns: int
) -> Synchronisation | None:
    """Takes reductions (time, number of the flow) in [start, stop) among `flows` flows; None without two."""
    if window_ns <= 0:
        raise ValueError(f"window {window_ns} ns: it must be above zero")
    times, which = aligned(reduction_ns=reduction_ns, flow=flow)
    windows = (stop_ns - start_ns) // window_ns
    inside = (times >= start_ns) & (times < start_ns + windows * window_ns)
    if flows < 2 or windows < 2 or np.count_nonzero(inside) < 2:
        return None
    which = which[inside]
    names = np.sort(pl.Series(which).unique().to_numpy())
    number = np.searchsorted(names, which)
    if names.size > flows:
        raise ValueError(f"{names.size} flows reduce but flows={flows}")
    window = ((times[inside] - start_ns) // window_ns).astype(np.int64)
    both = pl.Series(window * names.size + number).unique().to_numpy()  # a flow counts once per window
    m = np.bincount(both // names.size, minlength=int(windows)).astype(np.float64)
    q = np.bincount(both % names.size, minlength=names.size) / float(windows)
    others = (flows - 1) * float(m.sum())
    together = float(np.sum(m * (m - 1.0))) / others
    by_chance = float(q.sum() ** 2 - np.sum(q * q)) * float(windows) / others
    index = (together - by_chance) / (1.0 - by_chance) if by_chance < 1.0 else None
    return Synchronisation(together, by_chance, index, flows, int(windows))
