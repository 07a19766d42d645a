"""B5: a video and a call beside a download fare on every medium as they do on a rate."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from narrows.runs.observed import Observed
from narrows.studies.last_hop.claims.parts import Condition, by_condition, judged, numbers
from narrows.studies.verdict import Claim, Number, Verdict

CLAIM = Claim(
    "B5",
    "A video and a call beside a download fare on every medium as they do on a rate",
    "What whoever emulates an access by a rate takes for granted",
    "b3_services.py",
)
FIGURES = {
    "video": ("video_mean_rung_bps", "mean bitrate", "bit/s"),
    "call": ("call_height", "lines", "lines"),
}
MORE = {
    "video_stalled_ms": "time without a picture",
    "call_frame_delay_p95_ms": "camera to screen, p95",
}
PART = 0.9


def judge(runs: Iterable[Observed]) -> Verdict:
    """The rung of the video and the lines of the call, against those on a rate with the queue at the same
    place."""
    own = by_condition(runs, CLAIM.name)
    found: dict[Condition, Number] = {}
    for service, (figure, name, unit) in FIGURES.items():
        these = {each: those for each, those in own.items() if each[0] == service}
        found |= numbers(these, name, unit, partial(_figure, figure))
    more = [
        number
        for figure, name in MORE.items()
        for number in numbers(own, name, "ms", partial(_figure, figure)).values()
    ]
    marks = {
        each: number.value >= PART * found[each[0], "rate", each[2]].value
        for each, number in found.items()
        if each[1] != "rate" and (each[0], "rate", each[2]) in found
    }
    return judged(CLAIM, own, found, marks, f"at least {PART:.0%} of what they show on a rate", more)


def _figure(name: str, run: Observed, _: Condition) -> float | None:
    found = run.figure("service", name)
    return run.figure("service", name, None) if found is None else found  # of both ways together
