"""Shows whether pass marks hold: on the terminal, and as Markdown, JUnit XML and JSON for others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from narrows.cli.format import counted, key, table

if TYPE_CHECKING:
    from rich.console import Console

    from narrows.comparing.expectations import Verdict
    from narrows.engine.events import Done

HEAD = ("", "condition", "mark", "found", "n")


def rows(verdicts: Sequence[Verdict]) -> list[list[str]]:
    from narrows.comparing.expectations import shown

    return [
        [
            "ok" if one.holds else "FAILS",
            key(dict(one.condition)) or "all",
            one.mark,
            "–" if one.value is None else shown(one.value, one.unit),
            f"{one.n}/{one.of}",
        ]
        for one in verdicts
    ]


def show(console: Console, verdicts: Sequence[Verdict]) -> bool:
    """Print the table; True if all hold."""
    console.print(table(list(HEAD), rows(verdicts)))
    bad = [one for one in verdicts if not one.holds]
    for one in bad:
        console.print(f"fails: {key(dict(one.condition))} {one.mark}: {one.reason}")
    console.print(f"{len(verdicts) - len(bad)} of {counted(len(verdicts), 'pass mark')} hold")
    return not bad


def markdown(name: str, question: str, verdicts: Sequence[Verdict]) -> str:
    """The same for a pull request."""
    cells = [HEAD, ("---",) * len(HEAD), *rows(verdicts)]
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in cells]
    bad = sum(not one.holds for one in verdicts)
    head = f"## {name}: {'all pass marks hold' if not bad else counted(bad, 'pass mark') + ' fails'}"
    return "\n".join([head, "", question, "", *lines, ""])


def append(path: Path, text: str) -> None:
    """Add to a file, as GitHub's step summary wants it."""
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def _message(failed: Done) -> str:
    return "it failed, and nobody says why" if failed.fault is None else failed.fault.message


def junit(name: str, verdicts: Sequence[Verdict], failed: Sequence[Done]) -> str:
    """A test case for each mark at each condition, and an error for each run that failed."""
    bad = sum(not one.holds for one in verdicts)
    counts = {"tests": len(verdicts) + len(failed), "failures": bad, "errors": len(failed)}
    suite = ElementTree.Element("testsuite", {"name": name, **{k: str(v) for k, v in counts.items()}})
    for one in verdicts:
        where = {"classname": ".".join([name, key(dict(one.condition)) or "all"]), "name": one.mark}
        case = ElementTree.SubElement(suite, "testcase", where)
        if not one.holds:
            ElementTree.SubElement(case, "failure", {"message": one.reason}).text = " ".join(one.runs)
    for run in failed:
        where = {"classname": ".".join([name, key(run.plan.key) or "all"]), "name": f"run {run.run_id}"}
        case = ElementTree.SubElement(suite, "testcase", where)
        ElementTree.SubElement(case, "error", {"message": _message(run)})
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def as_json(name: str, question: str, verdicts: Sequence[Verdict], failed: Sequence[Done]) -> str:
    """The same with every field."""
    document = {
        "experiment": name,
        "question": question,
        "holds": not failed and all(one.holds for one in verdicts),
        "marks": [asdict(one) for one in verdicts],
        "failed": [{"run_id": run.run_id, "key": run.plan.key, "message": _message(run)} for run in failed],
    }
    return json.dumps(document, indent=1) + "\n"
