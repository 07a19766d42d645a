"""What came of a standard in words: rows, JSON, JUnit, Markdown, and an appendix that another laboratory can
repeat it from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
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
SAID = {
    "holds": "holds",
    "holds in part": "holds in part",
    "does not hold here": "does not hold",
    "not testable here": "cannot be measured here",
    "not measured": "cannot be measured here",
    "not judged": "shown, not judged",
}


@dataclass(frozen=True)
class Decided:
    """One number of the contestant, the bound that it is held against, and whether it passes."""

    mark: Mark
    number: Number
    other: Number
    passes: bool

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the most that pass."""
        held = bool(self.mark.than)
        low, high = (
            bound * self.other.value if held and abs(bound) != inf else bound
            for bound in (self.mark.least, self.mark.most)
        )
        return low, max(high, self.mark.floor)

    @property
    def bound(self) -> str:
        """`at most 1.25 × 45 ms [40 to 50]`."""
        low, high = self.limits
        parts = []
        for word, part, limit in (("at least", self.mark.least, low), ("at most", self.mark.most, high)):
            if abs(part) == inf:
                continue
            own = words.value(limit, self.number.unit, percent=self.number.percent)
            held = self.mark.than and limit != self.mark.floor
            parts.append(f"{word} {f'{part:g} × {self.other.said}' if held else own}")
        return " and ".join(parts)

    @property
    def strain(self) -> float:
        """How near the bound, or how far beyond it, the number is: above 1 it fails."""
        low, high = self.limits
        value = self.number.value
        over = value / high if high not in (inf, 0) else (inf if value > high else 0.0)
        under = 0.0 if low == -inf else (low / value if value > 0 else inf)
        return max(over, under)


def decided(criterion: Criterion | Said, verdict: Verdict) -> list[Decided]:
    """Every number of the contestant that a mark is of, in the order of the marks."""
    if isinstance(criterion, Said):
        return []
    known = {place(each.name, each.conditions): each for each in verdict.numbers}
    found = []
    for mark in criterion.marks:
        for number in filter(mark.wants, verdict.numbers):
            other = known.get(mark.other(number))
            if other is not None:
                found.append(Decided(mark, number, other, mark.passes(number, other)))
    return found


def shown(number: Number) -> str:
    """A number with the conditions that it is of, without who is tried."""
    under = words.conditions({axis: label for axis, label in number.conditions.items() if axis != AXIS})
    return f"{number.name}: {number.said}" + (f" ({under})" if under else "")


def deciding(criterion: Criterion | Said, verdict: Verdict) -> Decided | None:
    """What strains its bound most; of marks that fail the worst."""
    return max(decided(criterion, verdict), key=lambda one: (not one.passes, one.strain), default=None)


def why(verdict: Verdict) -> str:
    """Why there is no number."""
    return verdict.reason.partition(": narrows run")[0]


def rows(outcome: Outcome) -> list[tuple[str, ...]]:
    """A row for each criterion."""
    made = []
    for criterion, verdict in zip(outcome.suite.criteria, outcome.verdicts, strict=True):
        worst = deciding(criterion, verdict)
        number, bound = (shown(worst.number), worst.bound) if worst else (why(verdict), "")
        claim = verdict.claim
        made.append((f"{claim.id} {claim.text}", claim.source, SAID[verdict.verdict], number, bound))
    return made


def counts(outcome: Outcome) -> str:
    """`12 hold, 3 hold in part, …`."""
    said = [SAID[verdict.verdict] for verdict in outcome.verdicts]
    parts = [f"{said.count(word)} {word}" for word in dict.fromkeys(SAID.values()) if word in said]
    failed = f"; {len(outcome.failed)} runs failed" if outcome.failed else ""
    return f"{outcome.tried.name} and {outcome.suite.document}: of {len(said)} criteria {', '.join(parts)}{failed}."


def facts(outcome: Outcome) -> dict[str, str]:
    """Versions and hashes of what was tried and with what."""
    run = next(iter(outcome.runs), None)
    manifest: Mapping[str, Any] = run.manifest if run else {}
    kernel, agent = manifest.get("kernel") or {}, manifest.get("agent") or {}
    module = next((one for each in outcome.runs for one in each.plan.machine.modules), None)
    told = {
        "document": f"{outcome.suite.title} ({outcome.suite.document})",
        "tried": outcome.tried.name,
        "module": f"{module.name}.ko, SHA-256 {module.sha256}" if module else "",
        "narrows": narrows.__version__,
        "kernel": f"{kernel.get('release')}, build {kernel.get('id')}" if isinstance(kernel, dict) else str(kernel),
        "agent": str(agent.get("id", agent)) if isinstance(agent, dict) else str(agent),
        "runs": f"{len(outcome.runs)} good, {len(outcome.failed)} failed",
    }
    return {name: text for name, text in told.items() if text}


def as_json(outcome: Outcome) -> str:
    """Every criterion, mark and number."""
    criteria = []
    for criterion, verdict in zip(outcome.suite.criteria, outcome.verdicts, strict=True):
        claim = verdict.claim
        marks = [
            {
                "words": one.mark.words, "quantity": one.number.name, "conditions": dict(one.number.conditions),
                "value": one.number.value, "unit": one.number.unit, "bound": one.bound, "passes": one.passes,
            }
            for one in decided(criterion, verdict)
        ]  # fmt: skip
        criteria.append(
            {
                "id": claim.id, "text": claim.text, "section": claim.source, "verdict": SAID[verdict.verdict],
                "reason": why(verdict), "marks": marks, "numbers": [asdict(one) for one in verdict.numbers],
                "runs": verdict.run_ids,
            }
        )  # fmt: skip
    document = {"standard": outcome.suite.name, **facts(outcome), "criteria": criteria}
    return json.dumps(document | {"failed": dict(outcome.failed)}, indent=1, ensure_ascii=False) + "\n"


def as_junit(outcome: Outcome) -> str:
    """A test case for each criterion: one that holds in part fails, one that is not measured is skipped."""
    suite = ElementTree.Element("testsuite", {"name": f"{outcome.suite.name} {outcome.tried.name}"})
    bad = skipped = 0
    for row, verdict in zip(rows(outcome), outcome.verdicts, strict=True):
        case = ElementTree.SubElement(suite, "testcase", {"classname": outcome.suite.name, "name": row[0]})
        if verdict.verdict in ("holds in part", "does not hold here"):
            bad += 1
            ElementTree.SubElement(case, "failure", {"message": f"{row[2]}: {row[3]}; bound: {row[4]}"}).text = (
                verdict.reason
            )
        elif verdict.verdict != "holds":
            skipped += 1
            ElementTree.SubElement(case, "skipped", {"message": f"{row[2]}: {row[3]}"})
    for run, why_failed in outcome.failed.items():
        case = ElementTree.SubElement(suite, "testcase", {"classname": outcome.suite.name, "name": f"run {run}"})
        ElementTree.SubElement(case, "error", {"message": why_failed})
    numbers = {"tests": len(suite), "failures": bad, "skipped": skipped, "errors": len(outcome.failed)}
    suite.attrib |= {name: str(number) for name, number in numbers.items()}
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def table(headings: Sequence[str], body: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table in Markdown."""
    for row in (headings, ["---"] * len(headings), *body):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def as_markdown(outcome: Outcome) -> str:
    """For a pull request."""
    lines = [f"## {outcome.suite.name}: {outcome.tried.name}", "", counts(outcome), ""]
    return "\n".join([*lines, *table(HEADINGS, rows(outcome)), ""])


def as_appendix(outcome: Outcome, command: str) -> str:
    """For an Internet-Draft's appendix (kramdown): what is needed to make it again, and what each criterion
    rests on."""
    lines = [
        f"# Evaluation by {outcome.suite.document}", "", counts(outcome), "",
        "The runs are of the Linux network stack in virtual time: the same command with the same versions gives "
        "the same runs to the bit.", "",
        *(f"{name}:\n: {text}\n" for name, text in facts(outcome).items()),
        "~~~", command, "~~~", "", *table(HEADINGS, rows(outcome)), "", "## Scenes", "",
    ]  # fmt: skip
    for scene in outcome.suite.scenes:
        own = [run for run in outcome.runs if run.experiment == scene.name]
        tc = sorted({step.command() for run in own[:1] for step in run.plan.setup if step.tool == "tc"})
        lines += [f"### {scene.name}", "", scene.question, "", "~~~", *tc, "~~~", ""]
        ids = [f"{run.run_id} ({words.conditions(run.key)})" for run in own if run.key.get(AXIS) == TRIED]
        lines += ["Runs of the contestant: " + ("; ".join(ids) or "none"), ""]
    return "\n".join(lines)
