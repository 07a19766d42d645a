"""N2: the 99th percentile of RTT samples less the base RTT is the peak queueing delay."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.path_properties.estimates import peak_ms, true_peak_ms
from narrows.studies.path_properties.seen import SENDER, at_sender, but_for, errors, seen, unknown
from narrows.studies.verdict import Claim, Verdict, graded, ids, not_measured

NEAR = 0.1
NEAR_MS = 2.0
"""An estimate is right within 10 % or 2 ms of the 99th percentile of what packets waited."""

CLAIM = Claim(
    "N2",
    "Peak queueing delay is the 99th percentile of RTT samples less the base RTT",
    "section 5.5",
    "n1_conditions.py",
    "sender",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """On each path at the sender: the median error against what packets and acknowledgements waited."""
    captures = seen(runs)
    found = errors(captures, "error", "ms", peak_ms)
    truth = errors(captures, "true peak", "ms", true_peak_ms)
    marks = at_sender(found, lambda path: max(NEAR_MS, NEAR * truth[path, SENDER].value))
    if not marks:
        return not_measured(CLAIM, "no captures at a sender of a path with a tap")
    sender = tuple(n for (_, place), n in truth.items() if place == SENDER)
    nothing = unknown(captures, lambda one: one.value("peak_queueing_delay_ns"))
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
