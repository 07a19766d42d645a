"""T3: many more packets are lost per halving at Core than at Edge, and drops are burstier.

The thesis says "burstiness of losses at the queue" and "median values", not of which train of events. A
median needs many trains, and its argument is about losses of one flow that cost one halving: so the median
over flows of each one's own drops is judged, and the index of all drops of the queue is told beside it.
"""

from __future__ import annotations

from collections.abc import Iterable

from narrows.judging.verdict import Claim, Verdict, not_measured
from narrows.runs.observed import Observed
from narrows.studies.corescale.claims.many import (
    by_scale,
    cases,
    medians,
    of_scale,
    scaled_verdict,
)

EDGE_RATIO = (1.2, 2.2)  # "about 1.7"
CORE_RATIO = (6.0, 9.0)
EDGE_BURSTINESS = (0.1, 0.3)  # "close to 0.2"
CORE_BURSTINESS = (0.25, 0.45)  # "closer to 0.35"

CLAIM = Claim(
    "T3",
    "Losses per halving about 1.7 at Edge, 6 to 9 at Core; Goh–Barabási burstiness of losses about 0.2 and "
    "0.35",
    "Figure 3.3",
    "t03_losses_per_halving.py",
    {"quantity": ("losses per halving", "burstiness of a flow's drops, median of flows")},
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Ratio and burstiness of each condition against the thesis' ranges."""
    chosen = cases(runs, lambda case: case.ccas == ("reno",))
    ratio = medians(
        "losses per halving",
        "packets",
        chosen,
        lambda m: m.losses_per_halving.ratio if m.losses_per_halving else None,
    )
    bursts = medians(
        "burstiness of a flow's drops, median of flows",
        "1",
        chosen,
        lambda m: m.flow_burstiness.goh_barabasi if m.flow_burstiness else None,
    )
    queue = medians(
        "burstiness of all drops of the queue",
        "1",
        chosen,
        lambda m: m.drop_burstiness.goh_barabasi if m.drop_burstiness else None,
    )
    if not ratio:
        return not_measured(CLAIM, "no condition of NewReno flows with drops and halvings")
    parts: list[bool] = []
    for numbers, edge, core in ((ratio, EDGE_RATIO, CORE_RATIO), (bursts, EDGE_BURSTINESS, CORE_BURSTINESS)):
        for scale, (low, high) in (("edge", edge), ("core", core)):
            parts += [low <= value <= high for value in of_scale(numbers, scale)]
    told = {
        "losses per halving": ratio,
        "burstiness of a flow's drops": bursts,
        "of all drops of the queue": queue,
    }
    return scaled_verdict(
        CLAIM,
        chosen,
        parts,
        "; ".join(by_scale(chosen, told)),
        (*ratio.values(), *bursts.values(), *queue.values()),
    )
