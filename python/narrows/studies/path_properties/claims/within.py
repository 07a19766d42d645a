"""Is an estimate as near to the truth at the sender as it should be? N2, N8, N9 and N10 differ in names."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from narrows.runs.observed import Observed
from narrows.studies.path_properties.seen import (
    SENDER,
    Estimate,
    at_sender,
    but_for,
    errors,
    seen,
    unknown,
)
from narrows.judging.verdict import Claim, Verdict, graded, ids, not_measured


@dataclass(frozen=True)
class Within:
    """An estimate is right within `near` of the truth, relative to it, or within `floor` of its unit."""

    claim: Claim
    error_name: str
    error: Estimate
    truth_name: str
    truth: Estimate
    unit: str
    near: float
    floor: float
    truth_words: str
    """What the truth is."""
    column: str = ""
    """The estimate, where the verdict says at which places it is NULL."""
    missing: str = "no captures at a sender and at a receiver"

    def judge(self, runs: Iterable[Observed]) -> Verdict:
        """On each path at the sender: the median error against `floor` and the median truth."""
        captures = seen(runs)
        error = errors(captures, self.error_name, self.unit, self.error)
        truth = errors(captures, self.truth_name, self.unit, self.truth)
        marks = at_sender(error, lambda path: max(self.floor, self.near * truth[path, SENDER].value))
        if not marks:
            return not_measured(self.claim, self.missing)
        floor = f"{self.floor:g}" + ("" if self.unit == "1" else f" {self.unit}")
        reason = f"at the sender within {self.near:.0%} or {floor} on {but_for(marks)}"
        if self.column:
            reason += f"; NULL at: {unknown(captures, lambda one: one.value(self.column))}"
        return Verdict(
            self.claim,
            graded(list(marks.values())),
            reason,
            (*error.values(), *(number for (_, place), number in truth.items() if place == SENDER)),
            f"CUBIC for 15 s, 20 Mbit/s; truth: {self.truth_words}",
            ids([one.run for one in captures]),
        )
