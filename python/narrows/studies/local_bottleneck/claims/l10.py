from collections.abc import Iterator

from narrows.judging.parts import Mark, Measure, Number, Numbers, one, over
from narrows.studies.local_bottleneck.claims.measures import APART, AtHome, apart, class_rate_mbps, icmp_ms

AQM_BELOW_MS = 100.0
FAIR_WITHIN = 1.5
CLASS_AHEAD = 1.5
TRUTH: dict[str, tuple[bool, bool, bool]] = {
    "fifo": (False, False, False),
    "head_drop": (False, False, False),
    "pfifo_fast": (False, False, False),  # to RRUL's code points: see L9
    "prio_cs5": (False, False, True),
    "codel": (True, False, False),
    "pie": (True, False, False),
    "fq_codel": (True, True, False),
    "cake": (True, True, True),
}
"""AQM, packet scheduling, QoS: what each discipline does."""
PLAIN, MARKED = {"test": "best_effort"}, {"test": "classes"}
ICMP = Measure("ICMP RTT", "ms", icmp_ms(), PLAIN)
SPREAD = Measure(APART.name, "1", apart, PLAIN)
AHEAD = Measure("CS5 over BE, upload", "1", over(class_rate_mbps("CS5"), class_rate_mbps("BE")), MARKED)
RULES = (
    Mark("AQM", ICMP.name, most=AQM_BELOW_MS, strict=True),
    Mark("packet scheduling", SPREAD.name, most=FAIR_WITHIN),
    Mark("QoS", AHEAD.name, CLASS_AHEAD),
)
"""The paper's rules as numbers: ICMP below 100 ms is AQM, equal downloads scheduling, CS5 ahead QoS."""
SEEN = "seen"


def seen(found: Numbers) -> Iterator[Number]:
    """What each rule says of each discipline: 1 is yes, 0 no; nothing of one that lacks a test."""
    for isp in TRUTH:
        known = [(rule, one(found, rule.of, isp=isp)) for rule in RULES]
        for rule, number in known:
            if number is not None and all(other is not None for _, other in known):
                said = float(rule.passes(number, number))
                yield Number(SEEN, "1", said, number.n, {"isp": isp, "rule": rule.words})


judge = AtHome(
    "L10",
    "From such tests one can tell AQM, packet scheduling, QoS and the discipline of a remote bottleneck",
    "Table II",
    "l10_disciplines.py",
    by=("isp", "test"),
    where={"isp": tuple(TRUTH), "cca": "cubic", "test": ("best_effort", "classes")},
    measures=(ICMP, SPREAD, AHEAD),
    derive=seen,
    hidden=(SEEN,),
    marks=tuple(
        Mark("right answers", SEEN, float(is_so), float(is_so), {"isp": isp, "rule": rule.words})
        for isp, truth in TRUTH.items()
        for rule, is_so in zip(RULES, truth, strict=True)
    ),
    under="FTTC 30/10, CUBIC; the answers leave the discipline open: those of CoDel and of PIE are the same",
)
