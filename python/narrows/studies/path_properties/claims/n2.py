"""N2: the 99th percentile of RTT samples less the base RTT is the peak queueing delay."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.path_properties.seen import Seen, but_for, errors, seen, unknown
from narrows.studies.verdict import Claim, Verdict, graded, ids, not_measured

NEAR = 0.1
NEAR_MS = 2.0
"""An estimate is right within 10 % or 2 ms of the 99th percentile of what packets waited."""
NS_PER_MS = 1e6

CLAIM = Claim(
    "N2",
    "Peak queueing delay is the 99th percentile of RTT samples less the base RTT",
    "section 5.5",
    "n1_conditions.py",
    "sender",
)


def _true_ms(one: Seen) -> float | None:
    down, up = one.truth.peak_sojourn_ns, one.truth.peak_sojourn_back_ns
    return None if down is None or up is None else (down + up) / NS_PER_MS


def _error_ms(one: Seen) -> float | None:
    value, true = one.row["peak_queueing_delay_ns"], _true_ms(one)
    return None if value is None or true is None else value / NS_PER_MS - true


def judge(runs: Iterable[Observed]) -> Verdict:
    """On each path at the sender: the median error against what packets and acknowledgements waited."""
    captures = seen(runs)
    found = errors(captures, "error", "ms", _error_ms)
    truth = errors(captures, "true peak", "ms", _true_ms)
    marks = {
        path: abs(n.value) <= max(NEAR_MS, NEAR * truth[path, place].value)
        for (path, place), n in found.items()
        if place == "sender"
    }
    if not marks:
        return not_measured(CLAIM, "no captures at a sender of a path with a tap")
    sender = tuple(n for (_, place), n in truth.items() if place == "sender")
    nothing = unknown(captures, lambda one: one.row["peak_queueing_delay_ns"])
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"at the sender within {NEAR:.0%} or {NEAR_MS:g} ms on {but_for(marks)}; NULL at: {nothing}",
        (*found.values(), *sender),
        "CUBIC for 15 s, 20 Mbit/s; truth: 99th percentiles of the sojourn times down and up, added",
        ids([one.run for one in captures]),
        "It is the queue of both directions: where acknowledgements wait for a slow upload, their wait is "
        "what it shows. Where losses keep the window small, segments come singly and the receiver's delayed "
        "ACKs are over 1 % of the samples: the 99th percentile is then a timer, not a queue.",
    )
