from narrows.judging.parts import Mark, Where, fold
from narrows.studies.local_bottleneck.claims.measures import CLASS_RTT, CLASSES, UPLOAD, AtHome, by_class, on

MORE = 1.1
"""A class that is told apart has a tenth more."""
SPREAD = "highest over lowest RTT of a class"


# What decides is CAKE's default, as in the paper; diffserv4 stands beside it.
FAST: Where = {"class": ("CS5", "EF"), "home": "local"}
SLOW: Where = {"class": "BK", "home": "local"}
BE = {"class": "BE"}
judge = AtHome(
    "L8",
    "RRUL QoS: CAKE gives CS5 and EF more rate and less delay than BE, and BK less; a FIFO differentiates "
    "nothing",
    "Fig. 12, 13",
    "l08_cake_classes.py",
    by=("cca", "home", "class"),
    items=by_class,
    where=on("classes", home=("local", "diffserv4", "remote")),
    measures=(UPLOAD, CLASS_RTT),
    derive=fold(SPREAD, CLASS_RTT.name, ("cca", "home"), len(CLASSES), home="remote"),
    hidden=(SPREAD,),
    whole=("cca", "home"),
    marks=(
        Mark("the FIFO's RTTs are alike", SPREAD, most=MORE, where={"home": "remote"}),
        Mark("more rate than BE", UPLOAD.name, MORE, where=FAST, against=BE),
        Mark("less delay than BE", CLASS_RTT.name, most=1 / MORE, where=FAST, against=BE),
        Mark("less rate than BE", UPLOAD.name, most=1 / MORE, where=SLOW, against=BE),
    ),
    under=f"FTTC 30/10, uploads; more is a factor of {MORE:g}",
)
