"""N1: base RTT is the least RTT sample of a sender's log."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.path_properties.seen import Seen, but_for, errors, seen
from narrows.studies.verdict import Claim, Verdict, graded, ids, not_measured

NEAR = 0.02
"""An estimate is right within 2 % of the base RTT."""

CLAIM = Claim(
    "N1",
    "Base RTT is the minimum of per-ACK RTT samples, a cumulative ACK using the latest send time it covers",
    "section 5.4",
    "n1_conditions.py",
    "minimum .*sender",
)


def _error(column: str, one: Seen) -> float | None:
    value, true = one.row[column], one.truth.base_rtt_ns
    return None if value is None or not true else value / true - 1


def judge(runs: Iterable[Observed]) -> Verdict:
    """On each path at the sender: the median error of the minimum."""
    captures = seen(runs)
    found = errors(captures, "relative error of the minimum", "1", lambda one: _error("base_rtt_ns", one))
    low = errors(
        captures, "relative error of the 1st percentile", "1", lambda one: _error("base_rtt_p01_ns", one)
    )
    marks = {path: abs(n.value) <= NEAR for (path, place), n in found.items() if place == "sender"}
    if not marks:
        return not_measured(CLAIM, "no captures at a sender")
    return Verdict(
        CLAIM,
        graded(list(marks.values())),
        f"at the sender the minimum is within {NEAR:.0%} on {but_for(marks)}",
        (*found.values(), *low.values()),
        "CUBIC for 15 s, 20 Mbit/s",
        ids([one.run for one in captures]),
        "Where packets overtake each other (jitter of 3 ms), the minimum is the path at its fastest: less "
        "than its mean. The handshake alone meets an empty queue, so where the queue never drains the 1st "
        "percentile is not the base RTT, but the least queue.",
    )
