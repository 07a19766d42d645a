"""T15: layered control loops make outcomes hard to predict."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.prudentia.claims.parts import lengths, number, numbers, pair, pairs, used
from narrows.judging.verdict import Claim, Verdict, graded, not_measured

RATE = "8Mbit"
HALVED = 0.6
"""Of what the video gets beside a loss-based flow, at most."""

CLAIM = Claim(
    "T15",
    "layered control loops make outcomes hard to predict: a call of at most 2.6 Mbit/s halves a video's rate "
    "at 8 Mbit/s (2.5 Mbit/s, half of what it gets beside NewReno and CUBIC)",
    "section 4.3.2",
    "t15_call_and_video.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """The video's rate beside the call and beside one loss-based flow."""
    here = pairs(runs, RATE)
    rates = {}
    for rival in ("call_2600k", "reno", "cubic"):
        found = pair(here, "hls", rival)
        if found is not None and found[0].rate_mbps is not None:
            rates[rival] = found[0].rate_mbps
    if "call_2600k" not in rates or len(rates) < 2:
        return not_measured(CLAIM, "the video did not meet the call and a loss-based flow at 8 Mbit/s")
    marks = {
        name: rates["call_2600k"] <= HALVED * rate for name, rate in rates.items() if name != "call_2600k"
    }
    made = [
        number(f"video's rate beside {name}", "Mbit/s", [rate], f"at {RATE}") for name, rate in rates.items()
    ]
    rest = [one for one in here if "hls" in one.pair]
    reason = (
        f"halved is {HALVED:.0%} at most; so against {', '.join(n for n, m in marks.items() if m) or 'none'}"
    )
    return Verdict(CLAIM, graded(list(marks.values())), reason, numbers(*made), lengths(rest), used(rest))
