"""Q2: ngtcp2's BBR (0.12, of the draft of 2017) is too aggressive: losses do not stop it."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.quic.claims.losses import much
from narrows.studies.verdict import Claim, Verdict

CLAIM = Claim(
    "Q2",
    "ngtcp2's BBR (0.12, of the draft of 2017) is too aggressive: losses do not stop it",
    "ngtcp2/ngtcp2#327, of a commit of September 2021 and losses at random",
    "q1_shares.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Behind a FIFO of one BDP, beside: nothing."""
    return much(runs, CLAIM, "ngtcp2_bbr", "nothing")
