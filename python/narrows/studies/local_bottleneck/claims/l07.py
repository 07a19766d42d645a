"""L7: uploads of RRUL best effort on FTTC: about 30 ms local, about 80 ms remote BBR, above 400 ms CUBIC."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import CCAS, median, number, tcp_rtt_ms, tested
from narrows.judging.verdict import Claim, Number, Verdict, graded, ids, not_measured

RTT = tcp_rtt_ms("test.up-BE")
WANTED = {
    ("cubic", "local"): (20.0, 45.0),
    ("bbr", "local"): (20.0, 45.0),
    ("bbr", "remote"): (50.0, 130.0),
    ("cubic", "remote"): (400.0, 900.0),
}

CLAIM = Claim(
    "L7",
    "RRUL best-effort upload RTT on FTTC: about 30 ms local, about 80 ms remote BBR, above 400 ms remote "
    "CUBIC",
    "Fig. 11a",
    "l07_upload_rtt.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """The uploads' median RTT of each CCA and bottleneck, against the paper's figures with some room."""
    every = list(runs)
    numbers: list[Number] = []
    marks: list[bool] = []
    told: list[str] = []
    used: list[Observed] = []
    for cca in CCAS:
        for home in ("local", "remote"):
            some = tested(every, "best_effort", profile="fttc-30-10", cca=cca, flows="4", home=home)
            found = median(some, RTT)
            made = number("median TCP RTT of uploads", "ms", some, RTT, f"FTTC 30/10, {cca}, {home}")
            if found is None or made is None:
                continue
            low, high = WANTED[cca, home]
            marks.append(low <= found <= high)
            told.append(f"{cca} {home}: {found:.0f} ms ({low:g} to {high:g} are marks)")
            numbers.append(made)
            used += some
    if not marks:
        return not_measured(CLAIM, "no RRUL on FTTC")
    return Verdict(
        CLAIM, graded(marks), "; ".join(told), tuple(numbers), "FTTC 30/10, 4 flows each way", ids(used)
    )
