from narrows.judging.parts import Judge, Mark, Share, figure, over
from narrows.runs.observed import Observed
from narrows.studies.quic.claims.measures import SHARES

AQM = {"queue": ("codel", "fq_codel", "cake")}
judge = Judge(
    "Q9",
    "An AQM leaves a flow that is alone its link",
    "Nichols and Jacobson, Controlling Queue Delay (2012): no negative impact on utilization",
    SHARES,
    by=("link", "queue", "stack"),
    where={"beside": "nothing"},
    measures=(
        Share(
            "goodput over the rate",
            read=over(figure("mine", "quic_goodput_bps", "quic_tap_bps"), Observed.rate_bps),
        ),
    ),
    marks=(
        Mark("90 % of that behind a FIFO of 1 BDP", least=0.9, where=AQM, against={"queue": "fifo_1bdp"}),
    ),
    decided_by=AQM,
    under="15 s with a start in them",
)
