"""What came of a standard in words: a row of each criterion, and what the formats of verdicts are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import inf

from narrows.judging import words
from narrows.judging import written as judging
from narrows.judging.marks import Mark, place
from narrows.judging.verdict import Number, Verdict
from narrows.standards.session import Outcome
from narrows.standards.suite import AXIS, TRIED, Criterion, Said

HEADINGS = ("criterion", "section", "verdict", "number", "bound")
CANNOT, FALLS_SHORT = "cannot be measured here", ("holds in part", "does not hold")
_SAID = {"does not hold here": FALLS_SHORT[1], "not testable here": CANNOT, "not measured": CANNOT}


@dataclass(frozen=True)
class Decided:
    """One number of the contestant, what it is held against, and whether it passes."""

    mark: Mark
    number: Number
    other: Number
    passes: bool

    @property
    def bound(self) -> str:
        """`at most 1.25 × 45 ms [40 to 50]`."""
        ends = (("at least", self.mark.least), ("at most", self.mark.most))
        return " and ".join(f"{word} {self._end(end)}" for word, end in ends if abs(end) != inf)

    def _end(self, end: float) -> str:
        if self.mark.than and end * self.other.value >= self.mark.floor:
            return f"{end:g} × {self.other.said}"
        end = self.mark.floor if self.mark.than else end
        return words.value(end, self.number.unit, percent=self.number.percent)

    @property
    def strain(self) -> float:
        """How near its bound, or how far beyond it, the number is."""
        times, value = self.other.value if self.mark.than else 1.0, self.number.value
        high = max(self.mark.most * times if self.mark.most != inf else inf, self.mark.floor)
        over = value / high if high else inf
        return max(over, self.mark.least * times / value if value > 0 and self.mark.least != -inf else 0.0)


def decided(criterion: Criterion | Said, verdict: Verdict) -> list[Decided]:
    """Every number of the contestant that a mark is of, in the order of the marks."""
    if isinstance(criterion, Said):
        return []
    known = {place(each.name, each.conditions): each for each in verdict.numbers}
    pairs = ((mark, number) for mark in criterion.marks for number in verdict.numbers if mark.wants(number))
    held = ((mark, number, known.get(mark.other(number))) for mark, number in pairs)
    return [
        Decided(mark, one, other, mark.passes(one, other)) for mark, one, other in held if other is not None
    ]


def deciding(criterion: Criterion | Said, verdict: Verdict) -> Decided | None:
    """What strains its bound most, of those that fail if any does."""
    return max(decided(criterion, verdict), key=lambda one: (not one.passes, one.strain), default=None)


def shown(number: Number) -> str:
    """A number with the conditions that it is of, without who is tried."""
    under = words.conditions({axis: label for axis, label in number.conditions.items() if axis != AXIS})
    return f"{number.name}: {number.said}" + (f" ({under})" if under else "")


def said(verdict: Verdict) -> str:
    """Holds, holds in part, does not hold, or cannot be measured here."""
    return _SAID.get(verdict.verdict, verdict.verdict)


def rows(outcome: Outcome) -> list[Sequence[str]]:
    """A row for each criterion."""
    made: list[Sequence[str]] = []
    for criterion, verdict in outcome.judged:
        worst = deciding(criterion, verdict)
        number = shown(worst.number) if worst else verdict.reason.partition(": narrows run")[0]
        number = number.removesuffix(f" (not {TRIED})")
        claim = verdict.claim
        name = f"{claim.id} {claim.text}"
        made.append((name, claim.source, said(verdict), number, worst.bound if worst else ""))
    return made


def counts(outcome: Outcome) -> str:
    """`bbr and RFC 9743: of 31 criteria 18 hold, 4 hold in part, 1 does not hold, …`."""
    every = [said(verdict) for _, verdict in outcome.judged]
    of_one = {word: n for word in ("holds", *FALLS_SHORT, CANNOT) if (n := every.count(word))}
    of_many = {"holds": "hold", "holds in part": "hold in part", "does not hold": "do not hold"}
    parts = [f"{n} {word if n == 1 else of_many.get(word, word)}" for word, n in of_one.items()]
    failed = f"; {len(outcome.failed)} runs failed" if outcome.failed else ""
    head = f"{outcome.tried.name} and {outcome.suite.document}: of {len(every)} criteria"
    return f"{head} {', '.join(parts)}{failed}."


def facts(outcome: Outcome) -> dict[str, str]:
    """Versions and hashes of what was tried and with what."""
    return {
        "document": f"{outcome.suite.title} ({outcome.suite.document})",
        "tried": outcome.tried.name,
        **judging.facts(outcome.runs),
        "runs": f"{len(outcome.runs)} good, {len(outcome.failed)} failed",
    }


def told(outcome: Outcome, command: str) -> judging.Told:
    """What the formats of verdicts are made of."""
    body = rows(outcome)
    more = [
        {
            "verdict": word, "number": number, "bound": bound,
            "marks": [
                {"words": one.mark.words, "bound": one.bound, "passes": one.passes, **asdict(one.number)}
                for one in decided(criterion, verdict)
            ],
        }
        for (criterion, verdict), (_, _, word, number, bound) in zip(outcome.judged, body, strict=True)
    ]  # fmt: skip
    return judging.Told(
        "standard",
        outcome.suite.name,
        f"{outcome.suite.name}: {outcome.tried.name}",
        counts(outcome),
        HEADINGS,
        body,
        [verdict for _, verdict in outcome.judged],
        facts(outcome),
        command,
        [run for run in outcome.runs if run.key.get(AXIS) == TRIED],
        outcome.failed,
        more,
    )
