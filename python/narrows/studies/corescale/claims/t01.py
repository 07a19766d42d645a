"""T1: the Mathis constant depends on scale and flow count on losses, and not on halvings.

The thesis does not say how the RTT of a flow was taken. That moves both constants by one factor and so leaves
the verdict alone; the cause says what the RTT of a full queue would give.
"""

from __future__ import annotations

from collections.abc import Iterable

from narrows.judging.verdict import Claim, Verdict, not_measured
from narrows.metrics.fairness.mathis_choices import FULL_QUEUE
from narrows.runs.many_flows import ManyFlows
from narrows.runs.observed import Observed
from narrows.studies.corescale.claims.many import (
    Cases,
    by_scale,
    cases,
    medians,
    of_scale,
    scaled_verdict,
    spread,
)

MIN_RATIO_ON_LOSSES = 1.3  # largest over smallest C of the conditions; the thesis': 3.95 / 1.78 = 2.2
MAX_RATIO_ON_HALVINGS = 1.2  # the thesis': 1.47 / 1.34 = 1.1
MIN_FLOWS = 10  # fitted to fewer, C says little

CLAIM = Claim(
    "T1",
    "Mathis C fitted on packet loss depends on flow count and setting (Edge 1.78; Core 3.95, 3.64, 3.24 at "
    "1000, 3000, 5000); on window halvings it does not (1.47; 1.36, 1.36, 1.34)",
    "Table 3.1",
    "t01_mathis_constant.py",
    {"quantity": ("C on losses", "C on halvings")},
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Largest over smallest constant of all conditions, on losses and on halvings."""
    chosen = cases(runs, lambda case: case.ccas == ("reno",) and case.flows >= MIN_FLOWS)
    losses = medians(
        "C on losses", "1", chosen, lambda m: m.mathis_on_losses.c if m.mathis_on_losses else None
    )
    halvings = medians(
        "C on halvings", "1", chosen, lambda m: m.mathis_on_halvings.c if m.mathis_on_halvings else None
    )
    if len(losses) < 2 or len(halvings) < 2:
        return not_measured(CLAIM, f"fewer than two conditions of {MIN_FLOWS} or more NewReno flows")
    on_losses = [number.value for number in losses.values()]
    on_halvings = [number.value for number in halvings.values()]
    parts = (
        max(on_losses) / min(on_losses) >= MIN_RATIO_ON_LOSSES,
        max(on_halvings) / min(on_halvings) <= MAX_RATIO_ON_HALVINGS,
    )
    scales = by_scale(chosen, {"on losses": losses, "on halvings": halvings})
    reason = (
        f"{'; '.join(scales)}. Largest over smallest: on losses "
        f"{max(on_losses) / min(on_losses):.2f} (claimed: it varies; mark {MIN_RATIO_ON_LOSSES:g}), "
        f"on halvings {max(on_halvings) / min(on_halvings):.2f} (claimed: it does not; mark "
        f"{MAX_RATIO_ON_HALVINGS:g})"
    )
    return scaled_verdict(
        CLAIM, chosen, parts, reason, (*losses.values(), *halvings.values()), _cause(chosen)
    )


def _full_queue(many: ManyFlows, on: str) -> float | None:
    full_queue: dict[str, float | None] = {one.name: getattr(one, on) for one in many.mathis_choices}
    return full_queue.get(FULL_QUEUE)


def _cause(chosen: Cases) -> str:
    """What another reading of "RTT" gives, per scale; empty where a run cannot tell."""
    cause = []
    for scale in dict.fromkeys(case.scale for case in chosen):
        both = [
            of_scale(medians("", "1", chosen, lambda m, on=on: _full_queue(m, on)), scale)  # type: ignore[misc]
            for on in ("on_losses", "on_halvings")
        ]
        if all(both):
            cause.append(f"{scale} {spread(both[0])} on losses, {spread(both[1])} on halvings")
    if not cause:
        return ""
    return (
        f"With the RTT of a full queue (base + limit / rate) in place of the mean: {'; '.join(cause)}. "
        "A choice of RTT, throughput or packet size moves both constants by one factor."
    )
