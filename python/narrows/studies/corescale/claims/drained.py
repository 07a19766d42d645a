"""What BBR did in runs whose queue drained, and in those whose queue stayed full."""

from __future__ import annotations

from collections.abc import Callable

from narrows.metrics.queue.first_drain import DRAINED
from narrows.runs.many_flows import ManyFlows
from narrows.studies.corescale.claims.many import Cases, spread
from narrows.units import NS_PER_S


def by_drain(chosen: Cases, name: str, value_of: Callable[[ManyFlows], float | None]) -> str:
    """A sentence per kind of run; nothing of runs whose queue was never full or not recorded."""
    stayed: list[float] = []
    drained: list[float] = []
    after_s: list[float] = []
    for same in chosen.values():
        for run in same:
            many = run.many
            value = None if many is None else value_of(many)
            if many is None or value is None or many.drain is None or many.drain.full_ns is None:
                continue
            if many.drain.drained_ns is None:
                stayed.append(value)
            else:
                drained.append(value)
                after_s.append((many.drain.drained_ns - many.drain.full_ns) / NS_PER_S)
    told = []
    if stayed:
        told.append(
            f"In {len(stayed)} run(s) the queue, once full, never fell to {DRAINED:.0%} of its limit: {name} "
            f"{spread(stayed)}."
        )
    if drained:
        told.append(
            f"In {len(drained)} run(s) it did, first {spread(after_s)} s after it was full: {name} "
            f"{spread(drained)}."
        )
    return " ".join(told)
