"""N8: jitter, from the differences of RTT samples that follow each other."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.path_properties.estimates import NS_PER_MS, jitter_ms
from narrows.studies.path_properties.seen import SENDER, Seen, at_sender, but_for, errors, seen, unknown
from narrows.studies.verdict import Claim, Verdict, graded, ids, not_measured

NEAR = 0.25
NEAR_MS = 0.25
"""Jitter is right within a quarter, or 0.25 ms, of that between both ends."""

CLAIM = Claim(
    "N8",
    "Jitter is the mean absolute difference of RTT samples that follow each other (RFC 5481, of round trips; "
    "our definition of what section 6.2 asks for)",
    "section 6.2",
    "n1_conditions.py",
    "sender",
)


def _true_ms(one: Seen) -> float | None:
    true = one.value("true_jitter_ns")
    return None if true is None else float(true / NS_PER_MS)


def judge(runs: Iterable[Observed]) -> Verdict:
    """On each path at the sender: the median error against one-way jitter, of both ends' captures."""
    captures = seen(runs)
    found = errors(captures, "error", "ms", jitter_ms)
    truth = errors(captures, "true jitter", "ms", _true_ms)
    marks = at_sender(found, lambda path: max(NEAR_MS, NEAR * truth[path, SENDER].value))
    if not marks:
        return not_measured(CLAIM, "no captures at a sender and at a receiver")
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"at the sender within {NEAR:.0%} or {NEAR_MS:g} ms on {but_for(marks)}; NULL at: "
        + unknown(captures, lambda one: one.value("jitter_ns")),
        (*found.values(), *(n for (_, place), n in truth.items() if place == SENDER)),
        "CUBIC for 15 s, 20 Mbit/s; truth: one-way delays of segments that arrive one after another",
        ids([one.run for one in captures]),
        "A sample comes with an ACK, which is for two segments or more: what differs between the segments of "
        "one ACK is lost, and what ACKs wait on their own way is added.",
    )
