"""Q3: a start goes too far, by as much as the path holds, which is lost."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.quic.claims.changes import EXPERIMENT, PLACE, each
from narrows.studies.verdict import Claim, Verdict

CLAIM = Claim(
    "Q3",
    "A start goes too far, by as much as the path holds, which is lost",
    "RFC 9406, section 1",
    EXPERIMENT,
)
PACKET_BITS = 1500 * 8


def judge(runs: Iterable[Observed]) -> Verdict:
    """Behind a FIFO of one BDP, alone, the first three seconds."""

    def measure(run: Observed) -> float | None:
        dropped = run.quantity("dropped_at_start", PLACE)
        held = run.rate_bps() * run.link.base_rtt_ns / 1e9 / PACKET_BITS
        return None if dropped is None else dropped / held

    words = "dropped in the first 3 s, in BDPs of 1500 B packets, behind a FIFO of 1 BDP; at least one"
    return each(runs, CLAIM, "dropped at the start", "BDP", measure, lambda _, value: value >= 1, words)
