"""L11: open in the paper: what a local queue at a fixed rate does when the ISP's rate moves."""

from narrows.judging.parts import Mark, Measure
from narrows.studies.local_bottleneck.claims.measures import DOWN, AtHome, isp_sojourn_ms, on

KEPT_MS = 20.0
AT_HOME = ("local", "half", "autorate")
judge = AtHome(
    "L11",
    "Open: an adaptive shaper when the ISP's rate moves; several users; 5G and satellite",
    "V.E",
    "l11_moving_rate.py",
    by=("profile", "cca", "home"),
    where=on("down", profile=("lte", "leo"), home=("remote", *AT_HOME)),
    measures=(Measure("sojourn at the ISP, p95", "ms", isp_sojourn_ms("down", 95)), DOWN),
    marks=(
        Mark(
            f"the bottleneck stays at home (p95 at the ISP within {KEPT_MS:g} ms)",
            most=KEPT_MS,
            where={"home": AT_HOME},
        ),
    ),
    under="synthetic LTE and low Earth orbit",
)
