"""L8: CAKE gives CS5 and EF more rate and less delay than BE, and BK less; a FIFO differentiates nothing."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import (
    CCAS,
    CLASSES,
    class_rate_mbps,
    median,
    number,
    tcp_rtt_ms,
    tested,
)
from narrows.studies.verdict import Claim, Number, Verdict, graded, ids, not_measured

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
    numbers: list[Number] = []
    marks: dict[str, bool] = {}
    beside: dict[str, bool] = {}
    used: list[Observed] = []
    for cca in CCAS:
        for home in ("local", "diffserv4", "remote"):
            some = tested(every, "classes", profile="fttc-30-10", cca=cca, home=home)
            rate = {c: median(some, class_rate_mbps(c, "up")) for c in CLASSES}
            rtt = {c: median(some, tcp_rtt_ms(f"test.up-{c}")) for c in CLASSES}
            if None in (*rate.values(), *rtt.values()):
                continue
            used += some
            for c in CLASSES:
                of = f"{cca}, {home}"
                made = (number(f"{c} upload", "Mbit/s", some, class_rate_mbps(c, "up"), of),
                        number(f"{c} RTT", "ms", some, tcp_rtt_ms(f"test.up-{c}"), of))  # fmt: skip
                numbers += [n for n in made if n]
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
    failed = [name for name, mark in {**marks, **beside}.items() if not mark]
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"more is a factor of {MORE:g}. " + (f"Not so: {'; '.join(failed)}" if failed else "All are so"),
        tuple(numbers),
        "FTTC 30/10, uploads",
        ids(used),
        "To CAKE a flow that takes all it can is no voice: Voice is served first up to a quarter of the "
        "rate, and what is above that waits. EF is in Voice, CS5 in best effort (diffserv3) or in Voice too "
        "(diffserv4, where both share that quarter), so neither gets more than best effort.",
    )
