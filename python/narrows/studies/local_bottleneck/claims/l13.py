from narrows.judging.parts import Mark, Measure, Read, figure
from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.measures import BOTH, LOCAL, REMOTE, AtHome, tcp_rtt_ms

ALIKE = 1.2
ITEMS = tuple(f"upload-{n}" for n in range(4))


def spread(reads: list[Read]) -> Read:
    """Highest over lowest of the four uploads."""

    def read(run: Observed) -> float | None:
        known = [value for each in reads if (value := each(run))]
        return max(known) / min(known) if len(known) == len(ITEMS) else None

    return read


RATES = Measure(
    "highest over lowest rate",
    "1",
    spread([figure(item, "bulk_goodput_bps", direction="up") for item in ITEMS]),
)
OF_FIFO = f"the FIFO's RTTs within {ALIKE:g}, and its rates not"
OF_LOCAL = f"the local queue's rates within {ALIKE:g}"
RTTS = Measure("highest over lowest RTT", "1", spread([tcp_rtt_ms(item) for item in ITEMS]))
judge = AtHome(
    "L13",
    "Equal RTTs with unequal rates are the mark of a FIFO",
    "Fig. 11 against Fig. 10",
    "l13_fifo_signature.py",
    by=("cca", "home"),
    where={"test": "uploads", "home": BOTH},
    measures=(RATES, RTTS),
    marks=(
        Mark(OF_FIFO, RTTS.name, most=ALIKE, where=REMOTE),
        Mark(OF_FIFO, RATES.name, ALIKE, strict=True, where=REMOTE),
        Mark(OF_LOCAL, RATES.name, most=ALIKE, where=LOCAL),
        Mark(OF_LOCAL, RTTS.name, where=LOCAL),
    ),
    under="FTTC 30/10",
)
