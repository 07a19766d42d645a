"""L8: CAKE gives CS5 and EF more rate and less delay than BE, and BK less; a FIFO differentiates nothing."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import (
    CCAS,
    CLASSES,
    Evidence,
    class_rate_mbps,
    median,
    not_so,
    number,
    tcp_rtt_ms,
    tested,
)
from narrows.judging.verdict import Claim, Verdict, not_measured

MORE = 1.1
"""A class that is told apart has a tenth more."""

CLAIM = Claim(
    "L8",
    "RRUL QoS: CAKE gives CS5 and EF more rate and less delay than BE, and BK less; a FIFO differentiates "
    "nothing",
    "Fig. 12, 13",
    "l08_cake_classes.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Rates and RTTs of the uploads by class. What decides is CAKE's default, as in the paper."""
    every = list(runs)
    evidence = Evidence()
    marks = evidence.marks
    beside: dict[str, bool] = {}
    for cca in CCAS:
        for home in ("local", "diffserv4", "remote"):
            some = tested(every, "classes", profile="fttc-30-10", cca=cca, home=home)
            rate = {c: median(some, class_rate_mbps(c, "up")) for c in CLASSES}
            rtt = {c: median(some, tcp_rtt_ms(f"test.up-{c}")) for c in CLASSES}
            if None in (*rate.values(), *rtt.values()):
                continue
            for c in CLASSES:
                of = f"{cca}, {home}"
                evidence.add(
                    some,
                    number(f"{c} upload", "Mbit/s", some, class_rate_mbps(c, "up"), of),
                    number(f"{c} RTT", "ms", some, tcp_rtt_ms(f"test.up-{c}"), of),
                )
            if home == "remote":
                ratio = max(rtt.values()) / min(rtt.values())  # type: ignore[operator,type-var]
                marks[f"{cca}: the FIFO's RTTs are alike"] = ratio <= MORE
                continue
            into = marks if home == "local" else beside
            for c in ("CS5", "EF"):
                into[f"{cca}, {home}: {c} more rate than BE"] = rate[c] >= MORE * rate["BE"]  # type: ignore[operator]
                into[f"{cca}, {home}: {c} less delay than BE"] = rtt[c] * MORE <= rtt["BE"]  # type: ignore[operator]
            into[f"{cca}, {home}: BK less rate than BE"] = rate["BK"] * MORE <= rate["BE"]  # type: ignore[operator]
    if not marks:
        return not_measured(CLAIM, "no RRUL with classes")
    return evidence.verdict(
        CLAIM,
        f"more is a factor of {MORE:g}. " + not_so({**marks, **beside}),
        "FTTC 30/10, uploads",
    )
