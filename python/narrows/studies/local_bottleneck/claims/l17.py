"""L17: CAKE's shaper has no initial burst, and can be given another rate without losing packets."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.local_bottleneck.claims.parts import median, number
from narrows.judging.verdict import Claim, Verdict, graded, ids, not_measured

NO_BURST = 1.15  # over the rate, in the fullest 10 ms: a packet more is 6 % of them at 20 Mbit/s
CLAIM = Claim(
    "L17",
    "CAKE has no initial burst and can be given another rate without losing packets",
    "section III",
    "l17_shaper.py",
)


def _burst(run: Observed) -> float | None:
    most = run.quantity("largest_10ms_bps", "bottleneck down")
    return None if most is None else most / run.rate_bps("down")


def _lost(run: Observed) -> float | None:
    return run.quantity("dropped_at_changes", "bottleneck down")


def judge(runs: Iterable[Observed]) -> Verdict:
    """The fullest 10 ms over the rate, and the drops within 20 ms of a change; a token bucket beside it."""
    found = {
        name: [r for r in runs if r.ok and r.experiment == "l17_shaper" and r.key.get("shaper") == name]
        for name in ("cake", "tbf")
    }
    numbers = [
        made
        for name, some in found.items()
        for what, unit, read in (
            ("fullest 10 ms over the rate", "1", _burst),
            ("dropped within 20 ms of a change", "packets", _lost),
        )
        if (made := number(what, unit, some, read, name)) is not None
    ]  # fmt: skip
    burst, lost = median(found["cake"], _burst), median(found["cake"], _lost)
    if burst is None or lost is None:
        return not_measured(CLAIM, "CAKE's rate was not changed under load")
    marks = {
        f"fullest 10 ms {burst:.2f} times the rate": burst <= NO_BURST,
        f"{lost:g} packets dropped": lost == 0,
    }
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"CAKE: {'; '.join(marks)} within 20 ms of a change to half of the rate and back",
        tuple(numbers),
        "20, 10 and 20 Mbit/s, 30 ms, one CUBIC flow",
        ids([run for some in found.values() for run in some]),
    )
