"""Q1: quinn's BBR does not behave as BBR: it fills queues and does not heed losses."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.quic.claims.losses import much
from narrows.studies.verdict import Claim, Verdict

CLAIM = Claim(
    "Q1",
    "quinn's BBR does not behave as BBR: it fills queues and does not heed losses",
    "n0-computer/noq#475, which says of it no more than that it is broken",
    "q1_shares.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Behind a FIFO of one BDP, beside: cubic."""
    return much(runs, CLAIM, "quinn_bbr", "cubic")
