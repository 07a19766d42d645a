from dataclasses import replace

from narrows.judging.parts import Mark
from narrows.studies.local_bottleneck.claims.measures import CLASS_RTT, UPLOAD, AtHome, by_class

MORE = 1.5
WANTED_MS = {"bbr": (50.0, 150.0), "cubic": (100.0, 400.0)}
# pfifo_fast decides; strict priority stands beside it.
DECIDES = {"isp": "pfifo_fast", "class": "CS5"}
judge = AtHome(
    "L9",
    "An ISP with pfifo_fast: CS5 gets more, yet its RTT is still about 100 ms with BBR and 200 ms with CUBIC",
    "Fig. 14",
    "l09_isp_priority.py",
    by=("isp", "cca", "class"),
    items=lambda runs: (item for item in by_class(runs) if item.of[0].link.home.up is None),
    where={"isp": ("pfifo_fast", "prio_cs5"), "class": ("CS5", "BE")},
    measures=(UPLOAD, replace(CLASS_RTT, where={"class": "CS5"})),
    whole=("cca",),
    marks=(
        Mark(f"{MORE:g} times as much as BE", UPLOAD.name, MORE, where=DECIDES, against={"class": "BE"}),
        *(
            Mark(f"RTT {low:g} to {high:g} ms", CLASS_RTT.name, low, high, where={**DECIDES, "cca": cca})
            for cca, (low, high) in WANTED_MS.items()
        ),
    ),
    under="FTTC 30/10, uploads, no local queue",
)
