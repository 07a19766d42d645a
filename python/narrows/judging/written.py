"""Verdicts as others read them: JSON, JUnit, Markdown, and an appendix to repeat them from.

A study's claims, a standard's criteria and an experiment's pass marks are written here; whoever has verdicts
says how a row of each reads (`Told`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple
from xml.etree import ElementTree

import narrows
from narrows.judging import words
from narrows.judging.verdict import Verdict

if TYPE_CHECKING:
    from narrows.runs.observed import Observed

FALLS_SHORT = ("holds in part", "does not hold here")
MOST_IDS = 40
"""Runs of an experiment that an appendix names each; of more it has a digest."""


@dataclass(frozen=True)
class Told:
    """Verdicts, and what is said beside them."""

    kind: str
    """How JSON calls what `name` is: `study`, `standard`."""
    name: str
    title: str
    counts: str
    """How many hold, in a sentence."""
    headings: Sequence[str]
    """Of a row: what is asked, where that is written, the verdict, the number that decides, its bound."""
    rows: Sequence[Sequence[str]]
    """One for each verdict."""
    verdicts: Sequence[Verdict]
    facts: Mapping[str, str]
    """Versions and hashes."""
    command: str
    runs: Sequence[Observed] = ()
    """Those that an appendix names."""
    failed: Mapping[str, str] = field(default_factory=dict)
    """By run id, why."""
    more: Sequence[Mapping[str, Any]] = ()
    """For each verdict, what JSON has of it beside."""


def facts(runs: Sequence[Observed]) -> dict[str, str]:
    """Versions and hashes of what runs were made with."""
    kernels, agents = (
        dict.fromkeys(_made_with(run.manifest.get(part)) for run in runs) for part in ("kernel", "agent")
    )
    modules = {one for run in runs for one in run.plan.machine.modules}
    return {
        **{f"module {one.name}.ko": f"SHA-256 {one.sha256} {one.parameters}".strip() for one in modules},
        "narrows": narrows.__version__,
        "kernel": "; ".join(kernels),
        "agent": "; ".join(agents),
    }


def _made_with(one: Any) -> str:
    if not isinstance(one, Mapping):
        return str(one)
    return f"{one['release']}, build {one.get('id')}" if "release" in one else str(one.get("id"))


def as_json(told: Told) -> str:
    """Everything, the ids of all runs included."""
    more = told.more or [{}] * len(told.verdicts)
    verdicts = [
        {"id": one.claim.id, **asdict(one), **beside} for one, beside in zip(told.verdicts, more, strict=True)
    ]
    named = {told.kind: told.name, "command": told.command, **told.facts, "counts": told.counts}
    failed = {"failed": dict(told.failed)} if told.runs or told.failed else {}
    return json.dumps({**named, "verdicts": verdicts, **failed}, indent=1, ensure_ascii=False) + "\n"


class Case(NamedTuple):
    """A test case of JUnit; `kind`: failure, skipped, error, or nothing where it passes."""

    group: str
    name: str
    kind: str = ""
    message: str = ""
    text: str = ""


def junit(name: str, cases: Iterable[Case]) -> str:
    """A suite in JUnit's XML."""
    suite = ElementTree.Element("testsuite", {"name": name})
    every = list(cases)
    for case in every:
        made = ElementTree.SubElement(suite, "testcase", {"classname": case.group, "name": case.name})
        if case.kind:
            ElementTree.SubElement(made, case.kind, {"message": case.message}).text = case.text or None
    counts = {"failures": "failure", "skipped": "skipped", "errors": "error"}
    suite.attrib["tests"] = str(len(every))
    suite.attrib |= {word: str(sum(one.kind == kind for one in every)) for word, kind in counts.items()}
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def as_junit(told: Told) -> str:
    """A case for each verdict: what holds in part fails, what is not measured or not judged is skipped."""

    def cases() -> Iterator[Case]:
        for verdict, (name, _, word, number, bound) in zip(told.verdicts, told.rows, strict=True):
            short = "failure" if verdict.verdict in FALLS_SHORT else "skipped"
            bound = f"; {told.headings[4]}: {bound}" if bound else ""
            kind = "" if verdict.verdict == "holds" else short
            yield Case(told.name, name, kind, f"{word}: {number}{bound}")
        yield from (
            Case(told.name, f"run {run}", "error", f"error: {why}") for run, why in told.failed.items()
        )

    return junit(told.command, cases())


def table(headings: Sequence[str], body: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table in Markdown."""
    for row in (headings, ["---"] * len(headings), *body):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"


def as_markdown(told: Told) -> str:
    """For a pull request."""
    head = (f"## {told.title}", "", told.counts, "", f"`{told.command}`", "")
    return "\n".join([*head, *table(told.headings, told.rows), ""])


def as_md(told: Told) -> str:
    """Every verdict with its reason and all of its numbers."""
    return "\n\n".join(section(v) for v in told.verdicts) + "\n"


def as_appendix(told: Told) -> str:
    """For an Internet-Draft's appendix (kramdown): what is needed to make it again, and every run's id, or of
    many their digest."""
    lines = [
        f"# {told.title}", "", told.counts, "",
        "The runs are of the Linux network stack in virtual time: the same versions give them again.", "",
        *(f"{name}:\n: {text}\n" for name, text in told.facts.items()),
        "~~~", told.command, "~~~", "", *table(told.headings, told.rows), "", "## Experiments", "",
    ]  # fmt: skip
    for name in dict.fromkeys(run.experiment for run in told.runs):
        own = [run for run in told.runs if run.experiment == name]
        tc = sorted({step.command() for step in own[0].plan.setup if step.tool == "tc"})
        first = f"{own[0].run_id} ({words.conditions(own[0].key)}) has"
        lines += [f"### {name}", "", own[0].question, "", first, "", "~~~", *tc, "~~~", "", _ids(own), ""]
    return "\n".join(lines)


def _ids(runs: Sequence[Observed]) -> str:
    if len(runs) <= MOST_IDS:
        return "; ".join(f"{run.run_id} ({words.conditions(run.key)})" for run in runs)
    listed = "".join(f"{each}\n" for each in sorted(run.run_id for run in runs))
    digest = hashlib.sha256(listed.encode()).hexdigest()
    return f"{len(runs)} runs; SHA-256 of their ids, sorted, one a line: {digest}"


def section(v: Verdict) -> str:
    """A verdict as Markdown: reason, all numbers, cause, experiment, runs."""
    lines = [
        f"## {v.claim.id}: {v.verdict}",
        "",
        f"{v.claim.text} ({v.claim.source}).",
        "",
        sentence(v.reason),
    ]
    if v.numbers:
        rows = [(n.name, n.said, str(n.n), words.conditions(n.conditions)) for n in v.numbers]
        lines += ["", *table(("quantity", "value [95 % interval]", "n", "conditions"), rows)]
    if v.conditions:
        lines += ["", f"Measured: {v.conditions}."]
    if v.cause:
        lines += ["", v.cause]
    if v.claim.name:
        lines += ["", f"Experiment: `{v.claim.name}`."]
    if v.run_ids:
        shown = " ".join(v.run_ids[:4])
        more = f" and {len(v.run_ids) - 4} more" if len(v.run_ids) > 4 else ""
        lines += [f"Runs: {shown}{more}."]
    return "\n".join(lines)


def sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")
