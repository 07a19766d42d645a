from narrows.judging.parts import Mark, Measure
from narrows.studies.local_bottleneck.claims.measures import AtHome, on, tcp_rtt_ms

FACTORS = {"bbr": (1.5, 3.0), "cubic": (5.0, 20.0)}
judge = AtHome(
    "L4",
    "Bulk upload: TCP RTT halves with BBR, falls by almost an order of magnitude with CUBIC",
    "Fig. 7b",
    "l04_bulk_upload.py",
    by=("cca", "home"),
    where=on("up"),
    measures=(Measure("median TCP RTT", "ms", tcp_rtt_ms("load")),),
    marks=tuple(
        Mark(
            f"{cca}: remote over local from {low:g} to {high:g}", least=low, most=high,
            where={"cca": cca, "home": "remote"}, against={"home": "local"},
        )
        for cca, (low, high) in FACTORS.items()
    ),
    under="FTTC 30/10",
)  # fmt: skip
