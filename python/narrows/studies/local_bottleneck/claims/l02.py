from narrows.judging.parts import Mark, percent
from narrows.studies.local_bottleneck.claims.measures import FILLED, AtHome, on

FULL = 0.90
judge = AtHome(
    "L2",
    "Satellite: BBR outperforms CUBIC in throughput; locally CUBIC does not fill the link",
    "Fig. 5b",
    "l02_satellite.py",
    by=("profile", "cca", "home"),
    where=on("down", profile=("geo", "leo")),
    measures=(FILLED,),
    whole=("profile",),
    marks=(
        Mark(
            "BBR is ahead remotely", least=1, strict=True, where={"cca": "bbr", "home": "remote"},
            against={"cca": "cubic"},
        ),
        Mark(
            f"CUBIC fills less than {percent(FULL)} locally", most=FULL, strict=True,
            where={"cca": "cubic", "home": "local"},
        ),
    ),
)  # fmt: skip
