"""L14: fibre: BBR and CUBIC alike, about twice the local RTT; fixed wireless: up to 275 ms."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import CCAS, median, number, tcp_rtt_ms, tested, yes_or_no
from narrows.judging.verdict import Claim, Number, Verdict, graded, ids, not_measured

ALIKE = 1.3
TWICE = (1.5, 3.0)
WIRELESS_MS = (200.0, 350.0)
FIBRE, WIRELESS = "ftth-200-60", "fwa-30-3"
RTT, HIGHEST = tcp_rtt_ms("test.up-BE"), tcp_rtt_ms("test.up-BE", 99)

CLAIM = Claim(
    "L14",
    "FTTH: no difference between BBR and CUBIC, about twice the local RTT; FWA up to 275 ms",
    "Fig. 11b, 11c",
    "l14_fibre_and_wireless.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """RTTs of RRUL's uploads: fibre's medians, and the highest (p99) of fixed wireless."""
    every = list(runs)
    found: dict[tuple[str, str, str], float] = {}
    numbers: list[Number] = []
    used: list[Observed] = []
    for profile, read, name in ((FIBRE, RTT, "median"), (WIRELESS, HIGHEST, "p99")):
        for cca in CCAS:
            for home in ("remote", "local"):
                some = tested(every, "best_effort", profile=profile, cca=cca, home=home, flows="4")
                value = median(some, read)
                made = number(f"TCP RTT of uploads, {name}", "ms", some, read, f"{profile}, {cca}, {home}")
                if value is not None and made is not None:
                    found[profile, cca, home] = value
                    numbers.append(made)
                    used += some
    if len(found) < 8:
        return not_measured(CLAIM, "no RRUL on fibre and fixed wireless")
    cubic, bbr = found[FIBRE, "cubic", "remote"], found[FIBRE, "bbr", "remote"]
    marks = {"fibre: BBR and CUBIC alike": max(cubic, bbr) <= ALIKE * min(cubic, bbr)}
    for cca in CCAS:
        ratio = found[FIBRE, cca, "remote"] / found[FIBRE, cca, "local"]
        marks[f"fibre, {cca}: twice the local RTT"] = TWICE[0] <= ratio <= TWICE[1]
    highest = max(found[WIRELESS, cca, "remote"] for cca in CCAS)
    marks["wireless: about 275 ms"] = WIRELESS_MS[0] <= highest <= WIRELESS_MS[1]
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        yes_or_no(marks),
        tuple(numbers),
        "FTTH at a fifth of its rates, FWA 30/3",
        ids(used),
    )
