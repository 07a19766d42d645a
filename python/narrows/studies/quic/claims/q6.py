"""Q6: after a pause a window that is kept is not sent as a burst: nothing is lost because of it."""

from __future__ import annotations

from collections.abc import Iterable

from narrows.runs.observed import Observed
from narrows.studies.quic.claims.changes import PLACE, each
from narrows.studies.verdict import Claim, Verdict

CLAIM = Claim(
    "Q6",
    "After a pause a window that is kept is not sent as a burst: nothing is lost because of it",
    "RFC 9002, section 7.7",
    "q6_idle.py",
)


def judge(runs: Iterable[Observed]) -> Verdict:
    """Two seconds without data behind a FIFO of one BDP, then 5 MB."""

    def measure(run: Observed) -> float | None:
        return run.quantity("dropped_after_pause", PLACE)

    words = "dropped in the first second after a pause of 2 s, behind a FIFO of 1 BDP; none"
    return each(
        runs, CLAIM, "dropped after the pause", "packets", measure, lambda _, value: value == 0, words
    )
