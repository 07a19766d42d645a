"""T3: many more packets are lost per halving at Core than at Edge, and drops are burstier.

The thesis says "burstiness of losses at the queue" and "median values", not of which train of events. A
median needs many trains, and its argument is about losses of one flow that cost one halving: so the median
over flows of each one's own drops is judged, and the index of all drops of the queue is told beside it.
"""

from narrows.judging.parts import Mark, Measure
from narrows.studies.corescale.claims.measures import Flows, conditions, of_flows

RATIO = Measure("losses per halving", "packets", of_flows("losses_per_halving", "ratio"))
BURSTS = Measure(
    "burstiness of a flow's drops, median of flows", "1", of_flows("flow_burstiness", "goh_barabasi")
)
OF_QUEUE = Measure("burstiness of all drops of the queue", "1", of_flows("drop_burstiness", "goh_barabasi"))
WANTED = (
    (RATIO, "edge", 1.2, 2.2),  # "about 1.7"
    (RATIO, "core", 6.0, 9.0),
    (BURSTS, "edge", 0.1, 0.3),  # "close to 0.2"
    (BURSTS, "core", 0.25, 0.45),  # "closer to 0.35"
)
judge = Flows(
    "T3",
    "Losses per halving about 1.7 at Edge, 6 to 9 at Core; Goh–Barabási burstiness of losses about 0.2 and "
    "0.35",
    "Figure 3.3",
    "t01_mathis_constant.py",
    items=conditions(lambda case: case.ccas == ("reno",)),
    measures=(RATIO, BURSTS, OF_QUEUE),
    marks=tuple(
        Mark(f"{of.name} at {scale} {low:g} to {high:g}", of.name, low, high, where={"scale": scale})
        for of, scale, low, high in WANTED
    ),
    decided_by={"quantity": (RATIO.name, BURSTS.name)},
)
