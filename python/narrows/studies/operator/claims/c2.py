from narrows.judging.parts import Judge, Mark, Measure, percent
from narrows.studies.operator.claims.measures import READING, SETTLING_S, loaded_rtt_ms, sojourn_ms

BEFORE_MS = (40, 60)  # "about 50 ms"
AFTER_MS = (20, 30)  # "about 25 ms"
MAX_RATIO = 0.6  # "halves"
LIKE_THEIRS, AQM = {"queue": "fifo_35ms"}, {"queue": "docsis_pie"}
RTT = Measure("loaded RTT of the probe, median", "ms", loaded_rtt_ms("probe", "test.down"))
judge = Judge(
    "C2",
    "DOCSIS-PIE halves classic loaded latency, about 50 ms to about 25 ms",
    "slide 8",
    "c2_docsis_pie.py",
    by=("rate", "queue"),
    measures=(
        RTT,
        Measure("loaded RTT of the probe, p99", "ms", loaded_rtt_ms("probe", "test.down", 99)),
        Measure("sojourn of the test's packets, median", "ms", sojourn_ms("test.down")),
        READING,
    ),
    whole=("rate",),
    marks=(
        Mark("{} to {} ms before".format(*BEFORE_MS), RTT.name, *BEFORE_MS, where=LIKE_THEIRS),
        Mark("{} to {} ms after".format(*AFTER_MS), RTT.name, *AFTER_MS, where=AQM),
        Mark(
            f"{percent(MAX_RATIO)} at most of that before", RTT.name, most=MAX_RATIO, where=AQM,
            against=LIKE_THEIRS,
        ),
    ),
    under=f"base RTT 15 ms, 4 connections, {SETTLING_S:g} s of ramp left out",
    decided_by={"quantity": RTT.name, "queue": ("fifo_35ms", "docsis_pie")},
)  # fmt: skip
