"""What came of a standard in words: rows, JSON, JUnit, Markdown, and an appendix to repeat it from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from math import inf
from typing import Any
from xml.etree import ElementTree

import narrows
from narrows.judging import words
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
    """`bbr and RFC 9743: of 31 criteria 18 holds, 4 holds in part, …`."""
    every = [said(verdict) for _, verdict in outcome.judged]
    parts = [f"{every.count(word)} {word}" for word in ("holds", *FALLS_SHORT, CANNOT) if word in every]
    failed = f"; {len(outcome.failed)} runs failed" if outcome.failed else ""
    head = f"{outcome.tried.name} and {outcome.suite.document}: of {len(every)} criteria"
    return f"{head} {', '.join(parts)}{failed}."


def facts(outcome: Outcome) -> dict[str, str]:
    """Versions and hashes of what was tried and with what."""
    known: dict[str, Any] = dict(outcome.runs[0].manifest) if outcome.runs else {}
    kernel, agent = known.get("kernel") or {}, known.get("agent") or {}
    modules = {one for run in outcome.runs for one in run.plan.machine.modules}
    return {
        "document": f"{outcome.suite.title} ({outcome.suite.document})",
        "tried": outcome.tried.name,
        **{f"module {one.name}.ko": f"SHA-256 {one.sha256} {one.parameters}".strip() for one in modules},
        "narrows": narrows.__version__,
        "kernel": f"{kernel.get('release')}, build {kernel.get('id')}",
        "agent": str(agent.get("id", agent) if isinstance(agent, dict) else agent),
        "runs": f"{len(outcome.runs)} good, {len(outcome.failed)} failed",
    }


def as_json(outcome: Outcome, command: str) -> str:
    """Every criterion, mark and number."""
    criteria = []
    for (criterion, verdict), row in zip(outcome.judged, rows(outcome), strict=True):
        marks = [
            {"words": one.mark.words, "bound": one.bound, "passes": one.passes, **asdict(one.number)}
            for one in decided(criterion, verdict)
        ]
        told = {"id": verdict.claim.id, **dict(zip(HEADINGS, row, strict=True)), "reason": verdict.reason}
        numbers = [asdict(one) for one in verdict.numbers]
        criteria.append({**told, "marks": marks, "numbers": numbers, "runs": verdict.run_ids})
    document = {"standard": outcome.suite.name, "command": command, **facts(outcome), "criteria": criteria}
    return json.dumps(document | {"failed": dict(outcome.failed)}, indent=1, ensure_ascii=False) + "\n"


def as_junit(outcome: Outcome, command: str) -> str:
    """A test case for each criterion: one that holds in part fails, one that is not measured is skipped."""
    suite = ElementTree.Element("testsuite", {"name": command})
    kinds = []
    cases = [(row[0], row[2], f"{row[3]}; bound: {row[4]}") for row in rows(outcome)]
    for name, word, message in (
        *cases,
        *((f"run {run}", "error", why) for run, why in outcome.failed.items()),
    ):
        case = ElementTree.SubElement(suite, "testcase", {"classname": outcome.suite.name, "name": name})
        kinds.append("failure" if word in FALLS_SHORT else "skipped" if word == CANNOT else word)
        if word != "holds":
            ElementTree.SubElement(case, kinds[-1], {"message": f"{word}: {message}"})
    named = {"failures": "failure", "skipped": "skipped", "errors": "error"}
    suite.attrib |= {
        "tests": str(len(kinds)),
        **{name: str(kinds.count(kind)) for name, kind in named.items()},
    }
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def table(headings: Sequence[str], body: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table in Markdown."""
    for row in (headings, ["---"] * len(headings), *body):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def as_markdown(outcome: Outcome, command: str) -> str:
    """For a pull request."""
    head = (f"## {outcome.suite.name}: {outcome.tried.name}", "", counts(outcome), f"`{command}`", "")
    return "\n".join([*head, *table(HEADINGS, rows(outcome)), ""])


def as_appendix(outcome: Outcome, command: str) -> str:
    """For an Internet-Draft's appendix (kramdown): what is needed to make it again, and every run's id."""
    lines = [
        f"# Evaluation by {outcome.suite.document}", "", counts(outcome), "",
        "The runs are of the Linux network stack in virtual time: the same versions give them again.", "",
        *(f"{name}:\n: {text}\n" for name, text in facts(outcome).items()),
        "~~~", command, "~~~", "", *table(HEADINGS, rows(outcome)), "", "## Scenes", "",
    ]  # fmt: skip
    for scene in outcome.suite.scenes:
        own = [run for run in outcome.runs if run.experiment == scene.name]
        tc = sorted({step.command() for run in own[:1] for step in run.plan.setup if step.tool == "tc"})
        ids = [f"{run.run_id} ({words.conditions(run.key)})" for run in own if run.key.get(AXIS) == TRIED]
        lines += [
            f"### {scene.name}",
            "",
            scene.question,
            "",
            "~~~",
            *tc,
            "~~~",
            "",
            "; ".join(ids) or "no run",
            "",
        ]
    return "\n".join(lines)
