"""A claim about one CCA's share of what was delivered: T6, T7 and T8 differ in numbers only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from narrows.judging.verdict import Claim, Verdict, graded, not_measured
from narrows.runs.many_flows import ManyFlows
from narrows.runs.observed import Observed
from narrows.studies.corescale.case import Case
from narrows.studies.corescale.claims.drained import by_drain
from narrows.studies.corescale.claims.many import (
    cases,
    ids,
    lengths,
    medians,
    moved,
    of_scale,
    runs_of,
    spread,
    without,
)


@dataclass(frozen=True)
class ShareClaim:
    """Which runs, whose share, and the range that is claimed."""

    claim: Claim
    cca: str
    against: tuple[str, ...]
    wanted: Callable[[Case], bool]
    low: float
    high: float
    tells_drain: bool = False
    """Whether the verdict says what the share was where the queue stayed full."""

    def _share(self, many: ManyFlows) -> float | None:
        share = many.shares.get(self.cca)
        return None if share is None else share.share

    def judge(self, runs: Iterable[Observed]) -> Verdict:
        """The median share of each condition against the range."""
        known = tuple(runs)
        chosen = cases(
            known,
            lambda case: (
                any(set(case.ccas) == {self.cca, other} for other in self.against) and self.wanted(case)
            ),
        )
        found = medians(f"share of {self.cca}", "1", chosen, self._share)
        if not found:
            return not_measured(self.claim, f"no condition of {self.cca} against {' or '.join(self.against)}")
        parts = [self.low <= number.value <= self.high for number in found.values()]
        words = []
        for other in self.against:
            own = {case: number for case, number in found.items() if other in case.ccas}
            words += [
                f"against {other} at {scale}, {rtt}: "
                + spread(of_scale({case: n for case, n in own.items() if case.rtt == rtt}, scale))
                for scale, rtt in dict.fromkeys((case.scale, case.rtt) for case in own)
            ]
        verdict = Verdict(
            self.claim,
            graded(parts),
            f"share of {self.cca} {'; '.join(words)} (claimed: {self.low:g} to {self.high:g})",
            (*found.values(), *moved(chosen, lambda m: m.share_settled.get(self.cca))),
            lengths(chosen),
            ids(runs_of(chosen)),
            by_drain(chosen, "share", self._share) if self.tells_drain else "",
        )
        return without(verdict, chosen)
