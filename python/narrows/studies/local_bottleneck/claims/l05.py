"""L5: CUBIC's window fills the remote FIFO; BBR's does not, and drains ten seconds after its start in both.

The window is read from what it makes: how long packets stand in the queue that is the bottleneck.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import median, number, tested, yes_or_no
from narrows.judging.verdict import Claim, Number, Verdict, graded, ids, not_measured

FULL_MS = 0.9 * 400  # 500 KB at 10 Mbit/s are 400 ms
FAR_MS = 0.5 * 400
DRAINED = 0.2  # of its own median

CLAIM = Claim(
    "L5",
    "CUBIC's window grows unbounded in the remote FIFO; BBR's does not, and drains 10 s after start in both",
    "Fig. 8a",
    "l05_windows.py",
)


def _stood(name: str, place: str) -> Callable[[Observed], float | None]:
    return lambda run: run.quantity(name, f"{place} up")


def judge(runs: Iterable[Observed]) -> Verdict:
    """The remote queue's height with each CCA, and BBR's lowest queue about ten seconds after its start."""
    every = list(runs)
    cases = {
        ("cubic", "remote"): "isp",
        ("bbr", "remote"): "isp",
        ("bbr", "local"): "home",
    }
    numbers: list[Number] = []
    used: list[Observed] = []
    found: dict[tuple[str, str], tuple[float, float, float]] = {}
    for (cca, home), place in cases.items():
        some = tested(every, "up", profile="fttc-30-10", cca=cca, home=home)
        reads = [_stood(name, place) for name in ("standing_p95_ms", "standing_p50_ms", "drained_ms")]
        three = [median(some, read) for read in reads]
        if None in three:
            continue
        found[cca, home] = (three[0], three[1], three[2])  # type: ignore[assignment]
        used += some
        names = ("sojourn p95", "sojourn p50", "least sojourn about 10 s after the start")
        for name, read in zip(names, reads, strict=True):
            made = number(name, "ms", some, read, f"FTTC 30/10 up, {cca}, {home}")
            numbers += [made] if made else []
    if len(found) < len(cases):
        return not_measured(CLAIM, "no uploads with both CCAs and bottlenecks")
    marks = {
        "CUBIC fills the remote FIFO": found["cubic", "remote"][0] >= FULL_MS,
        "BBR does not": found["bbr", "remote"][0] <= FAR_MS,
        "BBR drains remotely": found["bbr", "remote"][2] <= DRAINED * found["bbr", "remote"][1],
        "BBR drains locally": found["bbr", "local"][2] <= DRAINED * found["bbr", "local"][1],
    }
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        yes_or_no(marks),
        tuple(numbers),
        "FTTC 30/10, upload",
        ids(used),
    )
