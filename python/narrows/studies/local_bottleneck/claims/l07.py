from narrows.judging.parts import Mark
from narrows.studies.local_bottleneck.claims.measures import UPLOADS, AtHome, on

WANTED_MS = {
    ("cubic", "local"): (20.0, 45.0),
    ("bbr", "local"): (20.0, 45.0),
    ("bbr", "remote"): (50.0, 130.0),
    ("cubic", "remote"): (400.0, 900.0),
}
"""The paper's figures with some room."""
judge = AtHome(
    "L7",
    "RRUL best-effort upload RTT on FTTC: about 30 ms local, about 80 ms remote BBR, above 400 ms remote "
    "CUBIC",
    "Fig. 11a",
    "l07_upload_rtt.py",
    by=("cca", "home"),
    where=on("best_effort", flows="4"),
    measures=(UPLOADS,),
    marks=tuple(
        Mark(f"{low:g} to {high:g} ms", least=low, most=high, where={"cca": cca, "home": home})
        for (cca, home), (low, high) in WANTED_MS.items()
    ),
    under="FTTC 30/10, 4 flows each way",
)
