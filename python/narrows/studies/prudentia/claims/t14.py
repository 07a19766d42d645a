from narrows.judging.parts import Mark, Share, percent
from narrows.runs.settled import LATE
from narrows.studies.prudentia.claims.measures import Paired, of_service, of_trials
from narrows.studies.prudentia.testbed import CALLS

RATE = "8Mbit"
MANY, FEW = 0.4, 0.1
MANY_BESIDE = ("cubic", "reno", "batches")
late = of_service(lambda run, item: run.quantity(LATE, item))
judge = Paired(
    "T14",
    "loss-based rivals (and the batched download) push 40 to 92 % of a call's packets over 190 ms; single "
    "BBR rivals nearly none",
    "section 4.3.1, Fig. 4.5",
    "t14_late_packets.py",
    items=lambda runs: of_trials(runs, CALLS),
    where={"rate": RATE},
    measures=(Share("late packets", read=late, where={"beside": (*MANY_BESIDE, "bbr")}),),
    marks=(
        Mark(f"{percent(MANY)} and more are late", least=MANY, where={"beside": MANY_BESIDE}),
        Mark(f"{percent(FEW)} at most", most=FEW, where={"beside": "bbr"}),
    ),
    under="",
)
