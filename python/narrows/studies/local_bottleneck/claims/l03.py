"""L3: with CUBIC and a remote FIFO, ICMP follows the cubic curve above 100 ms; CoDel keeps the minimum."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import base_ms, icmp_ms, median, number, tested
from narrows.judging.verdict import Claim, Number, Verdict, graded, ids, not_measured

HIGH_MS = 100.0
NEAR_MS = 10.0  # CoDel's target and a few frames of 0.4 ms
SWING = 1.2  # a curve and not a constant: highest over lowest

CLAIM = Claim(
    "L3",
    "Remote FIFO with CUBIC: ICMP follows the cubic curve above 100 ms; local CoDel keeps the minimum",
    "Fig. 6",
    "l03_cubic_curve.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Remote: does ICMP swing, and above 100 ms? Local: does it stay near the base RTT?"""
    both = {h: tested(runs_, "down", profile="fttc-30-10", cca="cubic", home=h)
            for runs_ in [list(runs)] for h in ("remote", "local")}  # fmt: skip
    numbers: list[Number] = []
    for h, some in both.items():
        for percent in (5, 50, 95):
            made = number(
                f"ICMP RTT p{percent}", "ms", some, icmp_ms(percent / 100), f"FTTC 30/10, cubic, {h}"
            )
            numbers += [made] if made else []
    high, low = median(both["remote"], icmp_ms(0.95)), median(both["remote"], icmp_ms(0.05))
    local = median(both["local"], icmp_ms(0.95))
    if high is None or low is None or local is None:
        return not_measured(CLAIM, "no CUBIC downloads with both bottlenecks")
    marks = [high > HIGH_MS, high > SWING * low, local <= base_ms(both["local"][0]) + NEAR_MS]
    return Verdict(
        CLAIM,
        graded(marks),
        f"remote ICMP is from {low:.0f} to {high:.0f} ms (p5, p95), local below {local:.0f} ms (p95); the "
        f"marks are above {HIGH_MS:g} ms, a swing of {SWING:g}, and within {NEAR_MS:g} ms of the base RTT",
        tuple(numbers),
        "FTTC 30/10, CUBIC",
        ids([*both["remote"], *both["local"]]),
    )
