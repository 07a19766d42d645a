"""The table's rows of runs of many flows: every quantity of the flow tap per condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from narrows.metrics.statistics.distribution import Distribution, distribution
from narrows.runs.many_flows import ManyFlows
from narrows.runs.observed import Observed

Of = Callable[[ManyFlows], float | None]

QUANTITIES: tuple[tuple[str, str, Of], ...] = (
    ("flows with something in the window", "flows", lambda m: float(m.flows)),
    ("measured after the warm-up", "s", lambda m: m.seconds),
    ("Jain's index of goodputs", "1", lambda m: m.jain),
    ("Mathis C on losses", "1", lambda m: m.mathis_on_losses.c if m.mathis_on_losses else None),
    ("Mathis C on halvings", "1", lambda m: m.mathis_on_halvings.c if m.mathis_on_halvings else None),
    (
        "Mathis error on losses, median of flows", "%",
        lambda m: 100 * m.mathis_on_losses.median_error if m.mathis_on_losses else None,
    ),
    (
        "Mathis error on halvings, median of flows", "%",
        lambda m: 100 * m.mathis_on_halvings.median_error if m.mathis_on_halvings else None,
    ),
    ("losses per halving", "packets", lambda m: m.losses_per_halving.ratio if m.losses_per_halving else None),
    (
        "burstiness of all drops of the queue", "1",
        lambda m: m.drop_burstiness.goh_barabasi if m.drop_burstiness else None,
    ),
    (
        "burstiness of a flow's drops, median of flows", "1",
        lambda m: m.flow_burstiness.goh_barabasi if m.flow_burstiness else None,
    ),
    ("synchronisation of reductions", "1", lambda m: m.synchronisation.index if m.synchronisation else None),
    ("utilisation by goodput", "%", lambda m: None if m.utilisation is None else 100 * m.utilisation),
    (
        "mean occupancy of the queue", "%",
        lambda m: None if m.occupancy_mean is None else 100 * m.occupancy_mean,
    ),
    ("drops in the window", "packets", lambda m: None if m.drops is None else float(m.drops)),
    (
        "time to fairness", "s",
        lambda m: None if m.time_to_fairness_ns is None else m.time_to_fairness_ns / 1e9,
    ),
    (
        "Jain's index: moved over the last part", "%",
        lambda m: 100 * m.jain_settled.moved if m.jain_settled and m.jain_settled.moved is not None else None,
    ),
)  # fmt: skip


def many_flow_rows(same: Sequence[Observed]) -> list[tuple[str, str, str, Distribution]]:
    """Quantity, unit, what n counts, and values; also the share and the index of each CCA."""
    found = [run.many for run in same if run.many is not None]
    made = [(name, unit, distribution([of(many) for many in found])) for name, unit, of in QUANTITIES]
    for cca in sorted({name for many in found for name in many.shares}):
        if any(len(many.shares) > 1 for many in found):
            parts = [100 * many.shares[cca].share for many in found if cca in many.shares]
            made.append((f"share of {cca}", "%", distribution(parts)))
            own = [many.jain_by_cca.get(cca) for many in found]
            made.append((f"Jain's index among {cca}", "1", distribution(own)))
            still = [many.share_settled[cca].moved for many in found if cca in many.share_settled]
            percent = [None if value is None else 100 * value for value in still]
            made.append((f"share of {cca}: moved over the last part", "%", distribution(percent)))
    return [(name, unit, "runs", values) for name, unit, values in made if values.n]
