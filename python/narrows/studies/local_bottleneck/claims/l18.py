"""L18: in a FIFO the marked class can even be worst, and remote BBR worse than local BK."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import (
    CLASSES,
    class_rate_mbps,
    median,
    number,
    tcp_rtt_ms,
    tested,
)
from narrows.judging.verdict import Claim, Number, Verdict, graded, ids, not_measured

CLAIM = Claim(
    "L18",
    "In a FIFO the marked class can even be worst, and remote BBR worse than local BK",
    "Fig. 13a, 13c",
    "l18_marked_but_worse.py",
)


def _worst(run: Observed) -> float | None:
    """1 where CS5 has the lowest rate of the four uploads."""
    rates = {c: class_rate_mbps(c, "up")(run) for c in CLASSES}
    if None in rates.values():
        return None
    return float(rates["CS5"] == min(rates.values()))  # type: ignore[type-var]


def judge(runs: Iterable[Observed]) -> Verdict:
    """Does CS5 come last in some repetition, and is the best remote BBR RTT above local BK's?"""
    every = list(runs)
    remote = [r for cca in ("cubic", "bbr")
              for r in tested(every, "classes", profile="fttc-30-10", cca=cca, home="remote")]  # fmt: skip
    bbr = tested(every, "classes", profile="fttc-30-10", cca="bbr", home="remote")
    local = tested(every, "classes", profile="fttc-30-10", cca="bbr", home="local")
    behind = tcp_rtt_ms("test.up-BK")
    best = [median(bbr, tcp_rtt_ms(f"test.up-{c}")) for c in CLASSES]
    background = median(local, behind)
    last = [found for run in remote if (found := _worst(run)) is not None]
    known = [value for value in best if value is not None]
    if not last or background is None or len(known) < len(CLASSES):
        return not_measured(CLAIM, "no RRUL with classes and both bottlenecks")
    made = (
        number("CS5 comes last (1) or not (0)", "1", remote, _worst, "FTTC 30/10, remote"),
        number("BK RTT", "ms", local, behind, "FTTC 30/10, bbr, local"),
        *(
            number(f"{c} RTT", "ms", bbr, tcp_rtt_ms(f"test.up-{c}"), "FTTC 30/10, bbr, remote")
            for c in CLASSES
        ),
    )
    numbers: tuple[Number, ...] = tuple(n for n in made if n)
    marks = [any(last), min(known) > background]
    return Verdict(
        CLAIM,
        graded(marks),
        f"CS5 is last in {sum(last):.0f} of {len(last)} remote runs; remote BBR's RTTs begin at "
        f"{min(known):.0f} ms, local BK's is {background:.0f} ms",
        numbers,
        "FTTC 30/10, uploads",
        ids([*remote, *local]),
    )
