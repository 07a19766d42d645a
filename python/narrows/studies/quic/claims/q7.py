from narrows.judging.parts import Mark
from narrows.studies.quic.claims.measures import BESIDE, SHARES, OfShares
from narrows.studies.quic.testbed import STACKS

CUBIC = tuple(stack for stack in STACKS if stack.endswith("_cubic"))

judge = OfShares(
    "Q7",
    "A QUIC stack's CUBIC shares a queue with the kernel's CUBIC as equals",
    "What the name of a congestion control takes for granted",
    SHARES,
    where=BESIDE | {"queue": ("fifo_1bdp", "fifo_4bdp", "codel")},
    decided_by={"stack": CUBIC, "beside": "cubic"},
    marks=(
        Mark("80 to 125 % of its fair rate", least=0.8, most=1.25, where={"stack": CUBIC, "beside": "cubic"}),
    ),
)
