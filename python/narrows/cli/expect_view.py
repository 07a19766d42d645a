"""Shows whether pass marks hold: on the terminal, and as Markdown, JUnit XML and JSON for others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from narrows.cli.format import counted, key, table
from narrows.judging import written

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
    bad = sum(not one.holds for one in verdicts)
    head = f"## {name}: {'all pass marks hold' if not bad else counted(bad, 'pass mark') + ' fails'}"
    return "\n".join([head, "", question, "", *written.table(HEAD, rows(verdicts)), ""])


def append(path: Path, text: str) -> None:
    """Add to a file, as GitHub's step summary wants it."""
    with path.open("a", encoding="utf-8") as file:
        file.write(text)


def _message(failed: Done) -> str:
    return "it failed, and nobody says why" if failed.fault is None else failed.fault.message


def junit(name: str, verdicts: Sequence[Verdict], failed: Sequence[Done]) -> str:
    """A test case for each mark at each condition, and an error for each run that failed."""
    cases = [
        written.Case(
            _group(name, one.condition),
            one.mark,
            "" if one.holds else "failure",
            one.reason,
            " ".join(one.runs),
        )
        for one in verdicts
    ]
    lost = [
        written.Case(_group(name, run.plan.key), f"run {run.run_id}", "error", _message(run))
        for run in failed
    ]
    return written.junit(name, [*cases, *lost])


def _group(name: str, condition: Mapping[str, str]) -> str:
    return ".".join([name, key(dict(condition)) or "all"])


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
