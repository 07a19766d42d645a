from narrows.judging.parts import Mark, Share, percent
from narrows.studies.whatif.claims.measures import BASELINES, CALLED, METRICS, OURS, WhatIf, ahead, mean

RIGHT = 0.9
CCA = {"change": "cca"}
MEASURES = tuple(
    Share(f"better arm by {CALLED[metric]}, {who}", read=ahead(metric, who), take=mean)
    for metric in METRICS
    for who in BASELINES
    if who != "as before"
)
judge = WhatIf(
    "W4",
    "What-if says which congestion control is better, where that moves goodput or delay by more than 10 %",
    *OURS,
    by=("change",),
    measures=MEASURES,
    marks=tuple(
        Mark(f"in at least {percent(RIGHT)}", of.name, least=RIGHT, where=CCA)
        for of in MEASURES
        if of.name.endswith("whatif")
    ),
    decided_by=CCA,
)
